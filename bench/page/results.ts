import { median } from '../process/measure.ts'
import type { Mode } from './size.ts'

/** One figure over all runs. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** Something that was measured. The one named `floor` is what the others of its table are held against. */
export interface Row {
  readonly name: string
  readonly title: string
  readonly figures: Readonly<Record<string, Spread>>
  /** Why there are no figures. */
  readonly leftOut?: string
}

export interface Table {
  readonly name: 'size' | 'writing' | 'opening' | 'following'
  readonly title: string
  readonly rows: readonly Row[]
}

/** What `results.json` holds. */
export interface PageResults {
  readonly version: 1
  readonly date: string
  readonly mode: Mode
  readonly node: string
  readonly chromium: string
  readonly machine: string
  readonly packages: Readonly<Record<string, string>>
  readonly tables: readonly Table[]
}

/** What each run has measured, as one row. */
export function rowOf(name: string, title: string, runs: readonly Readonly<Record<string, number>>[]): Row {
  const keys = Object.keys(runs[0] ?? {})
  const spreads = keys.map((key) => [key, spreadOf(runs.map((run) => run[key] ?? Number.NaN))] as const)
  return { name, title, figures: Object.fromEntries(spreads) }
}

function spreadOf(values: readonly number[]): Spread {
  const digits = values.map((value) => Number(value.toPrecision(4)))
  return { median: median(digits), low: Math.min(...digits), high: Math.max(...digits) }
}
