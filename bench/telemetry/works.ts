import type { Session } from '../contract.ts'
import type { Size } from './size.ts'

export type WorkName = 'text' | 'loop'

/** What is done, as in the comparison with others. */
export interface LookedAt {
  readonly name: WorkName
  readonly title: (size: Size) => string
  /** What its CPU time is counted by, and how many of that one play has. */
  readonly unit: string
  readonly units: (size: Size) => number
  readonly scenario: (size: Size) => string
  readonly how: keyof Session
  /** One play makes so many: the run, its model calls, its tools. */
  readonly spans: number
}

export const works: readonly LookedAt[] = [
  {
    name: 'text',
    title: ({ deltas }) => `One long answer: ${deltas.toLocaleString('en')} text deltas`,
    unit: 'delta',
    units: ({ deltas }) => deltas,
    scenario: ({ deltas }) => `text-${deltas}`,
    how: 'answer',
    spans: 2,
  },
  {
    name: 'loop',
    title: () => 'A loop with tools: two rounds, three parallel calls',
    unit: 'loop',
    units: () => 1,
    scenario: () => 'loop-20',
    how: 'loop',
    spans: 6,
  },
]

export function lookedAt(name: WorkName): LookedAt {
  const found = works.find((work) => work.name === name)
  if (!found) throw new Error(`there is no work ${name}`)
  return found
}
