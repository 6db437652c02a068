import type { ExchangesOptions } from '../protocol/index.ts'
import type { Fields, Route } from '../protocols/index.ts'
import { httpError, json, numberField, ref, required, textField } from '../protocols/index.ts'

const query: Fields = {
  run: required(textField({ most: 256, description: 'The id of a run, as its run-start has it.' })),
  round: numberField({ least: 1, description: 'All rounds if absent.' }),
  after: numberField({ least: 0, description: 'Only rounds after this one: the next of the page before.' }),
}

/** What went over the wire between the server and the models. */
export function exchangeRoutes(answerBytes: number): Route[] {
  return [
    {
      method: 'GET',
      path: '/threads/:id/exchanges',
      name: 'listExchanges',
      summary: 'The model calls of a run, as they went over the wire, without secrets',
      query,
      answers: { 200: json(ref('ExchangePage'), 'In order, those under way as far as they have come') },
      async handle({ caller, params, query }) {
        const { thread } = await caller.getThread(params.id as string)
        // They hold the system prompt, and what hooks have put before the model.
        if (!caller.inspects)
          throw httpError(403, 'auth', 'what goes to models is only for those whose auth says inspects: true')
        const which = query as unknown as ExchangesOptions
        return Response.json(await thread.exchangePage({ ...which, bytes: answerBytes }))
      },
    },
  ]
}
