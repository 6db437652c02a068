import type { RunEvent } from './events.ts'

/** A delta event, on its own or inside the `tool-progress` of a call that runs a sub-agent. */
export type Delta = Extract<RunEvent, { type: 'text' | 'reasoning' | 'tool-input' | 'tool-progress' }>

/**
 * Joining this many pieces at a time keeps the overhead per piece small and copies no text more
 * than twice.
 */
const piecesToJoin = 256

/**
 * A delta that is still growing, in pieces: a string grown by `+=` would keep a 32-byte node for
 * each one.
 */
export interface GrowingDelta {
  readonly first: Delta
  latest: RunEvent
  latestLength: number
  length: number
  readonly pieces: string[]
  /** How many pieces at the front are joined already. */
  joined: number
}

export function startDelta(first: Delta, text: string): GrowingDelta {
  const { length } = text
  return { first, latest: first, latestLength: length, length, pieces: [text], joined: 0 }
}

export function growDelta(delta: GrowingDelta, event: RunEvent, text: string) {
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

/** The last `length` characters of text in pieces. The cost depends on `length` alone. */
export function lastChars(pieces: readonly string[], length: number): string {
  let first = pieces.length
  let covered = 0
  while (covered < length) covered += (pieces[--first] as string).length
  return pieces
    .slice(first)
    .join('')
    .slice(covered - length)
}

export function textOfDelta(event: RunEvent): string | undefined {
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
 * How a delta relates to one that is still growing: it `continues` it; it `follows` it, since text
 * and reasoning of one model must keep their order; or it is `unrelated`, and the order between
 * them does not matter.
 */
export function relate(growing: RunEvent, event: RunEvent): 'continues' | 'follows' | 'unrelated' {
  const isModelText = event.type === 'text' || event.type === 'reasoning'
  if (isModelText && (growing.type === 'text' || growing.type === 'reasoning'))
    return growing.type === event.type ? 'continues' : 'follows'
  if (event.type === 'tool-input' && growing.type === 'tool-input')
    return growing.callId === event.callId ? 'continues' : 'unrelated'
  if (event.type !== 'tool-progress' || growing.type !== 'tool-progress') return 'unrelated'
  const inside = growing.callId === event.callId && growing.event && event.event
  return inside ? relate(growing.event, event.event as RunEvent) : 'unrelated'
}

export function joinedEvent({ first, pieces }: GrowingDelta): RunEvent {
  return withText(first, pieces.join(''))
}

export function withText(event: Delta, text: string): RunEvent {
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
