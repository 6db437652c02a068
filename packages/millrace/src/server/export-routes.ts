import type { Entry } from '../protocol/index.ts'
import type { Route } from '../protocols/index.ts'
import { httpError, json } from '../protocols/index.ts'
import type { Thread } from '../threads/index.ts'
import { entryBytes, testScript } from '../threads/index.ts'

/** A conversation in other forms, to be taken elsewhere. */
export function exportRoutes(answerBytes: number): Route[] {
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
      async handle({ caller, params }) {
        const { thread } = await caller.getThread(params.id as string)
        return Response.json({ source: testScript(await logWithin(thread, answerBytes)) })
      },
    },
  ]
}

/** The whole log. Throws 413 if it is larger than an answer may be: a test of all of it is for the command line. */
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
        `the conversation is larger than ${bytes} bytes: run \`millrace export ${thread.id} --format test\` where its data is`,
      )
  }
}
