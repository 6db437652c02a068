import type { Wire } from '../contract.ts'
import type { Mode } from '../harness/part.ts'

export const allWires: readonly Wire[] = ['chat', 'responses', 'messages']

export type Figures = Readonly<Record<string, number>>

/** A figure; smaller is better. */
export interface Figure {
  readonly key: string
  readonly label: string
  readonly unit: 'µs' | 'ms' | 'KB' | 'MB' | '%' | '×' | ''
  /** Whether it is compared with the reference. */
  readonly ratio?: boolean
}

/** One size of a workload. Each is measured in its own process. */
export interface Case {
  /** The size in words. */
  readonly name: string
  readonly size: Readonly<Record<string, number>>
  /** A client that takes longer is killed and reported as such. */
  readonly limitMs: number
}

/** What a client process does. */
export interface Job {
  readonly work: string
  /** A file in `clients/`, or a path. */
  readonly client: string
  readonly wire: Wire
  /** The server. */
  readonly url: string
  readonly case: Case
  /** For `import`: the module to import, and whether to measure its size. */
  readonly module?: string
  readonly bundle?: boolean
}

export interface Workload {
  readonly name: string
  readonly title: string
  /** What a client must be able to do. */
  readonly needs: 'answer' | 'loop' | 'partials' | 'imports'
  /** Clients are sorted by the first one. */
  readonly figures: readonly Figure[]
  /** The columns of its table. Rows are clients, and their wires unless those are the columns. */
  readonly columns: 'wires' | 'cases' | 'figures'
  /** How often it is measured, and whether on all wires of a client or only on its first one. */
  readonly repeat: Readonly<Record<Mode, number>>
  readonly wires: Readonly<Record<Mode, 'all' | 'one'>>
  /** A quick run leaves plain clients (floors, raw streams) out. */
  readonly briefly: boolean
  /** Only Millrace and the floors are measured. */
  readonly onlyFloors?: boolean
  cases(mode: Mode): readonly Case[]
  /** Runs in the client's process. Throws if the result is wrong. */
  run(job: Job): Promise<Figures>
}

/** For workloads that have one size in each mode. */
export function oneCase<Size extends Readonly<Record<string, number>>>(
  limitMs: number,
  sizes: Readonly<Record<Mode, Size>>,
  name: (size: Size) => string,
): Workload['cases'] {
  return (mode) => [{ name: name(sizes[mode]), size: sizes[mode], limitMs }]
}

/** A number that the case must have. */
export function sizeOf({ case: { size } }: Job, key: string): number {
  const value = size[key]
  if (value === undefined) throw new Error(`the case has no "${key}"`)
  return value
}

/** The outcome of a job. */
export type Outcome =
  | { readonly type: 'done'; readonly figures: Record<string, number> }
  /** The client cannot do this, and says why. */
  | { readonly type: 'left-out'; readonly reason: string }
  /** The client threw, or did not receive what was sent. */
  | { readonly type: 'failed'; readonly reason: string }
  /** Killed by the runner. */
  | { readonly type: 'over'; readonly limitMs: number }

/** Thrown when a client does not support a workload. */
export class NotOffered extends Error {}
