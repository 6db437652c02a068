import type { Wire } from '../contract.ts'
import type { Mode } from '../harness/part.ts'

export const allWires: readonly Wire[] = ['chat', 'responses', 'messages']

export type Figures = Readonly<Record<string, number>>

/** What is measured, smaller being better. */
export interface Figure {
  readonly key: string
  readonly label: string
  readonly unit: 'µs' | 'ms' | 'KB' | 'MB' | '×' | ''
  /** Whether it is held against the reference. */
  readonly ratio?: boolean
}

/** One size of a work. Each is measured in a process of its own. */
export interface Case {
  /** How large, in words. */
  readonly name: string
  readonly size: Readonly<Record<string, number>>
  /** A client that takes longer is ended, and reported so. */
  readonly limitMs: number
}

/** What a client's process is told to do. */
export interface Job {
  readonly work: string
  /** A file in `clients/`, or a path. */
  readonly client: string
  readonly wire: Wire
  /** The server. */
  readonly url: string
  readonly case: Case
  /** For `import`: the module to import, and whether to find out its size. */
  readonly module?: string
  readonly bundle?: boolean
}

export interface Work {
  readonly name: string
  readonly title: string
  /** What a client must be able to do for it. */
  readonly needs: 'answer' | 'loop' | 'partials' | 'imports'
  /** The first one is what clients are sorted by. */
  readonly figures: readonly Figure[]
  /** What the columns of its table are; the rows are clients, and their wires if those are not the columns. */
  readonly columns: 'wires' | 'cases' | 'figures'
  /** How often it is measured, and whether on all wires of a client or on its first one. */
  readonly repeat: Readonly<Record<Mode, number>>
  readonly wires: Readonly<Record<Mode, 'all' | 'one'>>
  /** A quick run leaves plain clients (floors, raw streams) out of it. */
  readonly briefly: boolean
  cases(mode: Mode): readonly Case[]
  /** In the client's process. Throws what is wrong with the result. */
  run(job: Job): Promise<Figures>
}

/** For works that have one size in each mode. */
export function oneCase<Size extends Readonly<Record<string, number>>>(
  limitMs: number,
  sizes: Readonly<Record<Mode, Size>>,
  name: (size: Size) => string,
): Work['cases'] {
  return (mode) => [{ name: name(sizes[mode]), size: sizes[mode], limitMs }]
}

/** A number that the case has to have. */
export function sizeOf({ case: { size } }: Job, key: string): number {
  const value = size[key]
  if (value === undefined) throw new Error(`the case has no "${key}"`)
  return value
}

/** How a job went. */
export type Outcome =
  | { readonly type: 'done'; readonly figures: Record<string, number> }
  /** The client cannot do this at all, and says why. */
  | { readonly type: 'left-out'; readonly reason: string }
  /** What came is not what was sent, or something was thrown. */
  | { readonly type: 'failed'; readonly reason: string }
  /** Ended by the runner. */
  | { readonly type: 'over'; readonly limitMs: number }

/** Thrown when a client has nothing to offer for a work. */
export class NotOffered extends Error {}
