import type { RunEvent } from '../protocol/index.ts'

/**
 * The events of a run in memory, for any number of readers at any pace.
 *
 * Deltas that follow each other are joined as they come in, so the log holds the text once and little besides, whoever
 * reads it or not. A reader that keeps up gets each delta as it was; one that is behind gets the rest of it in one piece.
 */
export interface EventLog {
  /** Constant cost, whatever came before and however many have read it. Throws after `close`. */
  push(event: RunEvent): void
  /** Ends the delta that is growing, so that `onSettled` has been told of everything there is. */
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

/** The delta that is still growing, in pieces: a string grown by `+=` would keep a node of 32 bytes for each. */
interface Growing {
  readonly first: Delta
  latest: RunEvent
  length: number
  latestLength: number
  readonly pieces: string[]
  /** How many pieces at the front have been joined already. */
  joined: number
}

/** `onSettled` is told of each event once, deltas as long as they became. */
export function eventLog(onSettled: (event: RunEvent) => void): EventLog {
  const events: RunEvent[] = []
  // Only readers that wait for something are here: one that was given up costs nothing.
  const waiting = new Set<() => void>()
  let growing: Growing | undefined
  let closed = false

  function settle() {
    if (!growing) return
    const event =
      growing.pieces.length === 1 ? growing.latest : withText(growing.first, growing.pieces.join(''))
    growing = undefined
    events.push(event)
    onSettled(event)
  }

  function wakeReaders() {
    for (const answer of waiting) answer()
  }

  return {
    push(event) {
      if (closed) throw new Error(`the run is over, but got '${event.type}'`)
      const text = textOfDelta(event)
      if (text === undefined) {
        settle()
        events.push(event)
        onSettled(event)
      } else if (growing && continues(growing.first, event)) {
        grow(growing, event, text)
      } else {
        settle()
        growing = {
          first: event as Delta,
          latest: event,
          length: text.length,
          latestLength: text.length,
          pieces: [text],
          joined: 0,
        }
      }
      wakeReaders()
    },

    settle,

    close() {
      settle()
      closed = true
      wakeReaders()
    },

    snapshot: () => (growing ? [...events, withText(growing.first, growing.pieces.join(''))] : [...events]),

    read() {
      let index = 0
      // How much of the event at `index` has been handed out already, while it was growing.
      let offset = 0
      let over = false
      // More than one only if somebody calls `next` again without waiting.
      const asked: ((result: IteratorResult<RunEvent, undefined>) => void)[] = []

      function take(): RunEvent | undefined {
        while (index < events.length) {
          const event = events[index++] as RunEvent
          const taken = offset
          offset = 0
          if (taken === 0) return event
          const text = textOfDelta(event) as string
          if (taken < text.length) return withText(event as Delta, text.slice(taken))
        }
        if (!growing || offset === growing.length) return undefined
        const event =
          offset === growing.length - growing.latestLength
            ? growing.latest
            : withText(growing.first, textFrom(growing.pieces, growing.length - offset))
        offset = growing.length
        return event
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

function grow(growing: Growing, event: RunEvent, text: string) {
  const { pieces } = growing
  pieces.push(text)
  growing.latest = event
  growing.latestLength = text.length
  growing.length += text.length
  if (pieces.length - growing.joined === piecesToJoin) {
    pieces.push(pieces.splice(growing.joined).join(''))
    growing.joined++
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

function continues(before: RunEvent, event: RunEvent): boolean {
  if (before.type !== event.type) return false
  if (event.type === 'tool-input') return event.callId === (before as typeof event).callId
  if (event.type !== 'tool-progress') return true
  const outer = before as typeof event
  return (
    event.callId === outer.callId && !!outer.event && !!event.event && continues(outer.event, event.event)
  )
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
