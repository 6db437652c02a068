import type { Entry } from '../protocol/index.ts'

/** Shows an answer as it comes. */
export interface AnswerView {
  take(entry: Entry): void
  /** Ends what is on its way, before something else is written: more may follow. */
  end(): void
}
