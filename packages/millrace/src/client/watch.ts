import type { Entry, ThreadSnapshot } from '../protocol/index.ts'
import { applyEntry, emptyThread, snapshotOf, systemClock } from '../protocol/index.ts'
import { endable } from './endable.ts'
import type { WatchOptions } from './options.ts'
import { checkFor } from './options.ts'

/** Whatever has entries to follow: a thread of a client, or of an app. */
export interface Followed {
  follow(options: { readonly signal: AbortSignal }): AsyncIterator<Entry, undefined>
}

/**
 * A thread as it is shown, from its beginning and again as it grows. Each snapshot costs what the conversation is long, so what
 * comes in one turn makes one of them, however many words that is; a reader that takes its time gets fewer.
 */
export function watch(
  thread: Followed,
  options: WatchOptions = {},
): AsyncIterableIterator<ThreadSnapshot, undefined> {
  checkFor('watch', options)
  return endable(options.signal, (signal) => snapshots(thread.follow({ signal })))
}

async function* snapshots(
  entries: AsyncIterator<Entry, undefined>,
): AsyncGenerator<ThreadSnapshot, undefined> {
  const state = emptyThread()
  let next = entries.next()
  try {
    for (let result = await next; !result.done; result = await next) {
      const turn = systemClock.turn()
      for (let more: IteratorResult<Entry, undefined> | void = result; more && !more.done; ) {
        applyEntry(state, more.value)
        next = entries.next()
        // A failure is told after the snapshot of what came before it.
        more = await Promise.race([next, turn]).catch(() => {})
      }
      yield snapshotOf(state)
    }
  } finally {
    next.catch(() => {})
    await entries.return?.()
  }
}
