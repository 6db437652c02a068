import type { InputMode, Remembered, RememberFor } from './events.ts'

// What can be asked of a thread, here or across the wire.

export interface SendOptions {
  /** `queue` if absent. */
  readonly mode?: InputMode | undefined
  /** The sender's own name for this message: the same one twice is one input. */
  readonly key?: string | undefined
}

export interface FollowOptions {
  /** Begins after this number; 0, the beginning, if absent. `now` is the last number that there is when the thread is asked for it. */
  readonly after?: number | 'now' | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * `idle` ends when nothing is under way and nothing waits but for a person; a number when the input of that number has been
   * dealt with: its run is over or waits for a person, or it was stopped. Without it, following ends with the signal or the thread.
   */
  readonly until?: 'idle' | number | undefined
}

/** How far a round was heard, by somebody who interrupted it: the first `chars` characters of its words. */
export interface Heard {
  /** The first of a chain of resumed ones. */
  readonly run: string
  readonly round: number
  readonly chars: number
}

/** A person's answer to an `approval-request`. */
export interface Answer {
  readonly approved: boolean
  /** Told to the model when the call is declined. */
  readonly reason?: string | undefined
  /** Run the call with this instead. Held against the tool's schema like what the model wrote. */
  readonly input?: object | undefined
  /** Allows the same from now on: in this thread or always, by the rules of the request or by others. */
  readonly remember?: RememberFor | Remembered | undefined
}

/** Which messages of a conversation are asked for: all of them if absent. */
export interface StateOptions {
  /** About how many bytes of messages as JSON at most, those at the end; at least one message, unless it is 0. */
  readonly bytes?: number | undefined
  /** Only messages before this place, counted from 0: the `earlier.messages` of an answer gets the page before it. */
  readonly before?: number | undefined
}
