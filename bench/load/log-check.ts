import { deltaLength } from './answers.ts'

/** What a follower needs to know of an entry. */
export interface SeenEntry {
  readonly seq: number
  readonly from?: number
  readonly at: number
  readonly event: { readonly type: string; readonly text?: string; readonly outcome?: string }
}

/** Follows a log and notes what is wrong with it. */
export interface LogCheck {
  /** The last number. */
  readonly head: number
  /** How many words were told. */
  readonly words: number
  readonly faults: readonly string[]
  take(entry: SeenEntry): void
}

export function logCheck(): LogCheck {
  let head = 0
  let chars = 0
  const faults: string[] = []
  return {
    get head() {
      return head
    },
    get words() {
      return chars / deltaLength
    },
    faults,
    take({ seq, from = seq, event }) {
      if (from !== head + 1 || seq < from) faults.push(`after ${head} came ${from} to ${seq}`)
      head = seq
      if (event.type === 'text') chars += event.text?.length ?? 0
      else if (event.type === 'run-end' && event.outcome !== 'completed')
        faults.push(`a run was ${event.outcome}`)
    },
  }
}
