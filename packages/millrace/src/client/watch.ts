import type { Entry, ThreadSnapshot } from '../protocol/index.ts'
import { applyEntry, emptyThread, snapshotOf, systemClock } from '../protocol/index.ts'
import { cancelable } from './cancelable.ts'
import type { WatchOptions } from './options.ts'
import { checkFor } from './options.ts'

/** Anything with entries to follow: a thread of a client or of an app. */
export interface Followable {
  follow(options: { readonly signal: AbortSignal }): AsyncIterator<Entry, undefined>
}

/**
 * Snapshots of a thread, from its start and again as it grows. The cost of a snapshot grows with
 * the conversation, so all entries that arrive in one turn of the event loop are combined, and a
 * slow reader gets fewer snapshots.
 */
export function watch(
  thread: Followable,
  options: WatchOptions = {},
): AsyncIterableIterator<ThreadSnapshot, undefined> {
  checkFor('watch', options)
  return cancelable(options.signal, (signal) => snapshots(thread.follow({ signal })))
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
        // An error is reported after the snapshot of the entries before it.
        more = await Promise.race([next, turn]).catch(() => {})
      }
      yield snapshotOf(state)
    }
  } finally {
    next.catch(() => {})
    await entries.return?.()
  }
}
