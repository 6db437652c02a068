import type { Span } from './spans.ts'
import { merged, total, without } from './spans.ts'

/**
 * The time axis of the chart and the replay. Positions are milliseconds from the start of the run,
 * but long idle times are folded: they take almost no space.
 */
export interface Axis {
  readonly start: number
  readonly length: number
  readonly folds: readonly Span[]
  xOf(at: number): number
  atOf(x: number): number
}

const longestIdleMs = 10_000
const longestIdleShare = 0.25
/** The width of one fold, and of all folds, as a share of the time that is not folded. */
const foldShare = 0.08
const foldsShare = 0.4

export function foldedAxis({ start, end, busy }: Span & { readonly busy: readonly Span[] }): Axis {
  const work = merged(busy)
  const limit = Math.max(longestIdleMs, total(work) * longestIdleShare)
  const folds = without({ start, end }, work).filter((gap) => gap.end - gap.start > limit)
  const foldWidth = Math.max(1, end - start - total(folds)) * Math.min(foldShare, foldsShare / folds.length)
  // Time and position are linear between two corners.
  const corners: Corner[] = [[start, 0]]
  let x = 0
  let from = start
  for (const fold of folds) {
    x += fold.start - from
    corners.push([fold.start, x])
    x += foldWidth
    corners.push([fold.end, x])
    from = fold.end
  }
  // A run that took no time still has a width.
  const length = Math.max(1, x + (end - from))
  corners.push([Math.max(end, start + 1), length])
  return {
    start,
    length,
    folds,
    xOf: (at) => between(corners, at, 0, 1),
    atOf: (place) => between(corners, place, 1, 0),
  }
}

type Corner = readonly [at: number, x: number]

function between(corners: readonly Corner[], value: number, from: 0 | 1, to: 0 | 1): number {
  const index = corners.findIndex((corner) => corner[from] >= value)
  const next = corners.at(index) as Corner
  const last = corners[index - 1]
  // Before the first corner, or after the last one: `findIndex` returned -1, and `at(-1)` is the
  // last corner.
  if (!last) return next[to]
  return last[to] + ((value - last[from]) / (next[from] - last[from])) * (next[to] - last[to])
}
