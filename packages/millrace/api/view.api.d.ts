type Align = 'left' | 'center' | 'right'

type AmountKind = keyof Amounts

interface Amounts {
  readonly usd: number
  readonly tokens: number
  readonly rounds: number
  readonly toolCalls: number
  readonly ms: number
}

interface ApprovalEvent {
  readonly type: 'approval'
  readonly callId: string
  readonly approved: boolean
  readonly reason?: string
  readonly input?: JsonObject
  readonly remember?: Remembered
  readonly output?: readonly ToolResultPart[]
  readonly isError?: boolean
  readonly request?: RunRequest
}

interface ApprovalRequestEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'approval-request'
  readonly callId: string
  readonly name: Name
  readonly input: Input
  readonly wants?: 'result'
  readonly reason?: string
  readonly permission?: Permission
  readonly remember?: {
    readonly rules: readonly string[]
    readonly for: readonly RememberFor[]
  }
  readonly budget?: ReachedLimit
  readonly display?: CallDisplay
}

interface ApprovalView {
  readonly request: ApprovalRequestEvent
  readonly at: number
  decision?: ApprovalEvent | undefined
  decidedAt?: number | undefined
}

interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
}

type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ProviderToolPart

type BudgetScope = 'run' | 'thread' | 'user' | 'agent'

interface CallDisplay {
  readonly kind?: CallKind
  readonly title?: string
  readonly locations?: readonly {
    readonly path: string
    readonly line?: number
  }[]
  readonly diff?: readonly {
    readonly path: string
    readonly oldText?: string
    readonly newText: string
  }[]
  readonly terminal?: string
}

type CallEvent = ToolInputStartEvent | ToolCallEvent | ToolStartEvent | ToolResultEvent | ApprovalRequestEvent

type CallKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'other'

type CallState = 'writing' | 'queued' | 'asking' | 'running' | CallStatus

type CallStatus = 'ok' | 'failed' | 'timeout' | 'rejected' | 'blocked' | 'denied' | 'canceled' | 'unknown'

interface CallView extends RowBase {
  readonly kind: 'call'
  readonly callId: string
  readonly name: string
  readonly wants?: 'result' | undefined
  readonly round: RoundView
  readonly seq: number
  state: CallState
  readonly createdAt: number
  closedAt?: number | undefined
  startedAt?: number | undefined
  endedAt?: number | undefined
  readonly raw: GrowingText
  input?: JsonObject | undefined
  changedInput?: JsonObject | undefined
  problem?: string | undefined
  attempts: number
  display?: CallDisplay | undefined
  rule?: string | undefined
  printed: string
  readonly progress: unknown[]
  progressCount: number
  readonly budget?: ReachedLimit | undefined
  readonly approvals: ApprovalView[]
  inner?: LogView | undefined
  result?: ToolResultEvent | undefined
  provider?:
    | {
        input?: JsonValue
        output?: JsonValue
        isError?: boolean
      }
    | undefined
}

interface Change {
  readonly entry: Entry
  input?: InputView
  run?: RunView
  round?: RoundView
  text?: TextView
  closed?: TextView
  call?: CallView
  state?: CallState
  progress?: JsonValue
  display?: CallDisplay
  inner?: Change
  retry?: RoundRetryEvent
  notice?: NoticeView
  rewound?: true
  metadata?: JsonObject
  read?: readonly InputView[]
  delta: string
}

interface CheckpointEvent {
  readonly type: 'checkpoint'
  readonly opaque?: ProviderData
}

interface ContextUse {
  readonly tokens: number
  readonly limit?: number
  readonly compactAt?: number
  readonly system: number
  readonly tools: number
  readonly history: number
  readonly results: number
}

interface Cost {
  readonly usd: number
  readonly prices: string
}

interface Detail {
  readonly href?: string
  readonly title?: string
  readonly info?: string
  readonly start?: number
  readonly align?: Align
  readonly done?: boolean
}

