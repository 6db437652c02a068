import { wholeLog } from '../protocol/index.ts'
import { testScript } from '../threads/index.ts'
import type { Route } from './route.ts'
import { json } from './route.ts'

/** A conversation in other forms, to be taken elsewhere. */
export function exportRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/threads/:id/test-script',
      name: 'getTestScript',
      summary: 'The source of a test that plays the conversation again with a scripted model',
      answers: {
        200: json(
          { type: 'object', required: ['source'], properties: { source: { type: 'string' } } },
          'TypeScript, for vitest',
        ),
      },
      async handle({ visitor, params }) {
        const { thread } = await visitor.reach(params.id as string)
        return Response.json({ source: testScript(await wholeLog(thread)) })
      },
    },
  ]
}
