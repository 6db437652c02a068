import type { Entry } from '../protocol/index.ts'
import { firstOf } from './entries.ts'
import type { ThreadStore } from './store.ts'
import { enterLong, pause } from './turns.ts'

/** A store ends a page sooner if its entries are large. */
const pageLength = 200
/** What is looked for backwards is mostly near. */
const nearLength = 32
/** A fold of more entries than this waits until few others like it go on. */
const longLength = 20_000

/** Where a log is kept. */
export interface Log {
  readonly store: Pick<ThreadStore, 'read'>
  readonly threadId: string
  /** Who asks for it, if that is known. */
  readonly caller?: string | undefined
}

/**
 * The entries after a number and up to another, or to the end, page by page. Other work has its turn in between, however long the log
 * is. Deltas may be joined, but no entry reaches beyond `upTo`.
 */
export async function* readLog(
  { store, threadId, caller }: Log,
  { after, upTo = Number.POSITIVE_INFINITY }: { readonly after: number; readonly upTo?: number },
): AsyncGenerator<readonly Entry[], undefined> {
  let leave: (() => void) | undefined
  let count = 0
  let steps = 0
  try {
    for (let head = after; head < upTo; ) {
      await pause(steps++)
      const page = await pageAfter(head)
      const last = page.at(-1)
      if (!last) return
      head = last.seq
      yield page
      count += page.length
      if (count > longLength) leave ??= await enterLong(caller)
    }
  } finally {
    leave?.()
  }

  async function pageAfter(head: number): Promise<readonly Entry[]> {
    const page = await store.read(threadId, { after: head, limit: Math.min(pageLength, upTo - head) })
    const beyond = page.findIndex(({ seq }) => seq > upTo)
    const next = page[beyond]
    if (!next) return page
    const whole = page.slice(0, beyond)
    if (whole.length > 0 || firstOf(next) > upTo) return whole
    // It begins before that number and ends behind it.
    return store.read(threadId, { after: head, limit: upTo - head, split: true })
  }
}

/** The last entry up to a number that is one of these; undefined if no entry is. Takes longer the further it is from the number. */
export async function findLast(
  log: Log,
  upTo: number,
  isIt: (entry: Entry) => boolean,
): Promise<Entry | undefined> {
  let length = nearLength
  for (let end = upTo; end > 0; length *= 2) {
    const after = Math.max(0, end - length)
    let found: Entry | undefined
    for await (const page of readLog(log, { after, upTo: end })) found = page.findLast(isIt) ?? found
    if (found) return found
    end = after
  }
  return undefined
}