interface DoneEvent {
  readonly type: 'done'
  readonly finish: FinishReason
  readonly usage?: Partial<Usage>
  readonly contextTokens?: number
  readonly metadata?: JsonObject
}

interface EndView extends RowBase {
  readonly kind: 'end'
  readonly run: RunView
  readonly seq: number
  readonly at: number
}

interface Entry {
  readonly seq: number
  readonly from?: number
  readonly at: number
  readonly event: ThreadEvent
}

type ErrorCode =
  | 'invalid_input'
  | 'invalid_output'
  | 'streaming_not_supported'
  | 'stream_interrupted'
  | 'stream_error'
  | 'empty_answer'
  | 'llm_error'
  | 'rate_limit'
  | 'overloaded'
  | 'auth'
  | 'context_overflow'
  | 'timeout'
  | 'tool_failed'
  | 'hook_failed'
  | 'not_found'
  | 'conflict'
  | 'store_error'
  | 'workers_lost'
  | 'internal'

interface ErrorJson {
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly status?: number
  readonly retryAfterMs?: number
  readonly cause?: string
}

interface FailedRequest extends Paid {
  readonly model: string
}

interface FeedbackEvent {
  readonly type: 'feedback'
  readonly run: string
  readonly rating?: 'up' | 'down'
  readonly note?: string
  readonly user?: string
}

type Fields = Readonly<Record<string, unknown>>

type FilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
} & (
  | {
      readonly url: string
    }
  | {
      readonly data: string
    }
)

type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'refusal' | 'other'

interface GrowingText {
  readonly pieces: string[]
  chars: number
  closed: boolean
}

type ImagePart =
  | {
      readonly type: 'image'
      readonly url: string
    }
  | {
      readonly type: 'image'
      readonly data: string
      readonly mediaType: string
    }

interface InputEvent {
  readonly type: 'input'
  readonly message: UserMessage
  readonly mode: InputMode | 'correct'
  readonly request?: RunRequest
  readonly trace?: string
}

type InputMode = 'queue' | 'steer' | 'interrupt'

interface InputView extends RowBase {
  readonly kind: 'input'
  readonly seq: number
  readonly at: number
  readonly message: UserMessage
  readonly mode: InputEvent['mode']
  run?: RunView | undefined
  held: boolean
}

interface JsonObject {
  readonly [key: string]: JsonValue
}

interface JsonPart<Value = JsonValue> {
  readonly type: 'json'
  readonly value: Value
}

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

interface LegView {
  readonly runId: string
  readonly seq: number
  readonly at: number
  endedAt?: number | undefined
  outcome?: Outcome | undefined
  readonly why: 'first' | 'lost' | 'person'
  readonly losses: number
}

interface LogView {
  readonly rows: Row[]
  waiting: InputView[]
  readonly versions: Map<string, Versions>
  readonly runs: RunView[]
  title?: string | undefined
  metadata?: JsonObject | undefined
  head: number
  version: number
  readonly open: OpenState
}

interface MarkdownParser {
  write(piece: string): void
  end(): void
  readonly held: {
    readonly text: string
    readonly line: string
  }
}

type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

interface MetadataEvent {
  readonly type: 'metadata'
  readonly patch: JsonObject
  readonly initial?: JsonObject
}

type ModelEvent =
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

