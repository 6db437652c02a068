import type { Wire } from '../contract.ts'
import { median } from '../process/measure.ts'
import type { Measured } from './measuring.ts'
import type { WayName } from './ways.ts'
import { base } from './ways.ts'
import type { WorkName } from './works.ts'

/** What one way of looking on costs at one work over one wire. */
export interface Figure {
  readonly work: WorkName
  readonly wire: Wire
  readonly way: WayName
  /** CPU time of one unit in µs, the median of all sets. */
  readonly cpu: number
  /** What it takes more than the base of the same set, as a part of that; absent for the base itself. */
  readonly more?: Estimate
  /** CPU time to send all metrics, in ms; absent if there are none. */
  readonly flushMs?: number
}

export interface Estimate {
  readonly median: number
  /** The median of all sets that there could be lies between these, nineteen times out of twenty. */
  readonly low: number
  readonly high: number
  readonly values: readonly number[]
}

export function figureOf(
  place: Pick<Figure, 'work' | 'wire' | 'way'>,
  sets: readonly Measured[],
): Figure | undefined {
  const cpus = sets.flatMap(({ cpu }) => cpu[place.way] ?? [])
  if (cpus.length === 0) return undefined
  const more = sets.flatMap(({ cpu: { [place.way]: own, [base]: plain } }) =>
    own === undefined || plain === undefined ? [] : [own / plain - 1],
  )
  const flushes = sets.flatMap(({ flush }) => flush[place.way] ?? [])
  return {
    ...place,
    cpu: median(cpus),
    ...(place.way !== base && { more: estimate(more) }),
    ...(flushes.length > 0 && { flushMs: median(flushes) }),
  }
}

/** The interval of the sign test, which asks nothing of how the values are spread. Of fewer than six, it is all of them. */
export function estimate(values: readonly number[]): Estimate {
  const sorted = values.toSorted((a, b) => a - b)
  const out = leftOut(sorted.length)
  const [low, high] = [sorted[out], sorted[sorted.length - 1 - out]]
  return { median: median(values), low: low ?? Number.NaN, high: high ?? Number.NaN, values }
}

/** So many of the least and of the most may be left out: as many heads or fewer, of so many coins, come once in forty times. */
function leftOut(count: number): number {
  let chance = 0.5 ** count
  let sum = chance
  let out = 0
  while (sum <= 0.025) {
    out++
    chance *= (count - out + 1) / out
    sum += chance
  }
  return Math.max(0, out - 1)
}
