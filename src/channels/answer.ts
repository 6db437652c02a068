import type { Entry, ErrorJson, Outcome, RoundFinish, Usage } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'

/** How a question was answered. */
export interface Answered {
  readonly runId?: string
  /** `cancelled` too if it was stopped before a run began for it. */
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  /** The words of the last round. */
  readonly text: string
  readonly usage: Usage
  readonly rounds: number
  readonly error?: ErrorJson
}

/** The answer to one input, folded from the log of its thread, where others may be answered too. */
export interface AnswerFold {
  /** Takes the next entry. True if it is part of this answer. */
  take(entry: Entry): boolean
  answered(): Answered
}

/** `seq` is the number of the input; without it, whatever comes is the answer. */
export function foldAnswer(seq?: number): AnswerFold {
  let [runId, text, rounds, ours]: [string | undefined, string, number, boolean] = [undefined, '', 0, false]
  let [outcome, finish, error, usage]: [
    Outcome | undefined,
    RoundFinish | undefined,
    ErrorJson | undefined,
    Usage,
  ] = [undefined, undefined, undefined, noUsage]

  return {
    take({ event }) {
      if (event.type === 'run-start') {
        // One that goes on with the run before it is ours if that was.
        if (event.resumes === undefined || seq === undefined)
          ours = seq === undefined || event.heard?.includes(seq) === true
        if (ours) [runId, outcome, error] = [event.runId, undefined, undefined]
      }
      if (event.type === 'round-start' && seq !== undefined && event.heard?.includes(seq)) ours = true
      if (!ours) return false
      switch (event.type) {
        case 'round-start':
          text = ''
          rounds = event.round
          break
        case 'round-retract':
          text = ''
          break
        case 'text':
          text += event.text
          break
        case 'run-end':
          ;({ outcome, finish, error, usage } = event)
      }
      return true
    },
    answered: () => ({
      ...(runId !== undefined && { runId }),
      outcome: outcome ?? 'cancelled',
      ...(finish && { finish }),
      text,
      usage,
      rounds,
      ...(error && { error }),
    }),
  }
}
