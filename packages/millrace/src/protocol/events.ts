import type { ErrorJson } from './errors.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message, ProviderData, ToolResultPart, UserMessage } from './messages.ts'
import type { Usage } from './usage.ts'

// Every event is plain JSON. A delta (`text`, `reasoning`, `tool-input`) is never empty, and a listener that is behind may
// get several of them joined into one: the concatenation is the contract, the cut is not.

export interface TextEvent {
  readonly type: 'text'
  readonly text: string
}

export interface ReasoningEvent {
  readonly type: 'reasoning'
  readonly text: string
}

/** The text or reasoning told so far is complete, and `opaque` must go back to the provider with it. */
interface PartEndEvent {
  readonly type: 'part-end'
  readonly part: 'text' | 'reasoning'
  readonly opaque?: ProviderData
}

/** The model has begun to write a call; its arguments follow. */
export interface ToolInputStartEvent<Name extends string = string> {
  readonly type: 'tool-input-start'
  readonly callId: string
  readonly name: Name
}

export interface ToolInputEvent {
  readonly type: 'tool-input'
  readonly callId: string
  readonly delta: string
}

/** The wire has closed the arguments of a call. With a `problem` the call is never run, and `raw` is what was written. */
export interface ToolCallEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: Name
  /** As the model wrote it. Not yet checked against the tool's schema: a call that does not fit is answered as `rejected`. */
  readonly input: Input
  readonly problem?: string
  readonly raw?: string
  readonly opaque?: ProviderData
}

/**
 * A tool that the provider runs on its own side (a web search, a sandbox, …), told as it goes: that it was begun, with which
 * input, what came of it. There is nothing to run here. Whatever has `opaque` goes back to the provider next time.
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
 * The stream contains a second answer: an intermediary lost its connection to the provider and sent the request again. Everything
 * the model said before this event is void.
 */
export interface RestartEvent {
  readonly type: 'restart'
  readonly reason: string
}

/**
 * The provider keeps this generation and can continue it from here, after a lost connection or in another process. Without
 * `opaque` it no longer can.
 */
interface CheckpointEvent {
  readonly type: 'checkpoint'
  readonly opaque?: ProviderData
}

/** Why a generation ended. `other` is a reason of the provider that has no counterpart here. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'refusal' | 'other'

/** Why a round ended: as the model said, or because its stream broke, or the run was over. */
export type RoundFinish = FinishReason | 'interrupted'

/** The end of one generation: exactly one, the last. */
export interface DoneEvent {
  readonly type: 'done'
  readonly finish: FinishReason
  readonly usage?: Partial<Usage>
  /** The length of the conversation in tokens, where `usage` does not tell it: after a compaction at the provider. */
  readonly contextTokens?: number
  /** Whatever else is worth keeping: the provider's id of the response, the model that really answered, … */
  readonly metadata?: JsonObject
}

/** What a model says while it generates one round. */
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
  /** What had to be mended in the history that was handed in. */
  readonly repairs?: readonly string[]
  /** The run that this one continues: one that was suspended, or whose process is gone. */
  readonly resumes?: string
  /** In a thread: the numbers of the inputs that it answers. The conversation before them stands in the log, not in `input`. */
  readonly heard?: readonly number[]
  /** How many processes have been lost while they worked on what this goes on with. */
  readonly losses?: number
  /** Where it is traced: its trace context, a W3C `traceparent`. */
  readonly trace?: string
}

/** One generation begins. Rounds count from 1. */
export interface RoundStartEvent {
  readonly type: 'round-start'
  readonly round: number
  readonly model: string
  /** In a thread: the numbers of the inputs that it hears for the first time. */
  readonly heard?: readonly number[]
}

/** The round's request failed and is sent again, to `model`, after `delayMs`. */
export interface RoundRetryEvent {
  readonly type: 'round-retry'
  readonly round: number
  readonly attempt: number
  readonly model: string
  readonly delayMs: number
  readonly error: ErrorJson
}

/** Forget everything this round has shown: it will be generated again. */
export interface RoundRetractEvent {
  readonly type: 'round-retract'
  readonly round: number
  readonly reason: string
}

interface RoundTimings {
  /** From the request to the model's first event; absent if none came. */
  readonly firstEventMs?: number
  /** From the request to the end of the generation. */
  readonly ms: number
  /** Output tokens by the time between first event and end; absent without usage. */
  readonly tokensPerSecond?: number
}

/**
 * The generation is over; its calls may still be running. `interrupted` means that the stream broke after a call had
 * started (the round stands as far as it closed), that it failed for good, or that the run was cancelled.
 */
export interface RoundEndEvent {
  readonly type: 'round-end'
  readonly round: number
  readonly model: string
  readonly finish: RoundFinish
  /** What interrupted it. */
  readonly error?: ErrorJson
  readonly usage?: Partial<Usage>
  /** The length of the conversation in tokens, where `usage` does not tell it: after a compaction at the provider. */
  readonly contextTokens?: number
  /** Absent if the process that knew them is gone. */
  readonly timings?: RoundTimings
  readonly metadata?: JsonObject
}

/** What the agent's rules say of a call, and which of them: `deny run(rm *)`. */
export interface Permission {
  readonly decision: 'allow' | 'ask' | 'deny'
  readonly rule: string
}

/** A call begins to run. `input` is there only when it is not the model's own: a hook or a person changed it. */
export interface ToolStartEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'tool-start'
  readonly callId: string
  readonly name: Name
  readonly attempt: number
  readonly input?: Input
  readonly permission?: Permission
}

