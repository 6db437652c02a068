import type { RunEvent } from './events.ts'

/** A delta event, bare or inside the progress of a sub-agent's call. */
export type Delta = Extract<RunEvent, { type: 'text' | 'reasoning' | 'tool-input' | 'tool-progress' }>

/** Joining this many pieces at a time keeps the waste per piece small without copying any text more than twice. */
const piecesToJoin = 256

/** A delta that is still growing, in pieces: a string grown by `+=` would keep a node of 32 bytes for each. */
export interface Growing {
  readonly first: Delta
  latest: RunEvent
  latestLength: number
  length: number
  readonly pieces: string[]
  /** How many pieces at the front have been joined already. */
  joined: number
}

export function beginGrowing(first: Delta, text: string): Growing {
  const { length } = text
  return { first, latest: first, latestLength: length, length, pieces: [text], joined: 0 }
}

export function grow(delta: Growing, event: RunEvent, text: string) {
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
export function textFrom(pieces: readonly string[], length: number): string {
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
 * How a delta stands to one that is growing: it `goes-on` with it; it `follows` it, since words and reasoning of one voice must
 * keep their order; or it has nothing to do with it, and may as well be read before or after.
 */
export function relate(growing: RunEvent, event: RunEvent): 'goes-on' | 'follows' | 'unrelated' {
  const isVoice = event.type === 'text' || event.type === 'reasoning'
  if (isVoice && (growing.type === 'text' || growing.type === 'reasoning'))
    return growing.type === event.type ? 'goes-on' : 'follows'
  if (event.type === 'tool-input' && growing.type === 'tool-input')
    return growing.callId === event.callId ? 'goes-on' : 'unrelated'
  if (event.type !== 'tool-progress' || growing.type !== 'tool-progress') return 'unrelated'
  const inside = growing.callId === event.callId && growing.event && event.event
  return inside ? relate(growing.event, event.event as RunEvent) : 'unrelated'
}

export function joinedEvent({ first, pieces }: Growing): RunEvent {
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
