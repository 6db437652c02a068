import type { Following } from '../log/index.ts'
import type {
  ApprovalAnswer,
  Entry,
  Exchange,
  ExchangePage,
  ExchangePageOptions,
  ExchangesOptions,
  ExportedThread,
  Feedback,
  FollowOptions,
  InputMessage,
  InputUserMessage,
  JsonObject,
  Playback,
  RespondOptions,
  RewindOptions,
  RunRequest,
  SendOptions,
  StateOptions,
  ThreadInfo,
  ThreadView,
} from '../protocol/index.ts'

export interface ThreadSendOptions extends SendOptions {
  /**
   * The trace context of the sender, a W3C `traceparent`, for tracing. An active span in this
   * process takes precedence.
   */
  readonly trace?: string | undefined
}

export interface ThreadFeedback extends Feedback {
  /** The user whose opinion it is. */
  readonly user?: string | undefined
}

export interface ReadOptions {
  readonly after?: number | undefined
  /** Approximate maximum number of entries. Default: 1000. */
  readonly limit?: number | undefined
  /** Return deltas as they were first written, not joined. */
  readonly split?: boolean | undefined
}

export interface ThreadCreateOptions {
  /** Reject with `conflict` if the thread exists. */
  readonly failIfExists?: boolean | undefined
  /**
   * The conversation that the thread begins with. If it ends with a user message or a tool result,
   * the agent answers. Only used if the thread is created.
   */
  readonly messages?: readonly InputMessage[] | undefined
  /**
   * What `exportThread()` returned, in place of `messages`: the thread begins with this log. Nothing
   * in it starts to run: what had not ended is stopped, and approvals that were remembered are not.
   */
  readonly exported?: ExportedThread | undefined
  /** The idempotency keys of user messages among them, by their index. */
  readonly keys?: readonly (string | undefined)[] | undefined
  /** What comes with the last message, and holds for the run that answers it. */
  readonly request?: RunRequest | undefined
}

/**
 * A conversation. The first `send` or `create` creates it in the store; everything else rejects
 * with `not_found` until then.
 */
export interface Thread {
  readonly id: string
  /** Creates the thread if it does not exist. */
  create(options?: ThreadCreateOptions): Promise<ThreadInfo>
  info(): Promise<ThreadInfo>
  /** Sends a message. Resolves with its number when it is durable; followers see the answer. */
  send(message: string | InputUserMessage, options?: ThreadSendOptions): Promise<number>
  /** Returns the number of the input that was sent with an idempotency key, if there is one. */
  inputOf(key: string): Promise<number | undefined>
  /**
   * Follows the log after a number. Entries arrive as they become durable, at the reader's pace; a
   * reader that is far behind gets deltas joined.
   */
  follow(options?: FollowOptions): Following
  read(options?: ReadOptions): Promise<readonly Entry[]>
  /**
   * Returns the view of the thread. Its `earlier` has the number of messages left out because of
   * `bytes` or `before`.
   */
  state(options?: StateOptions): Promise<ThreadView>
  /**
   * Returns the model calls of a run as they went over the wire, in order. Those in progress in
   * this process are included as far as they have come. Rejects with `not_found` if the app does
   * not record exchanges.
   */
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  /** Returns the same in pages of about `bytes` bytes. */
  exchangePage(options: ExchangePageOptions): Promise<ExchangePage>
  /**
   * Cancels the current run. Queued inputs are not answered until the next message. Does nothing if
   * there is nothing to stop.
   */
  stop(reason?: string): Promise<number>
  /**
   * Approves or denies a tool call that waits for a decision. Resolves with the number of the
   * decision, also if it is repeated; what comes with it then is ignored. Rejects with `conflict` if
   * the call was decided differently, or the run had already ended.
   */
  approve(callId: string, answer: ApprovalAnswer): Promise<number>
  /**
   * Sends the result of a tool call that wants one, because its tool has no `run`: text, JSON or
   * `toolContent(…)`. Resolves with the number of the result. The first result counts: another one
   * is ignored, and resolves with the number of the first. A result for a call whose run has ended
   * is ignored too, and resolves with the number of the last entry. Rejects with `invalid_input` if
   * there is no such call, or if it waits for approval.
   */
  respond(callId: string, output: unknown, options?: RespondOptions): Promise<number>
  /**
   * Continues the conversation as it was before an entry, and cancels the current run. `before` is
   * the number of an input (to send another message instead), of the start of a run (which is
   * answered again), or of a `rewind` (to restore what it replaced). What is replaced stays in the
   * log. Resolves with the number of the `rewind`. Reads the whole log.
   */
  rewind(before: number, options?: RewindOptions): Promise<number>
  /**
   * Records how much of a spoken answer was played. The next prompt contains only that part, not
   * what was generated but never played. The last report for a round counts. Rejects with
   * `not_found` if the log has no such round.
   */
  reportPlayback(playback: Playback): Promise<number>
  /** Gives the thread a title, in place of the start of its first message. */
  rename(title: string): Promise<number>
  /**
   * Changes the metadata by a JSON merge patch (RFC 7396): fields that are null are removed, all
   * others are set. Resolves with the number of the entry. Rejects with `invalid_input` if the
   * metadata would become longer than 16 KiB of JSON.
   */
  updateMetadata(patch: JsonObject): Promise<number>
  /**
   * Records what a user thinks of the answer of a run: `run` is the id of its first `run-start`. The
   * last feedback of a user for a run counts; without `rating` and `note` it withdraws what the user
   * said before. Rejects with `not_found` if the log has no such run.
   */
  feedback(run: string, feedback: ThreadFeedback): Promise<number>
  /**
   * Creates a new thread with the log of this one up to a number. A run in progress at that point
   * is canceled; an input without a run is answered.
   */
  fork(
    atSeq: number,
    options?: { readonly id?: string; readonly user?: string; readonly caller?: string },
  ): Promise<Thread>
  /** Deletes the thread and everything in it. Returns false if it did not exist. */
  delete(): Promise<boolean>
}
