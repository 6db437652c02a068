import type {
  ContextUse,
  Entry,
  ErrorJson,
  Outcome,
  ReachedLimit,
  RoundFinish,
  TotalCost,
  Usage,
} from '../protocol/index.ts'
import { nothingSpent, noUsage, totalCost } from '../protocol/index.ts'
import { applyEntry, createView } from './fold.ts'
import type { Change, RoundView, RunView } from './types.ts'

/** How a run ended. */
export interface RunSummary {
  readonly runId?: string
  /** Also `canceled` if it was stopped before a run started. */
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  /** The text of the last round. */
  readonly text: string
  readonly usage: Usage
  /** With sub-agents, summaries and failed requests. */
  readonly cost: TotalCost
  /** How full the model's context was after the last round. */
  readonly context?: ContextUse
  /** The limit that ended the run, with the outcome `budget`. */
  readonly limit?: ReachedLimit
  readonly rounds: number
  readonly error?: ErrorJson
}

/** The answer to one input, folded from the log of its thread, which may contain other answers. */
export interface ResultFold {
  /** Applies the next entry. Returns what it changed if it is part of this answer. */
  applyEntry(entry: Entry): Change | undefined
  result(): RunSummary
}

/** `seq` is the number of the input; without it, every run is part of the answer. */
export function foldResult(seq?: number): ResultFold {
  const view = createView({ keep: 'round' })
  let answering: RunView | undefined

  return {
    applyEntry(entry) {
      const change = applyEntry(view, entry)
      const { event } = entry
      const run = view.runs.at(-1)
      // A run that resumes another is the same run.
      if (seq === undefined || ('inputs' in event && event.inputs?.includes(seq))) answering = run
      return run && run === answering ? change : undefined
    },
    result() {
      const { legs, outcome = 'canceled', finish, error, usage = noUsage, rounds = [] } = answering ?? {}
      const { spent = nothingSpent(), context, limit } = answering ?? {}
      const { runId } = legs?.at(-1) ?? {}
      const round = rounds.at(-1)
      return {
        ...(runId && { runId }),
        outcome,
        ...(finish && { finish }),
        text: round && !round.retracted ? roundText(round) : '',
        usage,
        cost: totalCost(spent),
        ...(context && { context }),
        ...(limit && { limit }),
        rounds: round?.number ?? 0,
        ...(error && { error }),
      }
    },
  }
}

/** The text of a round, without its reasoning. */
export function roundText({ parts }: RoundView): string {
  return parts.flatMap((part) => (part.kind === 'text' ? part.text.pieces : [])).join('')
}
