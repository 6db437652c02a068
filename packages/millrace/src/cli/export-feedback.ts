import { invalidInput, wholeLog } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import type { RunView } from '../view/index.ts'
import { applyEntry, createView, roundText } from '../view/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonLine } from './json-lines.ts'
import { openThreads } from './open-threads.ts'
import type { Output } from './output.ts'

const pageLength = 1000

/** Prints all answers with feedback, of one thread or of the whole store, one per line. */
export async function exportFeedback(
  { words: [id], flags }: Pick<CommandLine, 'words' | 'flags'>,
  output: Output,
): Promise<number> {
  if (flags.format !== undefined)
    throw invalidInput('millrace', '--feedback and --format cannot be combined: feedback is JSON Lines')
  const app = await openThreads(flags)
  let count = 0
  try {
    for await (const thread of threadsOf(app, id)) {
      if (output.closed.aborted) break
      for (const row of await feedbackIn(app, thread)) {
        output.print(jsonLine({ feedback: row }))
        count++
      }
      await output.drained()
    }
    if (count === 0) output.note('no answer has feedback')
    return exitCodes.ok
  } finally {
    await app.close()
  }
}

/** The ids of all threads, most recently changed first, or only the given one. */
async function* threadsOf(app: App, id: string | undefined): AsyncGenerator<string, void> {
  if (id !== undefined) return yield id
  for (let cursor: string | undefined; ; ) {
    const { threads, next } = await app.threads({ limit: pageLength, cursor })
    for (const thread of threads) yield thread.id
    if (next === undefined) return
    cursor = next
  }
}

/** The answers of a thread with feedback, one for each user. */
async function feedbackIn(app: App, thread: string) {
  const entries = await wholeLog(app.thread(thread))
  if (!entries.some(({ event }) => event.type === 'feedback')) return []
  const view = createView()
  for (const entry of entries) applyEntry(view, entry)
  return view.runs.flatMap((run) =>
    [...run.feedback.values()].map(({ at, user, rating, note }) => ({
      thread,
      run: run.id,
      agent: run.agent,
      at,
      ...(user !== undefined && { user }),
      ...(rating !== undefined && { rating }),
      ...(note !== undefined && { note }),
      input: run.inputs.map(({ message }) => message),
      output: answerOf(run),
      outcome: run.outcome,
      tools: run.calls.filter(({ budget }) => !budget).map(({ name }) => name),
    })),
  )
}

/** The text of the last round that has text. */
function answerOf({ rounds }: RunView): string {
  const texts = rounds.filter(({ retracted }) => !retracted).map(roundText)
  return texts.findLast((text) => text !== '') ?? ''
}
