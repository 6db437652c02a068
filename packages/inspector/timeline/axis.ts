import type { Span } from './spans.ts'
import { merged, total, without } from './spans.ts'

/**
 * Time as it is drawn and replayed: places on it are milliseconds too, counted from the beginning of the run, but the long
 * times in which nothing happened have next to no room.
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
/** The room of a fold, as a part of all that is not folded; and of all folds together. */
const foldShare = 0.08
const foldsShare = 0.4

export function foldedAxis({ start, end, busy }: Span & { readonly busy: readonly Span[] }): Axis {
  const work = merged(busy)
  const limit = Math.max(longestIdleMs, total(work) * longestIdleShare)
  const folds = without({ start, end }, work).filter((gap) => gap.end - gap.start > limit)
  const foldWidth = Math.max(1, end - start - total(folds)) * Math.min(foldShare, foldsShare / folds.length)
  // Between two corners time and place go on evenly.
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
  // Even what took no time has a place.
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
  // Before the first, or, as nothing was found and -1 is the last, after it.
  if (!last) return next[to]
  return last[to] + ((value - last[from]) / (next[from] - last[from])) * (next[to] - last[to])
}
