import type { Entry, ErrorJson, Outcome } from '../protocol/index.ts'

/** What a client that does not stream is told: the end of a run, with the words of its last round. */
export interface FinalMessage {
  readonly type: 'message'
  readonly seq: number
  readonly runId: string
  readonly outcome: Outcome
  readonly text: string
  readonly error?: ErrorJson
}

/** Takes the entries of a thread from its beginning and gives a message at the end of each run. */
export function finalMessages(): (entry: Entry) => FinalMessage | undefined {
  let runId = ''
  let text = ''
  return ({ seq, event }) => {
    switch (event.type) {
      case 'run-start':
        runId = event.runId
        // A run that goes on from another one may end without a round of its own.
        if (event.resumes === undefined) text = ''
        return undefined
      case 'round-start':
      case 'round-retract':
        text = ''
        return undefined
      case 'text':
        text += event.text
        return undefined
      case 'run-end': {
        const { outcome, error } = event
        return { type: 'message', seq, runId, outcome, text, ...(error && { error }) }
      }
      default:
        return undefined
    }
  }
}
