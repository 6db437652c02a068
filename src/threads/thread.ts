import type {
  ApprovalRequestEvent,
  Entry,
  ErrorJson,
  InputMode,
  InputUserMessage,
  Message,
  Outcome,
  Usage,
} from '../protocol/index.ts'
import type { Following } from './hub.ts'
import type { ThreadInfo } from './store.ts'

export interface SendOptions {
  /** `queue` if absent. */
  readonly mode?: InputMode | undefined
  /** The sender's own name for this message: the same one twice is one input. */
  readonly key?: string | undefined
}

export interface FollowOptions {
  /** Begins after this number; 0, the beginning, if absent. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * `idle` ends when nothing is under way and nothing waits but for a person; a number when the input of that number has been
   * dealt with: its run is over or waits for a person, or it was stopped. Without it, following ends with the signal or the thread.
   */
  readonly until?: 'idle' | number | undefined
}

export interface ReadOptions {
  readonly after?: number | undefined
  /** About how many entries at most; 1000 if absent. */
  readonly limit?: number | undefined
  /** Deltas as they were first written, not joined. */
  readonly split?: boolean | undefined
}

/** A person's answer to an `approval-request`. */
export interface Answer {
  readonly approved: boolean
  /** Told to the model when the call is declined. */
  readonly reason?: string | undefined
  /** Run the call with this instead. Held against the tool's schema like what the model wrote. */
  readonly input?: object | undefined
}

export interface ThreadView extends ThreadInfo {
  /** The whole conversation, as far as it has come: also what waits to be answered, and words that are being told. */
  readonly messages: readonly Message[]
  /** What waits for a person. */
  readonly approvals: readonly ApprovalRequestEvent[]
  /** Inputs that no run has heard yet. */
  readonly queued: readonly { readonly seq: number; readonly mode: InputMode }[]
  readonly usage: Usage
  /** The current run, or the last. `outcome` is absent while it is under way. */
  readonly run?: {
    readonly id: string
    readonly rounds: number
    readonly outcome?: Outcome
    readonly error?: ErrorJson
  }
}

/** A conversation. What has no thread yet is made by the first `send` or `create`; everything else rejects with `not_found`. */
export interface Thread {
  readonly id: string
  /** Makes the thread if it is not there yet. */
  create(): Promise<ThreadInfo>
  info(): Promise<ThreadInfo>
  /** Says something. Resolves with its number when it is durable; whoever follows sees what comes of it. */
  send(message: string | InputUserMessage, options?: SendOptions): Promise<number>
  /** Every entry after a number, as it becomes durable, at the reader's pace: one far behind gets deltas joined. */
  follow(options?: FollowOptions): Following
  read(options?: ReadOptions): Promise<readonly Entry[]>
  state(): Promise<ThreadView>
  /** Cancels the current run; what is queued is not answered by itself. Harmless if there is nothing to stop. */
  stop(reason?: string): Promise<number>
  /**
   * Decides about a call that waits. The same decision twice is one; rejects with `conflict` if it was decided otherwise, or
   * if the run was over before.
   */
  approve(callId: string, answer: Answer): Promise<number>
  /** A new thread with the log of this one up to a number. A run that was under way there is cancelled; an input without its run is answered. */
  fork(atSeq: number, options?: { readonly id?: string; readonly user?: string }): Promise<Thread>
  /** With everything in it. False if it was not there. */
  delete(): Promise<boolean>
}
