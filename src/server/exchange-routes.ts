import type { Fields } from '../channels/index.ts'
import { numberField, required, textField } from '../channels/index.ts'
import type { ExchangesOptions } from '../protocol/index.ts'
import { refusal } from './refusal.ts'
import type { Route } from './route.ts'
import { json } from './route.ts'
import { ref } from './schemas.ts'

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
      async handle({ visitor, params, query }) {
        const { thread } = await visitor.reach(params.id as string)
        // They hold the system prompt, and what hooks have put before the model.
        if (!visitor.inspects)
          throw refusal(403, 'auth', 'what goes to models is only for those whose auth says inspects: true')
        const which = query as unknown as ExchangesOptions
        return Response.json(await thread.exchangePage({ ...which, bytes: answerBytes }))
      },
    },
  ]
}
