import type { RunEvent, RunState, ThreadEvent, ThreadState } from '../protocol/index.ts'

/**
 * A process's single object for a conversation while a run is in progress: its folded state and the
 * end of its log. With `memoryLog`, readers get an event as soon as it is appended. With
 * `threadLog`, they get it when it is durable in the store.
 *
 * Events of the run are folded when they are appended, signals from outside when they arrive. The
 * fold does not depend on the order between the two: an input belongs to the round that names it, a
 * decision to its call, a stop to the runs that started before it.
 */
export interface LiveLog {
  /** Always up to date. */
  readonly state: ThreadState
  /** The current run, or the last one. Set from the first `run-start` on. */
  readonly run: RunState
  /** Takes constant time, however long the log is. Deltas are joined until they are folded. */
  append(event: RunEvent): void
  /**
   * Called with each signal (input, decision, stop, playback) after it was folded. Set by the loop
   * of the run.
   */
  onSignal: ((event: ThreadEvent) => void) | undefined
}
