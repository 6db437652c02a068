import type { RunEvent } from '../protocol/index.ts'

/**
 * The events of a run in memory, for any number of readers at any pace.
 *
 * Deltas are joined as they come in, so the log holds each text once and little besides, whoever reads it or not. A
 * reader that keeps up gets each delta as it was; one that is behind gets the rest of it in one piece.
 */
export interface EventLog {
  /** Constant cost, whatever came before and however many have read it. Throws after `close`. */
  push(event: RunEvent): void
  /** Ends the deltas that are growing, so that `onSettled` has been told of everything there is. */
  settle(): void
  close(): void
  /** Every event from the first on, ending when the log is closed. */
  read(): AsyncIterableIterator<RunEvent, undefined>
  /** What is there now, deltas joined. */
  snapshot(): RunEvent[]
}

/** A delta event, bare or inside the progress of a sub-agent's call. */
type Delta = Extract<RunEvent, { type: 'text' | 'reasoning' | 'tool-input' | 'tool-progress' }>

/** Joining this many pieces at a time keeps the waste per piece small without copying any text more than twice. */
const piecesToJoin = 256

/** A delta that is still growing, in pieces: a string grown by `+=` would keep a node of 32 bytes for each. */
interface Growing {
  readonly first: Delta
  latest: RunEvent
  latestLength: number
  length: number
  readonly pieces: string[]
  /** How many pieces at the front have been joined already. */
  joined: number
}

/** `onSettled` is told of each event once, deltas as long as they became. */
export function eventLog(onSettled: (event: RunEvent) => void): EventLog {
  const events: RunEvent[] = []
  // One for each text that is being told at the same time: the model's own, the arguments of each call, each sub-agent's.
  let growing: Growing[] = []
  // Only readers that wait for something are here: one that was given up costs nothing.
  const waiting = new Set<() => void>()
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
    const { length } = text
    growing.push({ first: event, latest: event, latestLength: length, length, pieces: [text], joined: 0 })
  }

  return {
    push(event) {
      if (closed) throw new Error(`the run is over, but got '${event.type}'`)
      const text = textOfDelta(event)
      if (text === undefined) {
        settle()
        add(event)
      } else pushDelta(event as Delta, text)
      for (const answer of waiting) answer()
    },

    settle,

    close() {
      settle()
      closed = true
      for (const answer of waiting) answer()
    },

    snapshot: () => [...events, ...growing.map(joinedEvent)],

    read() {
      let index = 0
      // How much of the event at `index`, and of those behind it, has been handed out already, while they were growing.
      const taken: number[] = []
      let over = false
      // More than one only if somebody calls `next` again without waiting.
      const asked: ((result: IteratorResult<RunEvent, undefined>) => void)[] = []

      function take(): RunEvent | undefined {
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
        return undefined
      }

      function answer() {
        while (asked.length > 0) {
          const event = over ? undefined : take()
          if (!event && !closed && !over) return
          asked.shift()?.(event ? { done: false, value: event } : { done: true, value: undefined })
        }
        waiting.delete(answer)
      }

      return {
        next: () =>
          new Promise((resolve) => {
            asked.push(resolve)
            waiting.add(answer)
            answer()
          }),
        return() {
          over = true
          answer()
          return Promise.resolve({ done: true, value: undefined })
        },
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },
  }
}

function grow(delta: Growing, event: RunEvent, text: string) {
  const { pieces } = delta
  pieces.push(text)
  delta.latest = event
  delta.latestLength = text.length
  delta.length += text.length
  if (pieces.length - delta.joined === piecesToJoin) {
    pieces.push(pieces.splice(delta.joined).join(''))
    delta.joined++
  }
}

/** The last `length` characters of text in pieces; costs what it returns. */
function textFrom(pieces: readonly string[], length: number): string {
  let first = pieces.length
  let covered = 0
  while (covered < length) covered += (pieces[--first] as string).length
  return pieces
    .slice(first)
    .join('')
    .slice(covered - length)
}

function textOfDelta(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return event.text
    case 'tool-input':
      return event.delta
    case 'tool-progress':
      return event.event && textOfDelta(event.event)
    default:
      return undefined
  }
}

/**
 * How a delta stands to one that is growing: it `goes-on` with it; it `follows` it, since words and reasoning of one voice must
 * keep their order; or it has nothing to do with it, and may as well be read before or after.
 */
function relate(growing: RunEvent, event: RunEvent): 'goes-on' | 'follows' | 'unrelated' {
  const isVoice = event.type === 'text' || event.type === 'reasoning'
  if (isVoice && (growing.type === 'text' || growing.type === 'reasoning'))
    return growing.type === event.type ? 'goes-on' : 'follows'
  if (event.type === 'tool-input' && growing.type === 'tool-input')
    return growing.callId === event.callId ? 'goes-on' : 'unrelated'
  if (event.type !== 'tool-progress' || growing.type !== 'tool-progress') return 'unrelated'
  const inside = growing.callId === event.callId && growing.event && event.event
  return inside ? relate(growing.event, event.event as RunEvent) : 'unrelated'
}

function joinedEvent({ first, pieces }: Growing): RunEvent {
  return withText(first, pieces.join(''))
}

function withText(event: Delta, text: string): RunEvent {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return { type: event.type, text }
    case 'tool-input':
      return { type: 'tool-input', callId: event.callId, delta: text }
    case 'tool-progress':
      return { type: 'tool-progress', callId: event.callId, event: withText(event.event as Delta, text) }
  }
}
