import type { RoundView } from 'millrace/view'
import type { Selection } from '../state.ts'
import type { BarKind, Frame, MarkKind, Part, Step } from './chart.ts'
import { clamp } from './spans.ts'

/** A step without what it belongs to. */
export interface StepInput<Kind extends string> {
  readonly kind: Kind
  readonly what: string
  readonly start: number
  /** Absent for a step without duration. */
  readonly end?: number
  /** What failed. */
  readonly problem?: string | undefined
  readonly more?: readonly string[]
}

export type Phase = StepInput<BarKind> & { readonly end: number }

export function stepsOf<Kind extends string>(
  key: string | number,
  of: Selection | undefined,
  things: readonly (StepInput<Kind> & { readonly open?: boolean })[],
): Step<Kind>[] {
  return things.map(({ kind, what, start, end = start, problem, more = [], open = false }, index) => ({
    key: `${key}.${index}`,
    of,
    kind,
    what,
    start,
    end,
    open,
    bad: problem !== undefined,
    more: problem ? [problem, ...more] : more,
  }))
}

export interface PartInput {
  readonly of: Selection
  readonly name: string
  readonly round: RoundView
  readonly seq: number
  readonly start: number
  readonly end: number
  /** Undefined while it is running. */
  readonly endedAt: number | undefined
  readonly phases: readonly Phase[]
  readonly marks: readonly StepInput<MarkKind>[]
}

/** A round or a call. Its phases are clamped so that they do not overlap or exceed its end. */
export function partOf(
  { of, name, round, seq, start, end, endedAt, phases, marks }: PartInput,
  frame: Frame,
): Part {
  const retractedNote = round.retracted && `retracted: ${round.retracted.reason}`
  let from = start
  const bars = phases.map((phase) => {
    const start = clamp(phase.start, from, end)
    from = clamp(phase.end, start, end)
    const open = frame.live && endedAt === undefined && from === frame.end
    return { ...phase, start, end: from, open, problem: phase.problem ?? retractedNote }
  })
  return { name, endedAt, bars: stepsOf(seq, of, bars), marks: stepsOf(`${seq} mark`, of, marks) }
}

/** Cuts a span at the start of the next rest of the run. */
export function workedUntil(start: number, end: number, { rests }: Frame): number {
  const rest = rests.find((rest) => rest.end > start)
  return rest && rest.start >= start ? Math.min(end, rest.start) : end
}
