import type { Entry } from 'millrace/client'

export type EventKind = 'text' | 'tools' | 'rounds' | 'people' | 'runs'

/** The first that fits counts. An event that this page does not know yet belongs to a run. */
const typesOf: Readonly<Record<EventKind, RegExp>> = {
  text: /^(text|reasoning|part)/,
  tools: /^(tool|provider)-/,
  rounds: /^(round|summary)/,
  people: /^(input|approval|stop|heard)/,
  runs: /^/,
}

export const eventKinds = Object.keys(typesOf) as readonly EventKind[]

export function kindOf(type: string): EventKind {
  return eventKinds.find((kind) => typesOf[kind].test(type)) ?? 'runs'
}

export interface EventFilter {
  /** All of them if empty. */
  readonly kinds: readonly EventKind[]
  /** Somewhere in the event, in capitals or not. All if empty. */
  readonly text: string
  /** Only what stands between these numbers, both included. */
  readonly from: number
  readonly to: number
}

export const noFilter: EventFilter = { kinds: [], text: '', from: 1, to: Infinity }

export function passes({ kinds, text, from, to }: EventFilter): (entry: Entry) => boolean {
  const wanted = text.toLowerCase()
  const matches = (value: unknown) => String(value).toLowerCase().includes(wanted)
  /** Piece by piece: to write it all out as JSON first would cost a copy of each result. */
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
