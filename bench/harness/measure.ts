/**
 * What the whole process spends while this runs: its code, garbage collection, compilation, system
 * calls. No collection before it: that could also discard code that was compiled for the last
 * objects of a kind, and everything would be cold again.
 */
export async function measure(run: () => Promise<void>): Promise<{ cpuUs: number; wallMs: number }> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const wallMs = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { cpuUs: user + system, wallMs }
}

export async function times(count: number, run: () => Promise<void>): Promise<void> {
  for (let n = 0; n < count; n++) await run()
}

/** Runs it at least once, and again until the time has passed. Returns how often. */
export async function during(ms: number, run: () => Promise<void>): Promise<number> {
  const end = performance.now() + ms
  let count = 0
  do {
    await run()
    count++
  } while (performance.now() < end)
  return count
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The value below which this part of all values lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** One figure over all repetitions. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/** Rounds to significant digits. */
export const rounded = (values: readonly number[], digits: number) =>
  values.map((value) => Number(value.toPrecision(digits)))

export const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** The peak memory of the process so far, in MB. */
export const peakMemory = () => process.resourceUsage().maxRSS / 1024

/** Delays, counted in steps of a tenth of a millisecond: memory does not grow with their number. */
export interface Histogram {
  add(ms: number): void
  /** For another process. */
  counts(): Counts
}

export interface Counts {
  readonly max: number
  /** Steps with their counts, in order. */
  readonly steps: readonly (readonly [step: number, count: number])[]
}

const stepsPerMs = 10
/** Longer delays are counted as this long; only `max` keeps the real value. */
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

/** Delays in milliseconds. */
export interface Delays {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Undefined if nothing was counted. */
export function delaysIn({ max, steps }: Counts): Delays | undefined {
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

export function delaysOf(values: readonly number[]): Delays | undefined {
  if (values.length === 0) return undefined
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), max: quantile(values, 1) }
}