/** A running call reports: `data` of the tool's own, or an `event` of the sub-agent that it runs. */
export interface ToolProgressEvent {
  readonly type: 'tool-progress'
  readonly callId: string
  readonly data?: JsonValue
  readonly event?: RunEvent
}

/**
 * What became of a call:
 * - `ok`: it ran and returned
 * - `failed`: it threw, or a hook or check around it did; `timeout`: it ran out of time
 * - `rejected`: it could not be run as the model wrote it: no such tool, bad or unfinished arguments
 * - `blocked`: it was not allowed: a hook, the rules, the round limit, too many calls, a circle, only a plan
 * - `declined`: a person said no
 * - `cancelled`: the run ended before it did
 * - `unknown`: its process died while it ran
 */
export type CallStatus =
  | 'ok'
  | 'failed'
  | 'timeout'
  | 'rejected'
  | 'blocked'
  | 'declined'
  | 'cancelled'
  | 'unknown'

/** The one result of a call, run or not. `shown` is there when the model is given something shorter than `output`. */
export interface ToolResultEvent<Name extends string = string, Part = ToolResultPart> {
  readonly type: 'tool-result'
  readonly callId: string
  readonly name: Name
  readonly output: readonly Part[]
  readonly shown?: readonly Part[]
  readonly status: CallStatus
  /** True for every status but `ok`. The model is told. */
  readonly isError: boolean
  /** How long it ran; 0 if it never did. */
  readonly ms: number
  /** How much of that the model was still talking. */
  readonly overlapMs: number
  /** There if the rules were what kept it from running. */
  readonly permission?: Permission
}

/** A person has to decide before this call runs. */
export interface ApprovalRequestEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'approval-request'
  readonly callId: string
  readonly name: Name
  readonly input: Input
  readonly reason?: string
  readonly permission?: Permission
  /** The rules that would let the same pass without asking, and for how long they may be remembered. */
  readonly remember?: { readonly rules: readonly string[]; readonly for: readonly RememberFor[] }
}

/** `always` is past this thread, where the agent keeps such rules. */
export type RememberFor = 'thread' | 'always'

/** Rules that a person has allowed along with a call. */
export interface Remembered {
  readonly for: RememberFor
  readonly rules: readonly string[]
}

export interface ApprovalEvent {
  readonly type: 'approval'
  readonly callId: string
  readonly approved: boolean
  readonly reason?: string
  /** Run the call with this instead of what the model wrote. */
  readonly input?: JsonObject
  readonly remember?: Remembered
}

/**
 * Someone spoke:
 * - `queue`: to be answered after the current run
 * - `steer`: to the current run, whose next round hears it; answered like `queue` if there is none any more
 * - `interrupt`: the current run is cancelled, and this answered
 * - `correct`: the agent itself, to its model, on a bad answer
 */
export interface InputEvent {
  readonly type: 'input'
  readonly message: UserMessage
  readonly mode: InputMode | 'correct'
  /** Where runs are traced: the trace context of whoever spoke, a W3C `traceparent`. */
  readonly trace?: string
}

export type InputMode = 'queue' | 'steer' | 'interrupt'

/** Someone wants quiet: the current run is cancelled, and what waits is not answered by itself. The next run hears it. */
export interface StopEvent {
  readonly type: 'stop'
  readonly reason: string
}

/**
 * Somebody listened, and was interrupted: of the words of a round the first `chars` characters were heard, the others were not.
 * `run` is the first of a chain of resumed ones. Told again of the same round, the last one counts.
 */
export interface HeardEvent {
  readonly type: 'heard'
  readonly run: string
  readonly round: number
  readonly chars: number
}

/**
 * From here on the model reads `message` in place of the first `replaces` messages before the current round. Those of the
 * system among them stay, in front of it. The log keeps them all.
 */
export interface SummaryEvent {
  readonly type: 'summary'
  readonly replaces: number
  readonly message: UserMessage
  /** What it took to write it; counts as the run's. */
  readonly usage?: Partial<Usage>
}

export type Outcome = 'completed' | 'max-rounds' | 'truncated' | 'suspended' | 'cancelled' | 'failed'

/** Exactly one, the last. */
export interface RunEndEvent {
  readonly type: 'run-end'
  readonly outcome: Outcome
  /** Why the last generation ended, if there was one. */
  readonly finish?: RoundFinish
  readonly usage: Usage
  readonly error?: ErrorJson
}

/** The events that name a tool. */
type CallEvent = ToolInputStartEvent | ToolCallEvent | ToolStartEvent | ToolResultEvent | ApprovalRequestEvent

/**
 * What a run tells its listeners: the model's events placed in rounds, and everything around them. `Calls` are the events that
 * name a tool; an agent that knows its tools has narrower ones.
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
  | SummaryEvent
  | RunEndEvent

/** What stands in the log of a thread: its runs, one after the other, and what people say to it in between and meanwhile. */
export type ThreadEvent = RunEvent | StopEvent | HeardEvent

/**
 * A numbered event of a thread. Numbers count from 1 without a gap. `from` is there where deltas were joined: the entry then
 * stands for all numbers from that to `seq`.
 */
export interface Entry {
  readonly seq: number
  readonly from?: number
  /** When it was written, in milliseconds since 1970. */
  readonly at: number
  readonly event: ThreadEvent
}
