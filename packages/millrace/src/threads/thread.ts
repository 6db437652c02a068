import type { Following } from '../log/index.ts'
import type {
  Answer,
  Entry,
  Exchange,
  ExchangePage,
  ExchangePageOptions,
  ExchangesOptions,
  FollowOptions,
  Heard,
  InputUserMessage,
  SendOptions,
  StateOptions,
  ThreadInfo,
  ThreadView,
} from '../protocol/index.ts'

export interface SayOptions extends SendOptions {
  /** Where runs are traced: the trace context of whoever speaks, a W3C `traceparent`. A span that is active here counts more. */
  readonly trace?: string | undefined
}

export interface ReadOptions {
  readonly after?: number | undefined
  /** About how many entries at most; 1000 if absent. */
  readonly limit?: number | undefined
  /** Deltas as they were first written, not joined. */
  readonly split?: boolean | undefined
}

/** A conversation. What has no thread yet is made by the first `send` or `create`; everything else rejects with `not_found`. */
export interface Thread {
  readonly id: string
  /** Makes the thread if it is not there yet; with `anew` it rejects with `conflict` if it is. */
  create(options?: { readonly anew?: boolean | undefined }): Promise<ThreadInfo>
  info(): Promise<ThreadInfo>
  /** Says something. Resolves with its number when it is durable; whoever follows sees what comes of it. */
  send(message: string | InputUserMessage, options?: SayOptions): Promise<number>
  /** Every entry after a number, as it becomes durable, at the reader's pace: one far behind gets deltas joined. */
  follow(options?: FollowOptions): Following
  read(options?: ReadOptions): Promise<readonly Entry[]>
  /** Its `earlier` says how many messages `bytes` or `before` has left out. */
  state(options?: StateOptions): Promise<ThreadView>
  /**
   * The model calls of a run as they went over the wire, in order; those under way in this process as far as they have come.
   * Rejects with `not_found` if the app does not record them.
   */
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  /** The same in pages of about so many bytes. */
  exchangePage(options: ExchangePageOptions): Promise<ExchangePage>
  /** Cancels the current run; what is queued is not answered by itself. Harmless if there is nothing to stop. */
  stop(reason?: string): Promise<number>
  /**
   * Decides about a call that waits. The same decision twice is one; rejects with `conflict` if it was decided otherwise, or
   * if the run was over before.
   */
  approve(callId: string, answer: Answer): Promise<number>
  /**
   * Keeps what a person has heard of an answer that was being spoken, apart from what was generated and not heard: the next prompt
   * has the first alone. The last word on a round counts. Rejects with `not_found` if the log has no such round.
   */
  heard(heard: Heard): Promise<number>
  /** A new thread with the log of this one up to a number. A run that was under way there is cancelled; an input without its run is answered. */
  fork(
    atSeq: number,
    options?: { readonly id?: string; readonly user?: string; readonly caller?: string },
  ): Promise<Thread>
  /** With everything in it. False if it was not there. */
  delete(): Promise<boolean>
}
