import type { Delta, RunEvent, RunState, ThreadState } from '../protocol/index.ts'
import {
  applyAppended,
  emptyThread,
  joinedEvent,
  textFrom,
  textOfDelta,
  withText,
} from '../protocol/index.ts'
import type { LiveLog } from './live-log.ts'
import { tail } from './tail.ts'

/**
 * The log of a run in memory, for any number of readers at any pace.
 *
 * It holds each text once and little besides, however many read it. A reader that keeps up gets each delta as it was; one that is
 * far behind gets the rest of it in one piece.
 */
export interface MemoryLog extends LiveLog {
  close(): void
  /** Every event from the first on, ending when the log is closed. */
  read(): AsyncIterableIterator<RunEvent, undefined>
  /** What is there now, deltas joined. */
  events(): RunEvent[]
}

/** A reader that has read everything there is, and gets what comes. */
interface Follower {
  push(event: RunEvent): void
  end(): void
}

/**
 * At least as many events may wait for a reader before it counts as behind: more than one read of a socket brings, so that
 * a reader that takes all of them before the next one comes gets each as it was.
 */
const farBehind = 1024

/** `before` is the run that this one resumes. */
export function memoryLog(before?: RunState): MemoryLog {
  const state: ThreadState = { ...emptyThread(), run: before }
  const end = tail((event) => applyAppended(state, event))
  const events = end.settled
  // One that has left is removed when it has fallen behind.
  const followers: Follower[] = []
  let closed = false

  function current() {
    end.settle()
    return state
  }

  return {
    onSignal: undefined,
    get state() {
      return current()
    },
    get run() {
      return current().run as RunState
    },

    append(event) {
      if (closed) throw new Error(`the run is over, but got '${event.type}'`)
      end.push(event)
      // From the last on: one that has fallen behind takes itself off the list.
      for (let at = followers.length - 1; at >= 0; at--) followers[at]?.push(event)
    },

    close() {
      end.settle()
      closed = true
      for (const follower of followers.splice(0)) follower.end()
    },

    events: () => [...events, ...end.growing.map(joinedEvent)],

    read() {
      /** How far it has read of what the log holds, while it is behind. */
      let index = 0
      /** How much of the event at `index`, and of those after it, it has had already, while they were growing. */
      let taken: number[] = []
      /** What came while it followed, and was not asked for yet. */
      const queue: RunEvent[] = []
      let head = 0
      let following = false
      let over = false
      // More than one only if `next` is called again without waiting.
      const asked: ((result: IteratorResult<RunEvent, undefined>) => void)[] = []

      const self: Follower = {
        push(event) {
          const answer = asked.shift()
          if (answer) return answer({ done: false, value: event })
          queue.push(event)
          if (queue.length < 2 * farBehind) return
          queue.splice(0, head)
          head = 0
          if (queue.length > farBehind) fallBehind()
        },
        end() {
          following = false
          index = events.length
          taken = []
          for (const answer of asked.splice(0)) answer(ending())
        },
      }

      /** What has come so far stays for it; the rest it reads from the log. */
      function fallBehind() {
        leave()
        index = events.length
        taken = end.growing.map(({ length }) => length)
      }

      function leave() {
        if (following) followers.splice(followers.indexOf(self), 1)
        following = false
      }

      function take(): RunEvent | undefined {
        if (head < queue.length) {
          const event = queue[head++]
          if (head === queue.length) head = queue.length = 0
          return event
        }
        return following ? undefined : takeFromLog()
      }

      function takeFromLog(): RunEvent | undefined {
        while (index < events.length) {
          const event = events[index++] as RunEvent
          const offset = taken.length > 0 ? (taken.shift() ?? 0) : 0
          if (offset === 0) return event
          const text = textOfDelta(event) as string
          if (offset < text.length) return withText(event as Delta, text.slice(offset))
        }
        for (const [at, delta] of end.growing.entries()) {
          const offset = taken[at] ?? 0
          if (offset === delta.length) continue
          taken[at] = delta.length
          if (offset === delta.length - delta.latestLength) return delta.latest
          return withText(delta.first, textFrom(delta.pieces, delta.length - offset))
        }
        if (!closed) {
          following = true
          followers.push(self)
        }
        return undefined
      }

      return {
        next() {
          const event = over ? undefined : take()
          if (event) return Promise.resolve({ done: false, value: event })
          if (over || closed) return Promise.resolve(ending())
          return new Promise((resolve) => asked.push(resolve))
        },
        return() {
          over = true
          leave()
          for (const answer of asked.splice(0)) answer(ending())
          return Promise.resolve(ending())
        },
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },
  }
}

function ending(): IteratorReturnResult<undefined> {
  return { done: true, value: undefined }
}