interface ModelSettings {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly stop?: readonly string[] | undefined
  readonly seed?: number | undefined
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | undefined
  readonly parallelToolCalls?: boolean | undefined
  readonly extra?: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

interface NoticeView extends RowBase {
  readonly kind: 'notice'
  readonly notice: 'retract' | 'retry' | 'taken-over' | 'summary' | 'repairs' | 'correction'
  readonly at: number
  readonly seq: number
  readonly text: string
  readonly detail?: string
}

interface OpenState {
  readonly keyPrefix: string
  readonly onlyRound: boolean
  rows: Row[]
  rewind?: number | undefined
  isAnswering: boolean
  discarded: InputView[]
  run?: RunView | undefined
  round?: RoundView | undefined
  text?: TextView | undefined
  readonly calls: Map<string, CallView>
  roundRowsStart: number
  isPartial: boolean
  last?: Entry | undefined
}

type Outcome = (typeof outcomes)[number]

interface OutputChunk {
  readonly toolCallId: string
  readonly dynamic: true
  readonly providerExecuted?: boolean
}

interface Paid {
  readonly usage?: Partial<Usage>
  readonly estimate?: TokenEstimate
  readonly cost?: Cost
}

interface PartEndEvent {
  readonly type: 'part-end'
  readonly part: 'text' | 'reasoning'
  readonly opaque?: ProviderData
}

interface PartialJson {
  push(delta: string): void
  readonly value: JsonValue | undefined
  readonly complete: boolean
  readonly problem: string | undefined
  end():
    | {
        readonly value: JsonValue
        readonly problem?: undefined
      }
    | {
        readonly problem: string
      }
}

interface Permission {
  readonly decision: 'allow' | 'ask' | 'deny'
  readonly rule: string
}

interface PlaybackEvent {
  readonly type: 'playback'
  readonly run: string
  readonly round: number
  readonly chars: number
}

interface PostedAnswers {
  readonly decisions: ReadonlyMap<
    string,
    {
      readonly approved: boolean
      readonly reason?: string
    }
  >
  readonly results: ReadonlyMap<
    string,
    {
      readonly output: unknown
      readonly isError: boolean
    }
  >
}

interface PostedChat {
  readonly id: string | undefined
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId: string | undefined
  readonly posted: readonly PostedMessage[]
  readonly mode: InputMode | undefined
  readonly request: RunRequest
}

interface PostedMessage {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Fields[]
}

interface ProviderData {
  readonly provider: string
  readonly data: JsonValue
}

interface ProviderToolEvent {
  readonly type: 'provider-tool'
  readonly callId: string
  readonly name: string
  readonly input?: JsonValue
  readonly output?: JsonValue
  readonly isError?: boolean
  readonly opaque?: ProviderData
}

interface ProviderToolPart {
  readonly type: 'provider-tool'
  readonly callId: string
  readonly name: string
  readonly input?: JsonValue
  readonly output?: JsonValue
  readonly isError?: boolean
  readonly opaque: ProviderData
}

interface ReachedLimit {
  readonly scope: BudgetScope
  readonly kind: AmountKind
  readonly limit: number
  readonly spent: number
}

interface ReasoningEvent {
  readonly type: 'reasoning'
  readonly text: string
}

interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque?: ProviderData
}

type RememberFor = 'thread' | 'always'

interface Remembered {
  readonly for: RememberFor
  readonly rules: readonly string[]
}

interface RestartEvent {
  readonly type: 'restart'
  readonly reason: string
}

interface ResultFold {
  applyEntry(entry: Entry): Change | undefined
  result(): RunSummary
}

interface RewindEvent {
  readonly type: 'rewind'
  readonly before: number
  readonly keep?: number
  readonly messages?: readonly Message[]
  readonly answer?: true
  readonly request?: RunRequest
}

interface RoundEndEvent extends Paid {
  readonly type: 'round-end'
  readonly round: number
  readonly model: string
  readonly finish: RoundFinish
  readonly error?: ErrorJson
  readonly contextTokens?: number
  readonly context?: ContextUse
  readonly timings?: RoundTimings
  readonly metadata?: JsonObject
}

type RoundFinish = FinishReason | 'interrupted'

interface RoundInput {
  readonly messages: readonly Message[]
  readonly request?: RunRequest | undefined
}

interface RoundRetractEvent {
  readonly type: 'round-retract'
  readonly round: number
  readonly reason: string
  readonly failed?: FailedRequest
}

