import type { ContextUse, Cost, FailedRequest, Paid, ReachedLimit } from './cost.ts'
import type { ErrorJson } from './errors.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message, ProviderData, ToolResultPart, UserMessage } from './messages.ts'
import type { RunRequest } from './run-request.ts'
import type { Usage } from './usage.ts'

// Every event is plain JSON. A delta (`text`, `reasoning`, `tool-input`) is never empty, and a
// listener that falls behind may get several of them joined into one: only the concatenation is
// guaranteed, not where it is split.

export interface TextEvent {
  readonly type: 'text'
  readonly text: string
}

export interface ReasoningEvent {
  readonly type: 'reasoning'
  readonly text: string
}

/**
 * The current text or reasoning is complete. `opaque` must be sent back to the provider with it.
 */
interface PartEndEvent {
  readonly type: 'part-end'
  readonly part: 'text' | 'reasoning'
  readonly opaque?: ProviderData
}

/** The model has started a tool call; its arguments follow. */
export interface ToolInputStartEvent<Name extends string = string> {
  readonly type: 'tool-input-start'
  readonly callId: string
  readonly name: Name
  /** The tool has no `run`: a client runs it. Set by the agent, not by the model. */
  readonly wants?: 'result'
}

export interface ToolInputEvent {
  readonly type: 'tool-input'
  readonly callId: string
  readonly delta: string
}

/**
 * The arguments of a tool call are complete. A call with a `problem` is never run, and `raw` is the
 * text the model wrote.
 */
export interface ToolCallEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: Name
  /**
   * As the model wrote it, not yet checked against the tool's schema. A call that does not match
   * gets a result with the status `rejected`.
   */
  readonly input: Input
  readonly problem?: string
  readonly raw?: string
  readonly opaque?: ProviderData
  /** As in `tool-input-start`. */
  readonly wants?: 'result'
}

/**
 * Progress of a tool that the provider runs itself (web search, sandbox, …): its start, its input,
 * its output. Nothing is run here. Events with `opaque` are sent back to the provider in the next
 * request.
 */
export interface ProviderToolEvent {
  readonly type: 'provider-tool'
  readonly callId: string
  readonly name: string
  readonly input?: JsonValue
  readonly output?: JsonValue
  readonly isError?: boolean
  readonly opaque?: ProviderData
}

/**
 * The stream starts over: an intermediary lost its connection to the provider and sent the request
 * again. Everything before this event is void.
 */
export interface RestartEvent {
  readonly type: 'restart'
  readonly reason: string
}

/**
 * The provider stores this generation and can continue it from here, after a lost connection or in
 * another process. Without `opaque` it no longer can.
 */
interface CheckpointEvent {
  readonly type: 'checkpoint'
  readonly opaque?: ProviderData
}

/** Why a generation ended. `other` is a provider's reason that has no equivalent here. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'refusal' | 'other'

/** Why a round ended: as the model reported, or because its stream broke or the run ended. */
export type RoundFinish = FinishReason | 'interrupted'

/** The last event of a generation, exactly one. */
export interface DoneEvent {
  readonly type: 'done'
  readonly finish: FinishReason
  readonly usage?: Partial<Usage>
  /**
   * The length of the conversation in tokens, if `usage` does not show it: after compaction by the
   * provider.
   */
  readonly contextTokens?: number
  /**
   * Anything else worth keeping: the provider's response id, the model that actually answered, …
   */
  readonly metadata?: JsonObject
}

/** What a model emits while it generates one round. */
export type ModelEvent =
  | TextEvent
  | ReasoningEvent
  | PartEndEvent
  | ToolInputStartEvent
  | ToolInputEvent
  | ToolCallEvent
  | ProviderToolEvent
  | RestartEvent
  | CheckpointEvent
  | DoneEvent

/** First event of a run. `input` is the conversation so far, checked and repaired. */
export interface RunStartEvent {
  readonly type: 'run-start'
  readonly version: number
  readonly runId: string
  readonly agent: string
  readonly input: readonly Message[]
  /** What had to be repaired in the history that was passed. */
  readonly repairs?: readonly string[]
  /** The run that this one continues: one that was suspended, or whose process died. */
  readonly resumes?: string
  /**
   * In a thread: the numbers of the inputs it answers. The conversation before them is in the log,
   * not in `input`.
   */
  readonly inputs?: readonly number[]
  /** The numbers of inputs that were dropped by a rewind before a run read them. */
  readonly discarded?: readonly number[]
  /** How many processes died while working on the run that this one continues. */
  readonly losses?: number
  /** How long the last of them had worked on it. */
  readonly lostMs?: number
  /** The trace context of the run, a W3C `traceparent`, if it is traced. */
  readonly trace?: string
}

