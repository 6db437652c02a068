import type { Change } from '../view/index.ts'

/** Shows an answer while it streams. */
export interface AnswerView {
  take(change: Change): void
  /** Completes the current line so that something else can be written. More changes may follow. */
  end(): void
}
