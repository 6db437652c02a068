import type { InputMode, Outcome, Remembered, RememberFor } from './events.ts'
import type { RunRequest } from './run-request.ts'
import type { ThreadStatus } from './thread-view.ts'

// Options for operations on a thread, locally or over the network.

/** What a user thinks of an answer. */
export interface Feedback {
  readonly rating?: 'up' | 'down' | undefined
  /** At most 4000 characters. */
  readonly note?: string | undefined
}

export interface SendOptions {
  /** `queue` if absent. */
  readonly mode?: InputMode | undefined
  /** An idempotency key: sending the same key again does not add another input. */
  readonly key?: string | undefined
  /** What comes with the message, and holds for the run that answers it. */
  readonly request?: RunRequest | undefined
}

export interface RewindOptions {
  /** An idempotency key: rewinding with the same key again does nothing. */
  readonly key?: string | undefined
  /** Holds for the run that answers again. */
  readonly request?: RunRequest | undefined
}

export interface RespondOptions {
  /** The output describes a failure. */
  readonly isError?: boolean | undefined
  /** What comes with the result: it replaces the request of the run from the next round on. */
  readonly request?: RunRequest | undefined
}

export interface FollowOptions {
  /**
   * Start after this number; 0, the beginning, if absent. `now` starts after the entry that is last
   * at the time.
   */
  readonly after?: number | 'now' | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * `idle`: stop when nothing is running or queued, except for what waits for a person. A number:
   * stop when the input with that number is settled: its run has ended or waits for a person, or it
   * was stopped. If absent, following ends with the signal or the thread.
   */
  readonly until?: 'idle' | number | undefined
}

/**
 * How much of a round was played before it was interrupted: the first `chars` characters of its
 * text.
 */
export interface Playback {
  /** The id of the run; the first one of a chain of resumed runs. */
  readonly run: string
  readonly round: number
  readonly chars: number
}

/** A person's answer to an `approval-request`. */
export interface ApprovalAnswer {
  readonly approved: boolean
  /** Shown to the model if the call is denied. */
  readonly reason?: string | undefined
  /** Run the call with this input instead. Checked against the tool's schema, like the model's. */
  readonly input?: object | undefined
  /**
   * Allow such calls from now on, in this thread or always, by the rules of the request or by
   * others.
   */
  readonly remember?: RememberFor | Remembered | undefined
  /** What comes with the decision: it replaces the request of the run from the next round on. */
  readonly request?: RunRequest | undefined
}

/** Which messages of a conversation to return: all of them if absent. */
export interface StateOptions {
  /**
   * Return only the last messages, up to about this many bytes of JSON; at least one message,
   * unless it is 0.
   */
  readonly bytes?: number | undefined
  /**
   * Only messages before this index, counted from 0. Pass `earlier.messages` of a response to get
   * the previous page.
   */
  readonly before?: number | undefined
}

/** Which threads are listed: those that match all of these. */
export interface ThreadFilters {
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  /**
   * Words that must all occur, ignoring case, anywhere in the title, id, agent, metadata values,
   * messages or answers. A message is found when the run that reads it ends.
   */
  readonly search?: string | undefined
  /** How the last run ended. */
  readonly outcome?: Outcome | undefined
  /** The error code of the last run. */
  readonly error?: string | undefined
  /** A tool that has run. */
  readonly tool?: string | undefined
  /** What the thread has cost at least, in US dollars, as far as prices are known. */
  readonly minUsd?: number | undefined
  /** When it last changed, in milliseconds since the Unix epoch. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}