/** A round starts: one model call. Rounds count from 1. */
export interface RoundStartEvent {
  readonly type: 'round-start'
  readonly round: number
  readonly model: string
  /** In a thread: the numbers of the inputs that this round is the first to read. */
  readonly inputs?: readonly number[]
  /** Why a cheaper model answers: a budget is almost spent. */
  readonly limit?: ReachedLimit
  /** What it cost to compact the conversation before the round, if that failed. */
  readonly failed?: FailedRequest
}

/** The round's request failed and is sent again, to `model`, after `delayMs`. */
export interface RoundRetryEvent {
  readonly type: 'round-retry'
  readonly round: number
  readonly attempt: number
  readonly model: string
  readonly delayMs: number
  readonly error: ErrorJson
  /** What the failed request cost, unless the `round-retract` before it says so. */
  readonly failed?: FailedRequest
}

/** Discard everything this round has shown: it will be generated again. */
export interface RoundRetractEvent {
  readonly type: 'round-retract'
  readonly round: number
  readonly reason: string
  /** What it cost. */
  readonly failed?: FailedRequest
}

interface RoundTimings {
  /** From the request to the model's first event; absent if there was none. */
  readonly firstEventMs?: number
  /** From the request to the end of the generation. */
  readonly ms: number
  /** Output tokens divided by the time from the first event to the end; absent without usage. */
  readonly tokensPerSecond?: number
}

/**
 * The generation has ended; its calls may still be running. `interrupted` means that the stream
 * broke after a call had started (the completed part of the round is kept), that the generation
 * failed for good, or that the run was canceled.
 */
export interface RoundEndEvent extends Paid {
  readonly type: 'round-end'
  readonly round: number
  readonly model: string
  readonly finish: RoundFinish
  /** What interrupted it. */
  readonly error?: ErrorJson
  /**
   * The length of the conversation in tokens, if `usage` does not show it: after compaction by the
   * provider.
   */
  readonly contextTokens?: number
  /** How full the context is after the round. */
  readonly context?: ContextUse
  /** Absent if the process that measured them died. */
  readonly timings?: RoundTimings
  readonly metadata?: JsonObject
}

/** What the agent's rules decide about a tool call, and which rule: `deny run(rm *)`. */
export interface Permission {
  readonly decision: 'allow' | 'ask' | 'deny'
  readonly rule: string
}

export type CallKind =
  | 'read'
  | 'edit'
  | 'delete'
  | 'move'
  | 'search'
  | 'execute'
  | 'think'
  | 'fetch'
  | 'other'

/** How a user interface, such as an editor, shows a tool call. Paths are absolute. */
export interface CallDisplay {
  readonly kind?: CallKind
  readonly title?: string
  /** The files that it reads or changes, and the line to show. */
  readonly locations?: readonly { readonly path: string; readonly line?: number }[]
  /** The texts that it replaces. Without `oldText`, the whole file. */
  readonly diff?: readonly { readonly path: string; readonly oldText?: string; readonly newText: string }[]
  /** The id of the terminal in the editor where it runs. */
  readonly terminal?: string
}

/**
 * A tool call starts to run. `input` is present only if a hook or a person changed the model's
 * input.
 */
export interface ToolStartEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'tool-start'
  readonly callId: string
  readonly name: Name
  readonly attempt: number
  readonly input?: Input
  readonly permission?: Permission
  /** Absent if the approval request of the call has it. */
  readonly display?: CallDisplay
}

/**
 * A running call reports progress: the tool's own `data`, or an `event` of the sub-agent it runs.
 * `{ display }` as `data` changes how the call is shown.
 */
export interface ToolProgressEvent {
  readonly type: 'tool-progress'
  readonly callId: string
  readonly data?: JsonValue
  readonly event?: RunEvent
  /** The tool and the sub-agent, if `event` has a cost. */
  readonly name?: string
  readonly agent?: string
}

