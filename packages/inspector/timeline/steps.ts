import type { RoundView } from 'millrace/view'
import type { Selection } from '../state.ts'
import type { BarKind, Frame, MarkKind, Part, Step } from './chart.ts'
import { clamp } from './spans.ts'

/** Something that happened, before it is known what it belongs to. */
export interface Told<Kind extends string> {
  readonly kind: Kind
  readonly what: string
  readonly start: number
  /** Absent for what takes no time. */
  readonly end?: number
  /** What went wrong in it. */
  readonly trouble?: string | undefined
  readonly more?: readonly string[]
}

export type Phase = Told<BarKind> & { readonly end: number }

export function stepsOf<Kind extends string>(
  key: string | number,
  of: Selection | undefined,
  things: readonly (Told<Kind> & { readonly open?: boolean })[],
): Step<Kind>[] {
  return things.map(({ kind, what, start, end = start, trouble, more = [], open = false }, index) => ({
    key: `${key}.${index}`,
    of,
    kind,
    what,
    start,
    end,
    open,
    bad: trouble !== undefined,
    more: trouble ? [trouble, ...more] : more,
  }))
}

export interface Owner {
  readonly of: Selection
  readonly name: string
  readonly round: RoundView
  readonly seq: number
  readonly start: number
  readonly end: number
  /** Undefined while it goes on. */
  readonly endedAt: number | undefined
  readonly phases: readonly Phase[]
  readonly marks: readonly Told<MarkKind>[]
}

/** A round or a call. None of its phases begins before the one before it has ended, or goes on after the end of it all. */
export function partOf(
  { of, name, round, seq, start, end, endedAt, phases, marks }: Owner,
  frame: Frame,
): Part {
  const takenBack = round.retracted && `taken back: ${round.retracted.reason}`
  let from = start
  const bars = phases.map((phase) => {
    const start = clamp(phase.start, from, end)
    from = clamp(phase.end, start, end)
    const open = frame.live && endedAt === undefined && from === frame.end
    return { ...phase, start, end: from, open, trouble: phase.trouble ?? takenBack }
  })
  return { name, endedAt, bars: stepsOf(seq, of, bars), marks: stepsOf(`${seq} mark`, of, marks) }
}

/** When nobody works on a run, nothing of it goes on. */
export function workedUntil(start: number, end: number, { rests }: Frame): number {
  const rest = rests.find((rest) => rest.end > start)
  return rest && rest.start >= start ? Math.min(end, rest.start) : end
}
