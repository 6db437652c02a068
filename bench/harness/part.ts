import type { Option } from './options.ts'
import type { Table } from './report.ts'

/** How large a run is: the one in the README, a quick one, or just enough to see that it works. */
export type Mode = 'full' | 'quick' | 'tiny'

/** What `results.json` holds for a part. */
export interface Saved {
  readonly date: string
  readonly mode: Mode
  readonly node: string
  readonly machine: string
  readonly packages?: Readonly<Record<string, string>>
}

export interface RunContext<Size, Options> {
  readonly mode: Mode
  readonly size: Size
  readonly options: Options
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  readonly onStep: (step: string) => void
}

/**
 * One benchmark. The harness reads its options, runs it, prints and saves its results, and fails if
 * it reports faults.
 */
export interface Part<Size, Options extends object, Results extends Saved> {
  readonly name: string
  readonly title: string
  /** For the help: what it measures and how long that takes. */
  readonly about: string
  /** Commands to run first, except in tiny mode. */
  readonly prepare?: readonly string[]
  readonly sizes: Readonly<Record<Mode, Size>>
  readonly options: { readonly [Name in keyof Options]: Option<Options[Name]> }
  /** Parts that take the place of this one, by option and value. They have the same options. */
  readonly instead?: Readonly<Record<string, Readonly<Record<string, AnyPart>>>>
  /** Throws `Misuse` if something is missing on this machine. */
  run(context: RunContext<Size, Options>): Promise<Omit<Results, keyof Saved> & Pick<Results, 'packages'>>
  /** Shown after the date of a run. */
  details?(results: Results): readonly string[]
  tables(results: Results): readonly Table[]
  /** Shown only in the terminal. */
  remarks?(results: Results): readonly string[]
  /** What went wrong. Any fault fails the run. */
  faults(results: Results): readonly string[]
  /**
   * Merges new results into saved ones of the same mode. Without it, they replace the saved ones.
   */
  merge?(before: Results, now: Results): Results
  /** More files to save, by name. */
  files?(results: Results): Readonly<Record<string, string>>
}

// Parts differ in what they measure; the harness passes each only its own values.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type AnyPart = Part<any, any, any>