interface RoundRetryEvent {
  readonly type: 'round-retry'
  readonly round: number
  readonly attempt: number
  readonly model: string
  readonly delayMs: number
  readonly error: ErrorJson
  readonly failed?: FailedRequest
}

interface RoundStartEvent {
  readonly type: 'round-start'
  readonly round: number
  readonly model: string
  readonly inputs?: readonly number[]
  readonly limit?: ReachedLimit
  readonly failed?: FailedRequest
}

interface RoundTimings {
  readonly firstEventMs?: number
  readonly ms: number
  readonly tokensPerSecond?: number
}

interface RoundView {
  readonly run: RunView
  readonly runId: string
  readonly number: number
  model: string
  readonly seq: number
  readonly isRetry: boolean
  readonly startedAt: number
  firstAt?: number | undefined
  endedAt?: number | undefined
  readonly inputs: InputView[]
  readonly retries: {
    readonly seq: number
    readonly at: number
    readonly retry: RoundRetryEvent
  }[]
  retracted?:
    | {
        readonly at: number
        readonly reason: string
        readonly failed?: FailedRequest
      }
    | undefined
  readonly parts: (TextView | CallView)[]
  readonly calls: CallView[]
  end?: RoundEndEvent | undefined
  version: number
}

type Row = InputView | TextView | CallView | NoticeView | EndView

interface RowBase {
  readonly key: string
  version: number
}

interface RunEndEvent {
  readonly type: 'run-end'
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  readonly usage: Usage
  readonly error?: ErrorJson
  readonly ms?: number
  readonly limit?: ReachedLimit
  readonly failed?: FailedRequest
}

type RunEvent<Calls = CallEvent> =
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

interface RunRequest {
  readonly model?: string | undefined
  readonly tools?: readonly ToolSpec[] | undefined
  readonly system?: string | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly output?: JsonObject | undefined
  readonly replace?:
    | {
        readonly system?: string | undefined
        readonly tools?: readonly string[] | undefined
      }
    | undefined
  readonly metadata?: JsonObject | undefined
}

interface RunStartEvent {
  readonly type: 'run-start'
  readonly version: number
  readonly runId: string
  readonly agent: string
  readonly input: readonly Message[]
  readonly repairs?: readonly string[]
  readonly resumes?: string
  readonly inputs?: readonly number[]
  readonly discarded?: readonly number[]
  readonly losses?: number
  readonly lostMs?: number
  readonly trace?: string
}

interface RunSummary {
  readonly runId?: string
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  readonly text: string
  readonly usage: Usage
  readonly cost: TotalCost
  readonly context?: ContextUse
  readonly limit?: ReachedLimit
  readonly rounds: number
  readonly error?: ErrorJson
}

interface RunView {
  readonly id: string
  readonly agent: string
  readonly seq: number
  after: string
  lastSeq: number
  readonly startedAt: number
  lastAt: number
  readonly inputs: InputView[]
  readonly legs: LegView[]
  readonly rounds: RoundView[]
  readonly calls: CallView[]
  outcome?: Outcome | undefined
  finish?: RoundFinish | undefined
  usage: Usage
  readonly spent: Spent
  context?: ContextUse | undefined
  limit?: ReachedLimit | undefined
  error?: ErrorJson | undefined
  readonly feedback: Map<
    string,
    FeedbackEvent & {
      readonly at: number
    }
  >
  version: number
}

interface Sink {
  open(tag: Tag, detail?: Detail): void
  text(text: string): void
  close(): void
  undo(mark: string): void
  loosen(): void
  blank?(): void
}

interface Spent {
  nanos: number
  tokens: number
  rounds: number
  toolCalls: number
  ms: number
  unknown: number
  estimatedNanos: number
  simulatedNanos: number
  tools: Record<string, number>
}

interface StopEvent {
  readonly type: 'stop'
  readonly reason: string
}

interface SummaryEvent extends Paid {
  readonly type: 'summary'
  readonly replaces: number
  readonly message: UserMessage
  readonly model?: string
}

interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}

type Tag =
  | ('p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'quote' | 'ul' | 'ol' | 'li' | 'pre' | 'hr')
  | ('table' | 'head' | 'row' | 'th' | 'td')
  | ('strong' | 'em' | 's' | 'code' | 'a' | 'br' | 'task')

interface TextEvent {
  readonly type: 'text'
  readonly text: string
}

interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly unplayed?: string
  readonly opaque?: ProviderData
}

interface TextView extends RowBase {
  readonly kind: 'text' | 'reasoning'
  readonly round: RoundView
  readonly seq: number
  readonly at: number
  endedAt: number
  readonly text: GrowingText
  played?: number | undefined
}

type ThreadEvent = RunEvent | StopEvent | PlaybackEvent | RewindEvent | TitleEvent | FeedbackEvent

type ThreadStatus = 'idle' | 'queued' | 'running' | 'waiting'

interface TitleEvent {
  readonly type: 'title'
  readonly title: string
}

type TokenEstimate = Pick<Usage, 'inputTokens' | 'outputTokens'>

interface ToolCallEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: Name
  readonly input: Input
  readonly problem?: string
  readonly raw?: string
  readonly opaque?: ProviderData
  readonly wants?: 'result'
}

interface ToolCallPart {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  readonly input: JsonObject
  readonly raw?: string
  readonly opaque?: ProviderData
}

type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | {
      readonly name: string
    }

interface ToolChunk {
  readonly toolCallId: string
  readonly toolName: string
  readonly dynamic: true
  readonly providerExecuted?: boolean
}

interface ToolInputEvent {
  readonly type: 'tool-input'
  readonly callId: string
  readonly delta: string
}

interface ToolInputStartEvent<Name extends string = string> {
  readonly type: 'tool-input-start'
  readonly callId: string
  readonly name: Name
  readonly wants?: 'result'
}

interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: readonly ToolResultPart[]
  readonly isError?: boolean
}

interface ToolProgressEvent {
  readonly type: 'tool-progress'
  readonly callId: string
  readonly data?: JsonValue
  readonly event?: RunEvent
  readonly name?: string
  readonly agent?: string
}

interface ToolResultEvent<Name extends string = string, Part = ToolResultPart> {
  readonly type: 'tool-result'
  readonly callId: string
  readonly name: Name
  readonly output: readonly Part[]
  readonly shown?: readonly Part[]
  readonly status: CallStatus
  readonly isError: boolean
  readonly ms: number
  readonly overlapMs: number
  readonly permission?: Permission
  readonly cost?: Cost
}

type ToolResultPart = TextPart | JsonPart | ImagePart

interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly strict?: boolean
}

interface ToolStartEvent<Name extends string = string, Input = JsonObject> {
  readonly type: 'tool-start'
  readonly callId: string
  readonly name: Name
  readonly attempt: number
  readonly input?: Input
  readonly permission?: Permission
  readonly display?: CallDisplay
}

interface TotalCost {
  readonly usd?: number
  readonly knownUsd: number
  readonly unknown?: number
  readonly estimatedUsd?: number
  readonly simulatedUsd?: number
  readonly tools?: Readonly<Record<string, number>>
}

interface UIApproval<Approved> {
  readonly id: string
  readonly approved: Approved
  readonly reason?: string
}

interface UIConversation extends Omit<PostedChat, 'posted'> {
  readonly messages: readonly Message[]
  readonly ids: readonly (string | undefined)[]
  readonly tools: readonly ToolSpec[]
}

interface UIFile {
  readonly type: 'file'
  readonly mediaType: string
  readonly url: string
  readonly filename?: string
  readonly providerMetadata?: {
    millrace: {
      callId: string
    }
  }
}

type UIFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'interrupted' | 'other'

interface UIMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  metadata?: UIMessageMetadata
  readonly parts: UIMessagePart[]
}

