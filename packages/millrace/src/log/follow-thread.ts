import type { Entry, ThreadState } from '../protocol/index.ts'
import { isOpen, isWanted, nextThreadAction } from '../protocol/index.ts'
import { applyControl, controlAt } from './control.ts'
import type { Following } from './follower.ts'
import type { Log } from './read-log.ts'

export interface FollowThread {
  readonly log: Log
  readonly after: number | 'now'
  readonly until: 'idle' | number | undefined
  /** Rejects with `not_found` if the thread does not exist. */
  readonly info: () => Promise<{ readonly head: number }>
  readonly follow: (after: number) => Following
}

/**
 * Follows a thread until the condition `until` is met. Rejects with `not_found` if the thread does
 * not exist.
 */
export function followThread({ log, after, until, info, follow }: FollowThread): Following {
  // Right away if possible, so that it counts as a follower from now on.
  let following = after === 'now' ? undefined : follow(after)
  /** The state of the thread at the last entry read; set if `until` is. */
  let state: ThreadState | undefined
  /** The head of the log when following started. */
  let known = 0
  let starting: Promise<void> | undefined
  /** Entries need no check: `next()` can pass straight through. */
  let passesThrough = false
  let ended = false

  async function start() {
    const { head } = await info()
    const from = after === 'now' ? head : after
    if (until !== undefined) {
      known = head
      state = await controlAt(log, from)
      if (isReached(state)) stop()
    }
    if (!ended) following ??= follow(from)
    passesThrough = until === undefined
  }

  function isReached(state: ThreadState): boolean {
    if (typeof until === 'number' && isAnswered(state, until)) return true
    // The thread may have been at rest many times in the past. Only its current state counts.
    return state.head >= known && isAtRest(state) && (until === 'idle' || !isWaiting(state, until as number))
  }

  function observe(entry: Entry) {
    if (!state) return
    applyControl(state, entry)
    // Right away, so that a pending `next()` does not keep waiting.
    if (isReached(state)) stop()
  }

  function stop() {
    ended = true
    void following?.return?.()
  }

  async function next(): Promise<IteratorResult<Entry, undefined>> {
    starting ??= start()
    try {
      await starting
    } catch (error) {
      stop()
      throw error
    }
    const result = following && (await following.next())
    if (!result || result.done) return { done: true, value: undefined }
    observe(result.value)
    return result
  }

  if (after === 'now') {
    starting = start()
    // `next()` reports the error.
    starting.catch(() => {})
  }
  return {
    next: () => (passesThrough && following ? following.next() : next()),
    ready() {
      const entry = ended ? undefined : following?.ready()
      if (entry) observe(entry)
      return entry
    },
    listen(onEntries) {
      // Before the first `next()`, the state is not known.
      if (ended || !following || !(passesThrough || state)) return undefined
      if (passesThrough) return following.listen(onEntries)
      return following.listen((entries) => {
        const last = entries.findIndex((entry) => {
          observe(entry)
          return ended
        })
        return onEntries(last < 0 ? entries : entries.slice(0, last + 1))
      })
    },
    return() {
      stop()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Nothing happens until the next input or decision. */
function isAtRest(state: ThreadState): boolean {
  const { type } = nextThreadAction(state)
  return type === 'idle' || type === 'wait'
}

/** The run that answers this input has ended for good. */
function isAnswered(state: ThreadState, input: number): boolean {
  const isUnderWay = state.run !== undefined && isOpen(state.run)
  return !isUnderWay && !isWaiting(state, input)
}

/** The input has not been sent yet, or no run has read it and one will. */
function isWaiting({ head, waiting }: ThreadState, input: number): boolean {
  return head < input || waiting.some((one) => one.seq === input && isWanted(one))
}
