import type { Entry } from '../protocol/index.ts'
import type { Route } from '../protocols/index.ts'
import { httpError, json } from '../protocols/index.ts'
import type { Thread } from '../threads/index.ts'
import { entryBytes, testScript } from '../threads/index.ts'

/** Exports of a thread in other formats. */
export function exportRoutes(responseBytes: number): Route[] {
  return [
    {
      method: 'GET',
      path: '/threads/:id/test-script',
      name: 'getTestScript',
      summary: 'Export the conversation as a test that replays it with a scripted model',
      responses: {
        200: json(
          { type: 'object', required: ['source'], properties: { source: { type: 'string' } } },
          'TypeScript source for vitest',
        ),
      },
      async handle({ caller, params }) {
        const { thread } = await caller.getThread(params.id as string)
        return Response.json({ source: testScript(await logWithin(thread, responseBytes)) })
      },
    },
  ]
}

/**
 * The whole log. Rejects with 413 if it is larger than `bytes`; the command line has no such limit.
 */
async function logWithin(thread: Thread, bytes: number): Promise<Entry[]> {
  const entries: Entry[] = []
  let left = bytes
  for (;;) {
    const page = await thread.read({ after: entries.at(-1)?.seq ?? 0 })
    if (page.length === 0) return entries
    for (const entry of page) {
      left -= entryBytes(entry)
      entries.push(entry)
    }
    if (left < 0)
      throw httpError(
        413,
        'invalid_input',
        `the conversation is larger than ${bytes} bytes: run \`millrace export ${thread.id} --format test\` on the machine that stores it`,
      )
  }
}