/**
 * How a tool call ended:
 * - `ok`: it ran and returned
 * - `failed`: the tool threw, or a hook or check around it did; `timeout`: it ran out of time
 * - `rejected`: it could not be run as written: unknown tool, invalid or unfinished arguments
 * - `blocked`: it was not allowed: by a hook, the rules, the round limit, the call limit, the guard
 *   against repeated calls, or because the run only plans
 * - `denied`: a person denied it
 * - `canceled`: the run ended first
 * - `unknown`: the process died while it ran
 */
export type CallStatus =
  | 'ok'
  | 'failed'
  | 'timeout'
  | 'rejected'
  | 'blocked'
  | 'denied'
  | 'canceled'
  | 'unknown'

/**
 * The only result of a call, run or not. `shown` is present if the model gets something shorter
 * than `output`.
 */
export interface ToolResultEvent<Name extends string = string, Part = ToolResultPart> {
  readonly type: 'tool-result'
  readonly callId: string
  readonly name: Name
  readonly output: readonly Part[]
  readonly shown?: readonly Part[]
  readonly status: CallStatus
  /** True for every status but `ok`. The model sees it. */
  readonly isError: boolean
  /** How long it ran; 0 if it did not run. */
  readonly ms: number
  /** How much of that time the model was still generating. */
  readonly overlapMs: number
  /** Present if the rules kept it from running. */
  readonly permission?: Permission
  /** What the tool itself reported with `context.spend()`, not what its sub-agent used. */
  readonly cost?: Cost
}

/**
 * A person has to decide before this call runs, or a client has to run it. With `budget`, there is
 * no call: a limit is reached, and a person has to allow the amount in `input` on top of it.
 */
export interface ApprovalRequestEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'approval-request'
  readonly callId: string
  readonly name: Name
  readonly input: Input
  /** The tool has no `run`: a client runs it and responds with the result. */
  readonly wants?: 'result'
  readonly reason?: string
  readonly permission?: Permission
  /**
   * The rules that would allow such calls without asking, and for how long they can be remembered.
   */
  readonly remember?: { readonly rules: readonly string[]; readonly for: readonly RememberFor[] }
  readonly budget?: ReachedLimit
  readonly display?: CallDisplay
}

/** `always` goes beyond this thread, if the agent stores such rules. */
export type RememberFor = 'thread' | 'always'

/** Rules that a person allowed along with a call. */
export interface Remembered {
  readonly for: RememberFor
  readonly rules: readonly string[]
}

export interface ApprovalEvent {
  readonly type: 'approval'
  readonly callId: string
  readonly approved: boolean
  readonly reason?: string
  /** Run the call with this input instead of the model's. */
  readonly input?: JsonObject
  readonly remember?: Remembered
  /** The result of a call that a client has run, and whether it failed. */
  readonly output?: readonly ToolResultPart[]
  readonly isError?: boolean
  /** Replaces the request of the run from the next round on. */
  readonly request?: RunRequest
}

/**
 * A message to the agent:
 * - `queue`: answered after the current run
 * - `steer`: read by the next round of the current run; answered like `queue` if the run has ended
 * - `interrupt`: the current run is canceled, and this message is answered
 * - `correct`: written by the agent itself, to ask its model for a better answer
 */
export interface InputEvent {
  readonly type: 'input'
  readonly message: UserMessage
  readonly mode: InputMode | 'correct'
  readonly request?: RunRequest
  /** The trace context of the sender, a W3C `traceparent`, if runs are traced. */
  readonly trace?: string
}

export type InputMode = 'queue' | 'steer' | 'interrupt'

/**
 * The current run is canceled, and no run is started for inputs that are waiting. The next run
 * reads them.
 */
export interface StopEvent {
  readonly type: 'stop'
  readonly reason: string
}

/**
 * The conversation continues as it was before an earlier entry; the current run is canceled. What
 * is replaced stays in the log. `before` is the number of
 * - an `input`: a new message usually follows. If no run has read the input, nothing is canceled,
 *   and only that input and those after it are dropped
 * - the `run-start` of a run: its inputs are answered again (`answer`)
 * - a `rewind`: the part that it replaced is restored
 *
 * The next run names the entry in its `inputs`.
 */
