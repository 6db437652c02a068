import type { Delta, RunEvent, RunState, ThreadState } from '../protocol/index.ts'
import {
  applyAppended,
  emptyThread,
  joinedEvent,
  lastChars,
  textOfDelta,
  withText,
} from '../protocol/index.ts'
import { deltaBuffer } from './delta-buffer.ts'
import type { LiveLog } from './live-log.ts'

/**
 * The log of a run in memory, for any number of readers at any pace.
 *
 * It stores each text once, however many readers there are. A reader that keeps up gets each delta
 * as it was appended; one that is far behind gets the missing text in one piece.
 */
export interface MemoryLog extends LiveLog {
  close(): void
  /** Iterates over all events from the first on. Ends when the log is closed. */
  read(): LogReader
  /** The events so far, with deltas joined. */
  events(): RunEvent[]
}

export interface LogReader extends AsyncIterableIterator<RunEvent, undefined> {
  /** The next event if it is already there. Not while a `next()` is pending. */
  take(): RunEvent | undefined
}

/** A reader that has caught up and gets new events as they come. */
interface Follower {
  push(event: RunEvent): void
  end(): void
}

/**
 * A reader counts as behind when more events than this wait for it. This is more than one socket
 * read produces, so a reader that takes all events before the next read gets each one as it was
 * appended.
 */
const maxWaiting = 1024

/** `resumed` is the run that this one resumes. */
export function memoryLog(resumed?: RunState): MemoryLog {
  const state: ThreadState = { ...emptyThread(), run: resumed }
  const buffer = deltaBuffer((event) => applyAppended(state, event))
  const events = buffer.settled
  // A reader that has left is removed when it falls behind.
  const followers: Follower[] = []
  let closed = false

  function current() {
    buffer.settle()
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
      if (closed) throw new Error(`the run has ended, but '${event.type}' was appended`)
      buffer.push(event)
      // Backward, since a reader that falls behind removes itself from the list.
      for (let at = followers.length - 1; at >= 0; at--) followers[at]?.push(event)
    },

    close() {
      buffer.settle()
      closed = true
      for (const follower of followers.splice(0)) follower.end()
    },

    events: () => [...events, ...buffer.growing.map(joinedEvent)],

    read() {
      /** The index of the next event to read from the log, while it is behind. */
      let index = 0
      /**
       * How many characters of the event at `index`, and of those after it, it has already had,
       * from the time when they were still growing.
       */
      let taken: number[] = []
      /** Events that came while it followed and were not read yet. */
      const queue: RunEvent[] = []
      let head = 0
      let following = false
      let ended = false
      // More than one only if `next()` is called again without awaiting the last call.
      const pending: ((result: IteratorResult<RunEvent, undefined>) => void)[] = []

      const self: Follower = {
        push(event) {
          const resolve = pending.shift()
          if (resolve) return resolve({ done: false, value: event })
          queue.push(event)
          if (queue.length < 2 * maxWaiting) return
          queue.splice(0, head)
          head = 0
          if (queue.length > maxWaiting) fallBehind()
        },
        end() {
          following = false
          index = events.length
          taken = []
          for (const resolve of pending.splice(0)) resolve(doneResult())
        },
      }

      /** Keeps the queued events; the rest is read from the log. */
      function fallBehind() {
        stopFollowing()
        index = events.length
        taken = buffer.growing.map(({ length }) => length)
      }

      function stopFollowing() {
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
        for (const [at, delta] of buffer.growing.entries()) {
          const offset = taken[at] ?? 0
          if (offset === delta.length) continue
          taken[at] = delta.length
          if (offset === delta.length - delta.latestLength) return delta.latest
          return withText(delta.first, lastChars(delta.pieces, delta.length - offset))
        }
        if (!closed) {
          following = true
          followers.push(self)
        }
        return undefined
      }

      return {
        take,
        next() {
          const event = ended ? undefined : take()
          if (event) return Promise.resolve({ done: false, value: event })
          if (ended || closed) return Promise.resolve(doneResult())
          return new Promise((resolve) => pending.push(resolve))
        },
        return() {
          ended = true
          stopFollowing()
          for (const resolve of pending.splice(0)) resolve(doneResult())
          return Promise.resolve(doneResult())
        },
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },
  }
}

function doneResult(): IteratorReturnResult<undefined> {
  return { done: true, value: undefined }
}
