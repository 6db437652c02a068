import type { Turn } from './turn.ts'

/** What is known of the run that is being spoken. */
export interface SpokenRun {
  readonly id: string
  readonly seq: number
  /** The inputs that it answers. */
  readonly inputs: readonly number[]
  since: Turn['since']
  startedAt: number
  /** How long the words of its rounds are so far: of those that no earlier turn has dealt with. */
  rounds: Map<number, number>
  /** Up to here nothing is said, since it is known already. */
  known: Turn['from']
  isOpen: boolean
  /** The round that is being told. */
  telling: number | undefined
  firstTokenAt: number | undefined
  /** Nobody wants to hear the rest of it. Holds the rounds that are dealt with. */
  hushed: Set<number> | undefined
}

export function beginRun(
  fields: Pick<SpokenRun, 'id' | 'seq' | 'inputs' | 'since' | 'startedAt'>,
): SpokenRun {
  return {
    ...fields,
    rounds: new Map(),
    known: undefined,
    isOpen: true,
    telling: undefined,
    firstTokenAt: undefined,
    hushed: undefined,
  }
}
