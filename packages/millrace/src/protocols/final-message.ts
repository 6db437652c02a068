import type { Entry, ErrorJson, Outcome } from '../protocol/index.ts'
import { isNewRun } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import { findLast, readLog } from '../threads/index.ts'
import { foldResult } from '../view/index.ts'

/** What a client without streaming gets: the end of a run, with the text of its last round. */
export interface FinalMessage {
  readonly type: 'message'
  readonly seq: number
  readonly runId: string
  readonly outcome: Outcome
  readonly text: string
  readonly error?: ErrorJson
}

type TakeEntry = (entry: Entry) => FinalMessage | undefined

/**
 * Like `finalMessages`, for the entries after a number. Reads the earlier entries of the current
 * run first.
 */
export async function finalMessagesAfter(
  thread: Pick<Thread, 'id' | 'read'>,
  after: number,
): Promise<TakeEntry> {
  const log = { threadId: thread.id, store: { read: (_: string, options: object) => thread.read(options) } }
  const start = await findLast(log, after, ({ event }) => isNewRun(event))
  const take = finalMessages()
  for await (const page of start ? readLog(log, { after: start.seq - 1, upTo: after }) : [])
    for (const entry of page) take(entry)
  return take
}

/**
 * Takes the entries of a thread, from the start of a run on, and returns a message at the end of
 * each run.
 */
export function finalMessages(): TakeEntry {
  const fold = foldResult()
  return (entry) => {
    if (!fold.applyEntry(entry)?.run?.outcome) return undefined
    const { runId = '', outcome, text, error } = fold.result()
    return { type: 'message', seq: entry.seq, runId, outcome, text, ...(error && { error }) }
  }
}
