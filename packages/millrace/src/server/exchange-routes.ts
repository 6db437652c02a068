import type { ExchangesOptions } from '../protocol/index.ts'
import type { Fields, Route } from '../protocols/index.ts'
import { httpError, json, numberField, ref, required, textField } from '../protocols/index.ts'

const query: Fields = {
  run: required(textField({ max: 256, description: 'The id of a run, from its run-start event.' })),
  round: numberField({ min: 1, description: 'The round to return. Defaults to all rounds.' }),
  after: numberField({
    min: 0,
    description: 'Return only rounds after this one: the `next` value of the previous page.',
  }),
}

/** The recorded HTTP traffic between the server and the models. */
export function exchangeRoutes(responseBytes: number): Route[] {
  return [
    {
      method: 'GET',
      path: '/threads/:id/exchanges',
      name: 'listExchanges',
      summary: 'List the recorded model calls of a run, without secrets',
      query,
      responses: {
        200: json(
          ref('ExchangePage'),
          'The model calls in order. Calls in progress are included as far as they have got.',
        ),
      },
      async handle({ caller, params, query }) {
        const { thread } = await caller.getThread(params.id as string)
        // They contain the system prompt, and whatever hooks have added.
        if (!caller.canInspect)
          throw httpError(
            403,
            'auth',
            'recorded model calls are only visible to users whose auth returns canInspect: true',
          )
        const which = query as unknown as ExchangesOptions
        return Response.json(await thread.exchangePage({ ...which, bytes: responseBytes }))
      },
    },
  ]
}
