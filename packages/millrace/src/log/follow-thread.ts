import type { Entry, ThreadState } from '../protocol/index.ts'
import { isOpen, nextThreadAction } from '../protocol/index.ts'
import { applyControl, controlAt } from './control.ts'
import type { Following } from './follower.ts'
import type { Log } from './read-log.ts'

export interface FollowThread {
  readonly log: Log
  readonly after: number | 'now'
  readonly until: 'idle' | number | undefined
  /** Rejects with `not_found` if there is no such thread. */
  readonly info: () => Promise<{ readonly head: number }>
  readonly follow: (after: number) => Following
}

/** Follows a thread until what was asked for has come about. Rejects with `not_found` if there is no such thread. */
export function followThread({ log, after, until, info, follow }: FollowThread): Following {
  // At once where it can be, so that it counts as a follower from now on.
  let following = after === 'now' ? undefined : follow(after)
  /** The thread as far as it has been followed, if there is an end to look for. */
  let state: ThreadState | undefined
  /** How far the log had grown when the following began. */
  let known = 0
  let begun: Promise<void> | undefined
  /** Nothing is to be looked at between two entries. */
  let isPlain = false
  let over = false

  async function begin() {
    const { head } = await info()
    const from = after === 'now' ? head : after
    if (until !== undefined) {
      known = head
      state = await controlAt(log, from)
      if (isReached(state)) leave()
    }
    if (!over) following ??= follow(from)
    isPlain = until === undefined
  }

  function isReached(state: ThreadState): boolean {
    if (typeof until === 'number' && isAnswered(state, until)) return true
    // It was at rest many times before; what counts is that it is now.
    return state.head >= known && isAtRest(state) && (until === 'idle' || !isWaiting(state, until as number))
  }

  function note(entry: Entry) {
    if (!state) return
    applyControl(state, entry)
    // At once, so that a `next` that was called meanwhile is not kept waiting.
    if (isReached(state)) leave()
  }

  function leave() {
    over = true
    void following?.return?.()
  }

  async function next(): Promise<IteratorResult<Entry, undefined>> {
    begun ??= begin()
    try {
      await begun
    } catch (error) {
      leave()
      throw error
    }
    const result = following && (await following.next())
    if (!result || result.done) return { done: true, value: undefined }
    note(result.value)
    return result
  }

  if (after === 'now') {
    begun = begin()
    // `next` reports it.
    begun.catch(() => {})
  }
  return {
    next: () => (isPlain && following ? following.next() : next()),
    ready() {
      const entry = over ? undefined : following?.ready()
      if (entry) note(entry)
      return entry
    },
    return() {
      leave()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Nothing happens before the next input or decision. */
function isAtRest(state: ThreadState): boolean {
  const { type } = nextThreadAction(state)
  return type === 'idle' || type === 'wait'
}

/** The run that heard it is over for good. */
function isAnswered(state: ThreadState, input: number): boolean {
  const isUnderWay = state.run !== undefined && isOpen(state.run)
  return !isUnderWay && !isWaiting(state, input)
}

/** It has not been said yet, or no run has read it and one will. */
function isWaiting({ head, waiting }: ThreadState, input: number): boolean {
  return head < input || waiting.some(({ seq, held }) => seq === input && !held)
}