export interface RewindEvent {
  readonly type: 'rewind'
  readonly before: number
  /**
   * How many messages are kept. Those in `messages` follow them. Absent if no run has read the
   * input.
   */
  readonly keep?: number
  readonly messages?: readonly Message[]
  readonly answer?: true
  readonly request?: RunRequest
}

/**
 * Speech was interrupted: only the first `chars` characters of a round's text were played. `run` is
 * the first of a chain of resumed runs. If reported again for the same round, the last one counts.
 */
export interface PlaybackEvent {
  readonly type: 'playback'
  readonly run: string
  readonly round: number
  readonly chars: number
}

/** A user renamed the thread. */
interface TitleEvent {
  readonly type: 'title'
  readonly title: string
}

/**
 * The metadata of the thread was changed, by a user, a program or a running tool. `patch` is a JSON
 * merge patch (RFC 7396): its `null` values remove fields. Not part of the conversation.
 */
export interface MetadataEvent {
  readonly type: 'metadata'
  readonly patch: JsonObject
  /** What the thread was created with, unless that is nothing. Only the first one of a log counts. */
  readonly initial?: JsonObject
}

/**
 * A user's opinion of the answer of a run. `run` is the first of a chain of resumed runs. The last
 * one of a user counts; without `rating` and `note` it withdraws what that user said before.
 */
export interface FeedbackEvent {
  readonly type: 'feedback'
  readonly run: string
  readonly rating?: 'up' | 'down'
  readonly note?: string
  /** Absent if callers are not identified. */
  readonly user?: string
}

/**
 * From here on the model reads `message` in place of the first `replaces` messages before the
 * current round. System messages among them are kept, in front of it. The log keeps all messages.
 */
export interface SummaryEvent extends Paid {
  readonly type: 'summary'
  readonly replaces: number
  readonly message: UserMessage
  /** The model that wrote it, or wrote the last part of it. */
  readonly model?: string
}

/** `budget`: a limit of a budget was reached. */
export type Outcome = (typeof outcomes)[number]

export const outcomes = [
  'completed',
  'max-rounds',
  'budget',
  'truncated',
  'suspended',
  'canceled',
  'failed',
] as const

/** The last event of a run, exactly one. */
export interface RunEndEvent {
  readonly type: 'run-end'
  readonly outcome: Outcome
  /** Why the last generation ended, if there was one. */
  readonly finish?: RoundFinish
  readonly usage: Usage
  readonly error?: ErrorJson
  /** How long this process worked on the run. */
  readonly ms?: number
  /** The limit that ended it, with the outcome `budget`. */
  readonly limit?: ReachedLimit
  /** What it cost to compact the conversation, if no round followed. */
  readonly failed?: FailedRequest
}

/** Events that name a tool. */
type CallEvent = ToolInputStartEvent | ToolCallEvent | ToolStartEvent | ToolResultEvent | ApprovalRequestEvent

/**
 * The events of a run: the model's events, grouped in rounds, and everything around them. `Calls`
 * are the events that name a tool; an agent with typed tools narrows them.
 */
export type RunEvent<Calls = CallEvent> =
  | RunStartEvent
  | RoundStartEvent
  | RoundRetryEvent
  | RoundRetractEvent
  | RoundEndEvent
  | Exclude<ModelEvent, RestartEvent | DoneEvent | CallEvent>
  | Calls
  | ToolProgressEvent
  | ApprovalEvent
  | InputEvent
  | MetadataEvent
  | SummaryEvent
  | RunEndEvent

/**
 * An event in the log of a thread: those of its runs, one after the other, and signals from users.
 */
export type ThreadEvent = RunEvent | StopEvent | PlaybackEvent | RewindEvent | TitleEvent | FeedbackEvent

/** Whether it is an event of a run, rather than a signal that concerns no run or several. */
export function isRunEvent(event: ThreadEvent): event is RunEvent {
  return !['stop', 'playback', 'rewind', 'title', 'feedback'].includes(event.type)
}

/**
 * A numbered event of a thread. Numbers count from 1 without gaps. `from` is present if deltas were
 * joined: the entry then stands for all numbers from `from` to `seq`.
 */
export interface Entry {
  readonly seq: number
  readonly from?: number
  /** When it was written, in milliseconds since the Unix epoch. */
  readonly at: number
  readonly event: ThreadEvent
}
