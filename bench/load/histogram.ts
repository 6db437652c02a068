/** Delays, counted in steps of a tenth of a millisecond: millions of them take no more room than a few. */
export interface Histogram {
  add(ms: number): void
  /** As they go to another process. */
  counts(): Counts
}

export interface Counts {
  readonly max: number
  /** A step and how many fell into it, in order. */
  readonly steps: readonly (readonly [step: number, count: number])[]
}

const stepsPerMs = 10
/** What takes longer counts as this long; the longest is kept as it is. */
const mostMs = 60_000

export function histogram(): Histogram {
  const all = new Uint32Array(mostMs * stepsPerMs)
  let max = 0
  return {
    add(ms) {
      if (ms > max) max = ms
      const step = Math.max(0, Math.min(all.length - 1, Math.floor(ms * stepsPerMs)))
      all[step] = (all[step] ?? 0) + 1
    },
    counts() {
      const steps: [number, number][] = []
      for (const [step, count] of all.entries()) if (count > 0) steps.push([step, count])
      return { max, steps }
    },
  }
}

export interface Spread {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Undefined if nothing was counted. */
export function spreadOf({ max, steps }: Counts): Spread | undefined {
  const total = steps.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return undefined
  function below(part: number): number {
    let left = total * part
    for (const [step, count] of steps) {
      left -= count
      if (left <= 0) return (step + 1) / stepsPerMs
    }
    return max
  }
  return { p50: below(0.5), p99: below(0.99), max }
}
