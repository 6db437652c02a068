import type { Option } from './options.ts'
import type { Table } from './report.ts'

/** How large a run is: the one of the README, a quick look, or just enough to see that it works. */
export type Mode = 'full' | 'quick' | 'tiny'

/** What `results.json` holds under the name of a part. */
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

/** One thing that is measured. The harness reads its options, runs it, prints and keeps its results, and judges them. */
export interface Part<Size, Options extends object, Results extends Saved> {
  readonly name: string
  readonly title: string
  /** For the help: what it measures, and how long that takes. */
  readonly about: string
  /** Commands that a run needs before it, but not a tiny one. */
  readonly prepare?: readonly string[]
  readonly sizes: Readonly<Record<Mode, Size>>
  readonly options: { readonly [Name in keyof Options]: Option<Options[Name]> }
  /** Throws `Misuse` if something is missing on this machine. */
  run(context: RunContext<Size, Options>): Promise<Omit<Results, keyof Saved> & Pick<Results, 'packages'>>
  /** What is told beside the date of a run. */
  details?(results: Results): readonly string[]
  tables(results: Results): readonly Table[]
  /** What is only told in the terminal. */
  remarks?(results: Results): readonly string[]
  /** What went wrong; anything fails the run. */
  faults(results: Results): readonly string[]
  /** Puts what was measured into what was kept of a run of the same mode. Without it, all of that is replaced. */
  merge?(before: Results, now: Results): Results
  /** More files to keep, by their name. */
  files?(results: Results): Readonly<Record<string, string>>
}

// Parts differ in what they measure; the harness hands each only what is its own.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type AnyPart = Part<any, any, any>
