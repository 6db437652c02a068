import type { RunEvent, RunState, ThreadEvent, ThreadState } from '../protocol/index.ts'

/**
 * The one object that a process has for a conversation while a run is under way: its folded state, and the end of its log. Over
 * nothing (`memoryLog`) an event is there for readers when it is appended; over a store (`threadLog`) when it is durable.
 *
 * Events of the run are folded when they are appended, those from outside when they arrive. The order between the two does not
 * matter to the fold: an input belongs to the round that names it, a decision to its call, a stop to the runs begun before it.
 */
export interface LiveLog {
  /** Up to date whenever it is read. */
  readonly state: ThreadState
  /** The run under way, or the last one. There is one from the first `run-start` on. */
  readonly run: RunState
  /** Constant cost, whatever came before. Deltas are joined until they are folded. */
  append(event: RunEvent): void
  /** Called with what comes from outside (inputs, decisions, stops, playback), after it was folded. The loop of the run sets it. */
  onSignal: ((event: ThreadEvent) => void) | undefined
}
