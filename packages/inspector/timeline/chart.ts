import type { Entry } from 'millrace/client'
import type { Selection } from '../state.ts'
import type { Axis } from './axis.ts'
import type { Span } from './spans.ts'

/**
 * Steps with a duration:
 * - `wait`: waiting for the first token
 * - `pause`: the delay before a retry
 * - `think`, `text`: the model generates reasoning, text
 * - `input`: the arguments of a call arrive
 * - `turn`: a call is queued; `person`: a call waits for a decision
 * - `run`: a call runs
 */
export type BarKind = 'wait' | 'pause' | 'think' | 'text' | 'input' | 'turn' | 'person' | 'run'

/** Steps without a duration: first token, input, progress report, interruption or retraction. */
export type MarkKind = 'first' | 'input' | 'report' | 'broken'

/** Steps across all lanes: folded idle time, outage of this page, resume of the run, tick. */
export type BandKind = 'fold' | 'offline' | 'resume' | 'tick'

/** Something that happened, as drawn, labeled and listed. Without a duration, `end` is `start`. */
export interface Step<Kind extends string = BarKind | MarkKind | BandKind> extends Span {
  /** Unique in the chart. */
  readonly key: string
  readonly kind: Kind
  /** "lookup_order running" */
  readonly what: string
  /** The problem, if any, and further details. */
  readonly more: readonly string[]
  readonly bad: boolean
  /** Whether it is still running. */
  readonly open: boolean
  /** What to select for its details. */
  readonly of: Selection | undefined
}

export type Bar = Step<BarKind>
type Mark = Step<MarkKind>

/** The steps of a round or a call. */
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
  /** Whether its round was retracted. */
  readonly retracted: boolean
  /** In order, without overlaps. */
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
}

/** A run laid out over time, to draw at any size. */
export interface Chart extends Span {
  readonly live: boolean
  readonly axis: Axis
  readonly lanes: readonly Lane[]
  readonly bands: readonly Step<BandKind>[]
}

/** The facts about the run that the layout of its parts needs. */
export interface Frame extends Span {
  readonly live: boolean
  /** The times between two legs: the process was lost, or the run waited for a user. In order. */
  readonly rests: readonly Rest[]
  /** The entries of each `<type> <callId>`, since a `CallView` has only its last start. */
  readonly callEvents: ReadonlyMap<string, readonly Entry[]>
}

export interface Rest extends Span {
  readonly lost: boolean
}
