import { type Transcript, writeTranscript } from './check.ts'
import type { Entry } from './events.ts'
import type { Message } from './messages.ts'
import type { StateOptions } from './thread-options.ts'
import type { ThreadInfo, ThreadView } from './thread-view.ts'
import type { Usage } from './usage.ts'

/** A thread that can be read, locally or over the network. */
export interface ReadableThread {
  read(options: { readonly after: number; readonly split?: boolean | undefined }): Promise<readonly Entry[]>
  state(options?: StateOptions): Promise<ThreadView>
}

/** A thread as a file: a transcript for `readTranscript()`, and the log it was folded from. */
export interface ExportedThread extends Transcript {
  readonly thread: Omit<ThreadInfo, 'head' | 'status'>
  readonly usage: Usage
  readonly entries: readonly Entry[]
}

export interface ExportOptions {
  /**
   * Keep every delta with its time, as first written, so that the export can be replayed at the
   * original pace. Takes about 20 times the space of the text.
   */
  readonly split?: boolean | undefined
}

export async function exportThread(
  thread: ReadableThread,
  { split }: ExportOptions = {},
): Promise<ExportedThread> {
  const view = await thread.state()
  const { usage, head, id, agent, title, user, metadata, forkedFrom, createdAt, updatedAt } = view
  return {
    ...writeTranscript(await wholeConversation(thread, view)),
    thread: {
      id,
      agent,
      ...(title !== undefined && { title }),
      ...(user !== undefined && { user }),
      ...(metadata && { metadata }),
      ...(forkedFrom && { forkedFrom }),
      createdAt,
      updatedAt,
    },
    usage,
    entries: await wholeLog(thread, head, { split }),
  }
}

/** A server returns a long conversation in pages, the end first. */
async function wholeConversation(
  thread: Pick<ReadableThread, 'state'>,
  view: ThreadView,
): Promise<Message[]> {
  const pages = [view.messages]
  for (let { earlier } = view; earlier; ) {
    const page = await thread.state({ before: earlier.messages })
    pages.unshift(page.messages)
    earlier = page.earlier
  }
  return pages.flat()
}

/**
 * All entries, read page by page, up to `head` if given: a thread in use may grow faster than it is
 * read.
 */
export async function wholeLog(
  thread: Pick<ReadableThread, 'read'>,
  head = Number.POSITIVE_INFINITY,
  { split }: ExportOptions = {},
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let last = 0; last < head; ) {
    const page = await thread.read({ after: last, split })
    if (page.length === 0) break
    for (const entry of page) entries.push(entry)
    last = entries.at(-1)?.seq ?? last
  }
  return entries
}
