import type { Delta, Growing, RunEvent } from '../protocol/index.ts'
import {
  beginGrowing,
  grow,
  joinedEvent,
  relate,
  textFrom,
  textOfDelta,
  withText,
} from '../protocol/index.ts'

/**
 * The events of a run in memory, for any number of readers at any pace.
 *
 * Deltas are joined as they come in, so the log holds each text once and little besides, whoever reads it or not. A
 * reader that keeps up gets each delta as it was; one that is far behind gets the rest of it in one piece.
 */
export interface EventLog {
  /** Constant cost for each reader that follows, whatever came before. Throws after `close`. */
  push(event: RunEvent): void
  /** Ends the deltas that are growing, so that `onSettled` has been told of everything there is. */
  settle(): void
  close(): void
  /** Every event from the first on, ending when the log is closed. */
  read(): AsyncIterableIterator<RunEvent, undefined>
  /** What is there now, deltas joined. */
  snapshot(): RunEvent[]
}

/** A reader that has read everything there is, and is told of what comes. */
interface Follower {
  hear(event: RunEvent): void
  ended(): void
}

/**
 * At least as many events may wait for a reader before it counts as behind: more than one read of a socket brings, so that
 * whoever takes all of them before the next one comes gets each as it was.
 */
const farBehind = 1024

/** Each delta is held against all texts that are growing, so only so many of them do at the same time. */
const mostGrowing = 64

/** `onSettled` is told of each event once, deltas as long as they became. */
export function eventLog(onSettled: (event: RunEvent) => void): EventLog {
  const events: RunEvent[] = []
  // One for each text that is being told at the same time: the model's own, the arguments of each call, each sub-agent's.
  let growing: Growing[] = []
  // One that was given up leaves when it has fallen behind.
  const followers: Follower[] = []
  let closed = false

  function add(event: RunEvent) {
    events.push(event)
    onSettled(event)
  }

  function settle() {
    const settled = growing
    growing = []
    for (const delta of settled) add(delta.pieces.length === 1 ? delta.latest : joinedEvent(delta))
  }

  function pushDelta(event: Delta, text: string) {
    for (const delta of growing) {
      const relation = relate(delta.first, event)
      if (relation === 'goes-on') return grow(delta, event, text)
      if (relation === 'follows') {
        settle()
        break
      }
    }
    if (growing.length === mostGrowing) settle()
    growing.push(beginGrowing(event, text))
  }

  return {
    push(event) {
      if (closed) throw new Error(`the run is over, but got '${event.type}'`)
      const text = textOfDelta(event)
      if (text === undefined) {
        settle()
        add(event)
      } else pushDelta(event as Delta, text)
      // From the last on: one that has fallen behind takes itself off the list.
      for (let at = followers.length - 1; at >= 0; at--) followers[at]?.hear(event)
    },

    settle,

    close() {
      settle()
      closed = true
      for (const follower of followers.splice(0)) follower.ended()
    },

    snapshot: () => [...events, ...growing.map(joinedEvent)],

    read() {
      /** How far it has read of what the log holds, while it is behind. */
      let index = 0
      /** How much of the event at `index`, and of those after it, it has had already, while they were growing. */
      let taken: number[] = []
      /** What it was told while it followed, and has not been asked for. */
      const queue: RunEvent[] = []
      let head = 0
      let following = false
      let over = false
      // More than one only if somebody calls `next` again without waiting.
      const asked: ((result: IteratorResult<RunEvent, undefined>) => void)[] = []

      const self: Follower = {
        hear(event) {
          const answer = asked.shift()
          if (answer) return answer({ done: false, value: event })
          queue.push(event)
          if (queue.length < 2 * farBehind) return
          queue.splice(0, head)
          head = 0
          if (queue.length > farBehind) fallBehind()
        },
        ended() {
          following = false
          index = events.length
          taken = []
          for (const answer of asked.splice(0)) answer(ending())
        },
      }

      /** What it was told stays for it; the rest it reads from the log. */
      function fallBehind() {
        leave()
        index = events.length
        taken = growing.map(({ length }) => length)
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
        for (const [at, delta] of growing.entries()) {
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