type UIMessageChunk =
  | {
      readonly type: 'start'
      readonly messageId?: string
    }
  | {
      readonly type: 'start-step' | 'finish-step' | 'reset-step'
    }
  | {
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'
      readonly id: string
    }
  | {
      readonly type: 'text-delta' | 'reasoning-delta'
      readonly id: string
      readonly delta: string
    }
  | ({
      readonly type: 'tool-input-start'
    } & ToolChunk)
  | {
      readonly type: 'tool-input-delta'
      readonly toolCallId: string
      readonly inputTextDelta: string
    }
  | ({
      readonly type: 'tool-input-available'
      readonly input: unknown
    } & ToolChunk)
  | ({
      readonly type: 'tool-input-error'
      readonly input: unknown
      readonly errorText: string
    } & ToolChunk)
  | {
      readonly type: 'tool-approval-request'
      readonly approvalId: string
      readonly toolCallId: string
      readonly reason?: string
      readonly approvalDescriptor?: unknown
    }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | ({
      readonly type: 'tool-output-available'
      readonly output: unknown
      readonly preliminary?: true
    } & OutputChunk)
  | ({
      readonly type: 'tool-output-error'
      readonly errorText: string
    } & OutputChunk)
  | {
      readonly type: 'tool-output-denied'
      readonly toolCallId: string
    }
  | UISource
  | UIFile
  | {
      readonly type: 'steering-message'
      readonly id: string
      readonly parts: (UIText | UIFile)[]
    }
  | {
      readonly type: 'error'
      readonly errorText: string
    }
  | {
      readonly type: 'abort'
      readonly reason?: string
    }
  | {
      readonly type: 'finish'
      readonly finishReason: UIFinishReason
      readonly messageMetadata?: UIMessageMetadata
    }

interface UIMessageChunks {
  applyEntry(entry: Entry): readonly UIMessageChunk[]
  readonly isDone: boolean
  end(): readonly UIMessageChunk[]
}

interface UIMessageChunksOptions {
  readonly answers?: number | undefined
  readonly head?: number
  readonly continueAfter?: number | undefined
}

interface UIMessageMetadata {
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly totalTokens: number
    readonly reasoningTokens: number
    readonly cachedInputTokens: number
  }
}

type UIMessagePart =
  | UIText
  | {
      readonly type: 'reasoning'
      readonly text: string
      readonly state?: 'streaming' | 'done'
    }
  | UIFile
  | UISource
  | {
      readonly type: 'step-start'
    }
  | {
      readonly type: 'steering-message'
      readonly id: string
      readonly parts: (UIText | UIFile)[]
    }
  | (UITool & UIToolState)

interface UISource {
  readonly type: 'source-url'
  readonly sourceId: string
  readonly url: string
  readonly title?: string
}

interface UIText {
  readonly type: 'text'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

interface UITool {
  readonly type: 'dynamic-tool'
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: boolean
}

type UIToolState =
  | {
      readonly state: 'input-streaming'
      readonly input: unknown
      readonly rawInput: string
    }
  | {
      readonly state: 'input-available'
      readonly input: unknown
    }
  | {
      readonly state: 'approval-requested'
      readonly input: unknown
      readonly approval: {
        readonly id: string
        readonly requestReason?: string
        readonly descriptor?: unknown
      }
    }
  | {
      readonly state: 'output-available'
      readonly input: unknown
      readonly output: unknown
    }
  | {
      readonly state: 'output-error'
      readonly input: unknown
      readonly errorText: string
    }
  | {
      readonly state: 'output-denied'
      readonly input: unknown
      readonly approval: UIApproval<false>
    }

interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly cacheWrite1hTokens?: number
  readonly inputAudioTokens?: number
  readonly outputAudioTokens?: number
  readonly inputImageTokens?: number
  readonly outputImageTokens?: number
  readonly webSearches?: number
}

interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly UserPart[]
}

type UserPart = TextPart | ImagePart | FilePart

