import type { Entry, ErrorJson, Outcome, RoundFinish, Usage } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { createView, take } from './fold.ts'
import type { Change, RoundView, RunView } from './types.ts'

/** How a run ended. */
export interface RunSummary {
  readonly runId?: string
  /** `cancelled` too if it was stopped before a run began. */
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  /** The words of the last round. */
  readonly text: string
  readonly usage: Usage
  readonly rounds: number
  readonly error?: ErrorJson
}

/** The answer to one input, folded from the log of its thread, where others may be answered too. */
export interface ResultFold {
  /** Takes the next entry. Gives what it changed if it is part of this answer. */
  take(entry: Entry): Change | undefined
  result(): RunSummary
}

/** `seq` is the number of the input; without it, every run is part of the answer. */
export function foldResult(seq?: number): ResultFold {
  const view = createView({ keep: 'round' })
  let ours: RunView | undefined

  return {
    take(entry) {
      const change = take(view, entry)
      const { event } = entry
      const run = view.runs.at(-1)
      // A run that resumes another is the same run.
      if (seq === undefined || ('heard' in event && event.heard?.includes(seq))) ours = run
      return run && run === ours ? change : undefined
    },
    result() {
      const { legs, outcome = 'cancelled', finish, error, usage = noUsage, rounds = [] } = ours ?? {}
      const { runId } = legs?.at(-1) ?? {}
      const round = rounds.at(-1)
      return {
        ...(runId && { runId }),
        outcome,
        ...(finish && { finish }),
        text: round && !round.retracted ? wordsOf(round) : '',
        usage,
        rounds: round?.number ?? 0,
        ...(error && { error }),
      }
    },
  }
}

/** The words of a round, without its reasoning. */
export function wordsOf({ parts }: RoundView): string {
  return parts.flatMap((part) => (part.kind === 'text' ? part.text.pieces : [])).join('')
}
