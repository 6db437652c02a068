import type { Entry } from '../protocol/index.ts'
import { firstOf } from './entries.ts'
import type { ThreadStore } from './store.ts'
import { pause, startLongFold } from './turns.ts'

/** Entries per page. A store ends a page sooner if its entries are large. */
const pageLength = 200
/** Backward searches start with this many entries, since matches are mostly near. */
const nearLength = 32
/** A fold of more entries than this is long: only a few of these run at a time. */
const longFoldLength = 20_000

/** Where a log is kept. */
export interface Log {
  readonly store: Pick<ThreadStore, 'read'>
  readonly threadId: string
  /** The caller on whose behalf it is read, if known. */
  readonly caller?: string | undefined
}

/**
 * Reads the entries after a number and up to another, or to the end, page by page. Other work gets
 * its turn in between, however long the log is. Deltas may be joined, but no entry extends beyond
 * `upTo`.
 */
export async function* readLog(
  { store, threadId, caller }: Log,
  { after, upTo = Number.POSITIVE_INFINITY }: { readonly after: number; readonly upTo?: number },
): AsyncGenerator<readonly Entry[], undefined> {
  let release: (() => void) | undefined
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
      if (count > longFoldLength) release ??= await startLongFold(caller)
    }
  } finally {
    release?.()
  }

  async function pageAfter(head: number): Promise<readonly Entry[]> {
    const page = await store.read(threadId, { after: head, limit: Math.min(pageLength, upTo - head) })
    const beyond = page.findIndex(({ seq }) => seq > upTo)
    const next = page[beyond]
    if (!next) return page
    const whole = page.slice(0, beyond)
    if (whole.length > 0 || firstOf(next) > upTo) return whole
    // The entry starts before `upTo` and ends after it.
    return store.read(threadId, { after: head, limit: upTo - head, split: true })
  }
}

/**
 * Finds the last matching entry up to a number; undefined if there is none. Takes longer the
 * further back the entry is.
 */
export async function findLast(
  log: Log,
  upTo: number,
  matches: (entry: Entry) => boolean,
): Promise<Entry | undefined> {
  let length = nearLength
  for (let end = upTo; end > 0; length *= 2) {
    const after = Math.max(0, end - length)
    let found: Entry | undefined
    for await (const page of readLog(log, { after, upTo: end })) found = page.findLast(matches) ?? found
    if (found) return found
    end = after
  }
  return undefined
}
