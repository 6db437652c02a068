import type { Change } from '../view/index.ts'

/** Shows an answer as it comes. */
export interface AnswerView {
  take(change: Change): void
  /** Ends what is on its way, before something else is written: more may follow. */
  end(): void
}
