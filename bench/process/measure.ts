export interface Measured {
  readonly cpuUs: number
  readonly wallMs: number
}

/**
 * What the whole process spends while this runs: its own code, the collector, the compiler, the system's calls. Nothing is collected
 * before it: with the last objects of their kind goes the code that was compiled for them, and everything would be cold again.
 */
export async function measure(run: () => Promise<void>): Promise<Measured> {
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

/** At least once, and again until so much time has passed. Gives how often that was. */
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

/** The value below which so much of all of them lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** The most memory that the process has had so far, in MB. */
export const peakMemory = () => process.resourceUsage().maxRSS / 1024
