import type { Entry, ThreadState } from '../protocol/index.ts'
import { applyEntry, nextThreadAction } from '../protocol/index.ts'
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
    /** The thread as it was where the following begins. */
    readonly fold: () => Promise<ThreadState>
  },
): Following {
  let state: ThreadState | undefined
  let begun: Promise<void> | undefined
  let least = 0
  let over = false

  async function begin() {
    const { head } = await info()
    if (until === undefined) return
    // It was at rest many times before; what counts is that it is now.
    least = until === 'idle' ? head : until
    state = await fold()
    over = isReached(state)
  }

  function isReached(state: ThreadState): boolean {
    return state.head >= least && (until === 'idle' ? isIdle(state) : isDealtWith(state, least))
  }

  function note(entry: Entry) {
    if (!state || until === undefined) return
    applyEntry(state, entry)
    over = isReached(state)
  }

  async function next(): Promise<IteratorResult<Entry, undefined>> {
    begun ??= begin()
    try {
      await begun
    } catch (error) {
      await following.return?.()
      throw error
    }
    if (over) await following.return?.()
    const result = await following.next()
    if (!result.done) note(result.value)
    return result
  }

  return {
    next: () => (begun && !state && !over ? following.next() : next()),
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

function isIdle(state: ThreadState): boolean {
  const { type } = nextThreadAction(state)
  return type === 'idle' || type === 'wait'
}

function isDealtWith({ run, waiting }: ThreadState, input: number): boolean {
  const isUnderWay = run !== undefined && run.outcome === undefined
  return !isUnderWay && !waiting.some(({ seq, held }) => seq === input && !held)
}
