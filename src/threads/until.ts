import type { Entry, ThreadState } from '../protocol/index.ts'
import { isOpen, nextThreadAction } from '../protocol/index.ts'
import { applyControl } from './control.ts'
import type { Following } from './hub.ts'

/** Follows until what was asked for has come about. Rejects with `not_found` if there is no such thread. */
export function followUntil(
  following: Following,
  {
    until,
    info,
    fold,
  }: {
    readonly until: 'idle' | number | undefined
    readonly info: () => Promise<{ readonly head: number }>
    /** The thread where the following begins, as far as it decides about what comes next. */
    readonly fold: () => Promise<ThreadState>
  },
): Following {
  let state: ThreadState | undefined
  let begun: Promise<void> | undefined
  /** How far the log had grown when the following began. */
  let known = 0
  let over = false

  async function begin() {
    const { head } = await info()
    if (until === undefined) return
    known = head
    state = await fold()
    endIfReached(state)
  }

  /** At once, so that whoever has asked for more meanwhile is not kept waiting. */
  function endIfReached(state: ThreadState) {
    over = isReached(state)
    if (over) void following.return?.()
  }

  function isReached(state: ThreadState): boolean {
    if (typeof until === 'number' && isAnswered(state, until)) return true
    // It was at rest many times before; what counts is that it is now.
    return state.head >= known && isAtRest(state) && (until === 'idle' || !isWaiting(state, until as number))
  }

  function note(entry: Entry) {
    if (!state || until === undefined) return
    applyControl(state, entry)
    endIfReached(state)
  }

  async function next(): Promise<IteratorResult<Entry, undefined>> {
    begun ??= begin()
    try {
      await begun
    } catch (error) {
      await following.return?.()
      throw error
    }
    const result = await following.next()
    if (!result.done) note(result.value)
    return result
  }

  return {
    // Without an end to watch for there is nothing to do in between.
    next: () => (begun && until === undefined ? following.next() : next()),
    ready() {
      const entry = over ? undefined : following.ready()
      if (entry) note(entry)
      return entry
    },
    return: () => following.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Follows from a place that is not known yet. */
export function followLater(opening: Promise<Following>): Following {
  let opened: Following | undefined
  opening.then(
    (following) => {
      opened = following
    },
    // next() reports it.
    () => {},
  )
  return {
    next: () => (opened ? opened.next() : opening.then((following) => following.next())),
    ready: () => opened?.ready(),
    async return() {
      await opening.then(
        (following) => following.return?.(),
        () => {},
      )
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Nothing goes on before somebody speaks, or decides. */
function isAtRest(state: ThreadState): boolean {
  const { type } = nextThreadAction(state)
  return type === 'idle' || type === 'wait'
}

/** The run that heard it is over for good. */
function isAnswered(state: ThreadState, input: number): boolean {
  const isUnderWay = state.run !== undefined && isOpen(state.run)
  return !isUnderWay && !isWaiting(state, input)
}

/** It has not been said yet, or nobody has heard it and somebody will. */
function isWaiting({ head, waiting }: ThreadState, input: number): boolean {
  return head < input || waiting.some(({ seq, held }) => seq === input && !held)
}
