import type { Entry } from 'millrace/client'

export type EventKind = 'text' | 'tools' | 'rounds' | 'people' | 'runs'

/** The first match counts. Event types that this page does not know belong to `runs`. */
const typesOf: Readonly<Record<EventKind, RegExp>> = {
  text: /^(text|reasoning|part)/,
  tools: /^(tool|provider)-/,
  rounds: /^(round|summary)/,
  people: /^(input|approval|stop|rewind|playback|feedback|title)/,
  runs: /^/,
}

export const eventKinds = Object.keys(typesOf) as readonly EventKind[]

export function kindOf(type: string): EventKind {
  return eventKinds.find((kind) => typesOf[kind].test(type)) ?? 'runs'
}

export interface EventFilter {
  /** Empty: all kinds. */
  readonly kinds: readonly EventKind[]
  /** Searched anywhere in the event, ignoring case. Empty: all events. */
  readonly text: string
  /** A range of numbers, inclusive. */
  readonly from: number
  readonly to: number
}

export const noFilter: EventFilter = { kinds: [], text: '', from: 1, to: Infinity }

export function passes({ kinds, text, from, to }: EventFilter): (entry: Entry) => boolean {
  const wanted = text.toLowerCase()
  const matches = (value: unknown) => String(value).toLowerCase().includes(wanted)
  /** Recursive, since searching the event as JSON would copy each result. */
  const holds = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return matches(value)
    if (Array.isArray(value)) return value.some(holds)
    return Object.entries(value).some(([key, one]) => matches(key) || holds(one))
  }
  return ({ seq, from: first = seq, event }) =>
    seq >= from &&
    first <= to &&
    (kinds.length === 0 || kinds.includes(kindOf(event.type))) &&
    (wanted === '' || matches(seq) || holds(event))
}
