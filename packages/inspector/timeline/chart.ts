import type { Entry } from 'millrace/client'
import type { Selection } from '../state.ts'
import type { Axis } from './axis.ts'
import type { Span } from './spans.ts'

/**
 * What takes time:
 * - `wait`: for the model's first word
 * - `pause`: before a request is sent again
 * - `think`, `text`: the model thinks, writes
 * - `input`: the arguments of a call arrive
 * - `turn`: a call waits until it may run; `person`: until somebody has decided
 * - `run`: a call runs
 */
export type BarKind = 'wait' | 'pause' | 'think' | 'text' | 'input' | 'turn' | 'person' | 'run'

/** What happens in a moment: the first token, something heard or reported, what was told is broken off or taken back. */
export type MarkKind = 'first' | 'heard' | 'report' | 'broken'

/** What concerns all lanes: a long time without work, this page not connected, the run in other hands. */
export type BandKind = 'fold' | 'away' | 'moment' | 'tick'

/** Something that happened, as it is drawn, named and listed. What takes no time ends when it begins. */
export interface Step<Kind extends string = BarKind | MarkKind | BandKind> extends Span {
  /** One of its own in the chart. */
  readonly key: string
  readonly kind: Kind
  /** "lookup_order running" */
  readonly what: string
  /** What went wrong in it, and what else is to be said. */
  readonly more: readonly string[]
  readonly bad: boolean
  /** It goes on. */
  readonly open: boolean
  /** Where there is more to be read about it. */
  readonly of: Selection | undefined
}

export type Bar = Step<BarKind>
type Mark = Step<MarkKind>

/** A round or a call. */
export interface Part {
  readonly name: string
  readonly endedAt: number | undefined
  /** In order, and at least one. */
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
}

/** Parts that do not overlap. */
export interface Lane {
  readonly name: string
  readonly isRound: boolean
  /** All that is in it was taken back. */
  readonly retracted: boolean
  /** In order, and never two at once. */
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
}

/** How a run went, ready to be drawn at any size. */
export interface Chart extends Span {
  readonly live: boolean
  readonly axis: Axis
  readonly lanes: readonly Lane[]
  readonly bands: readonly Step<BandKind>[]
}

/** What is known of the whole run when one of its parts is laid out. */
export interface Frame extends Span {
  readonly live: boolean
  /** Between two legs nobody worked on it: the process was lost, or it waited for a person. In order. */
  readonly rests: readonly Rest[]
  /** The entries of each `<type> <callId>`: of a call itself only its last start is known. */
  readonly told: ReadonlyMap<string, readonly Entry[]>
}

export interface Rest extends Span {
  readonly lost: boolean
}