interface Version {
  rows: Row[]
  replacedBy?: number | undefined
}

interface Versions {
  readonly list: Version[]
  readonly current: number
}

interface ViewOptions {
  readonly keep?: 'all' | 'round'
  readonly metadata?: JsonObject | undefined
}

declare function addSpent(a: Spent, b: Spent): Spent

declare function applyEntry(view: LogView, entry: Entry): Change

declare function budgetQuestion(limit: ReachedLimit, input: JsonObject): string

declare function countSpend(spent: Spent, event: ThreadEvent): void

declare function createView({ keep, metadata }?: ViewOptions): LogView

declare function foldResult(seq?: number): ResultFold

declare function formatAmount(kind: AmountKind, amount: number): string

declare function formatUsd(usd: number): string

declare function limitText(limit: ReachedLimit): string

declare function markdownParser(sink: Sink): MarkdownParser

declare function nothingSpent(): Spent

declare const outcomes: readonly [
  'completed',
  'max-rounds',
  'budget',
  'truncated',
  'suspended',
  'canceled',
  'failed',
]

declare function partialJson({ maxDepth }?: { maxDepth?: number }): PartialJson

declare function readAnswers({ parts }: PostedMessage): PostedAnswers

declare function readConversation(posted: readonly PostedMessage[]): {
  messages: Message[]
  ids: (string | undefined)[]
}

declare function readPostedChat(body: unknown): PostedChat

declare function readUIMessages(body: unknown): UIConversation

declare function roundInput(entries: readonly Entry[], seq: number): RoundInput

declare function roundText({ parts }: RoundView): string

declare const simulatedPrices = 'simulated'

declare const sseEnd = 'data: [DONE]\n\n'

declare function sseOfChunks(chunks: readonly UIMessageChunk[]): string

declare function statusOf(view: LogView): ThreadStatus

declare function textOf({ content }: UserMessage): string

declare function totalCost({ nanos, unknown, estimatedNanos, simulatedNanos, tools }: Spent): TotalCost

declare function uiMessageChunks(options?: UIMessageChunksOptions): UIMessageChunks

declare const uiMessageHeaders: {
  'content-type': string
  'cache-control': string
  'x-accel-buffering': string
  'x-vercel-ai-ui-message-stream': string
}

declare function uiMessages({ rows, waiting }: LogView): UIMessage[]

declare function userMessage({ id, parts }: PostedMessage): Message & {
  readonly role: 'user'
}

export {
  type ApprovalView,
  type CallState,
  type CallView,
  type Change,
  type ContextUse,
  type Detail,
  type EndView,
  type ErrorJson,
  type GrowingText,
  type InputView,
  type LegView,
  type LogView,
  type Message,
  type NoticeView,
  type Outcome,
  type Paid,
  type PostedAnswers,
  type PostedChat,
  type PostedMessage,
  type ReachedLimit,
  type ResultFold,
  type RoundInput,
  type RoundView,
  type Row,
  type RunSummary,
  type RunView,
  type Sink,
  type Spent,
  type Tag,
  type TextView,
  type ToolResultEvent,
  type TotalCost,
  type UIConversation,
  type UIMessage,
  type UIMessageChunk,
  type UIMessageChunks,
  type UIMessageChunksOptions,
  type UIMessagePart,
  type Usage,
  type UserMessage,
  type Version,
  type Versions,
  type ViewOptions,
  addSpent,
  applyEntry,
  budgetQuestion,
  countSpend,
  createView,
  foldResult,
  formatAmount,
  formatUsd,
  limitText,
  markdownParser,
  nothingSpent,
  partialJson,
  readAnswers,
  readConversation,
  readPostedChat,
  readUIMessages,
  roundInput,
  roundText,
  simulatedPrices,
  sseEnd,
  sseOfChunks,
  statusOf,
  textOf,
  totalCost,
  uiMessageChunks,
  uiMessageHeaders,
  uiMessages,
  userMessage,
}
