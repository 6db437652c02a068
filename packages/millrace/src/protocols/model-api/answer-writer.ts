import type {
  ApprovalRequestEvent,
  ErrorJson,
  JsonValue,
  Outcome,
  RoundFinish,
  Usage,
} from '../../protocol/index.ts'

/** A tool call, as far as a client of a model API needs to know it. */
export interface AnswerCall {
  readonly callId: string
  readonly name: string
  /** Whether the client runs the tool. Otherwise the server does, or the provider. */
  readonly isClient: boolean
  /** The number of the entry that started it in this response. */
  readonly seq: number
  /** The arguments so far, as JSON text. Complete once `callComplete` was called. */
  arguments: string
  /** Set once the server has its result. */
  result?: { readonly text: string; readonly value: JsonValue | undefined; readonly isError: boolean }
}

/** How a response ended. */
export interface AnswerEnd {
  /** `suspended`: it waits for results of the client's calls, for approvals, or for both. */
  readonly outcome: Outcome
  /** Why the last generation ended. */
  readonly finish: RoundFinish | undefined
  /** Present if the outcome is `failed` or `canceled`. */
  readonly error: ErrorJson | undefined
  /** Tokens of the rounds in this response. */
  readonly usage: Usage
  /** The client's calls that wait for a result. */
  readonly waiting: readonly ApprovalRequestEvent[]
  /** The server's calls that wait for approval. */
  readonly approvals: readonly ApprovalRequestEvent[]
}

/**
 * Writes one response in the format of a protocol. `answerFold` reads the log and calls it. Every
 * method returns the frames to send, or `''`. `seq` is the number of the entry that caused the call.
 * Text, reasoning and calls may interleave.
 */
export interface AnswerWriter {
  /** The first call, with the number of the response's first entry and its time. */
  start(seq: number, at: number): string
  /**
   * A round starts: one model call. What follows belongs to it, up to the next round. A response
   * that continues a run may have results before its first round.
   */
  roundStart(seq: number): string
  /** Text or reasoning grew. Called for every token, so it must not allocate objects. */
  delta(kind: 'text' | 'reasoning', delta: string, seq: number): string
  /** The open text or reasoning is complete. Called only after `delta`, before the next kind. */
  closePart(kind: 'text' | 'reasoning', seq: number): string
  /**
   * The model started a call; its arguments follow. Also called for a call of an earlier response
   * that runs now because it was approved: it is new in this response, and complete.
   */
  callStart(call: AnswerCall, seq: number): string
  callDelta(call: AnswerCall, delta: string, seq: number): string
  /** The arguments are complete. The client can run the call, or the server does. */
  callComplete(call: AnswerCall, seq: number): string
  /** The server has the result of its call: `call.result`. */
  callResult(call: AnswerCall, seq: number): string
  /**
   * The call will never run: its arguments are invalid or unfinished, or it waits for approval and
   * starts again in a later response. A client that was shown the call must not wait for it.
   */
  callVoid(call: AnswerCall, seq: number): string
  /** A person has to approve a call of the server before it runs. */
  approvalRequest(request: ApprovalRequestEvent, seq: number): string
  /**
   * Everything since the last `roundStart` is void, and is generated again after the next one. Text,
   * reasoning and calls that are open stay so: `closePart` and `callVoid` are not called for them.
   */
  retract(seq: number): string
  /**
   * The last call, with the time of the last entry. All parts are closed. Calls that the client has
   * to run are complete.
   */
  end(end: AnswerEnd, seq: number, at?: number): string
}
