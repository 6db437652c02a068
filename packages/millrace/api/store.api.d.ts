type AmountKind = keyof Amounts

interface Amounts {
  readonly usd: number
  readonly tokens: number
  readonly rounds: number
  readonly toolCalls: number
  readonly ms: number
}

type AppendResult = readonly Entry[] | 'fenced' | 'busy'

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

interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
}

type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ProviderToolPart

interface Batch {
  readonly lease: Lease
  readonly number: number
  readonly events: readonly ThreadEvent[]
  readonly freed?: readonly string[] | undefined
}

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

type CallStatus = 'ok' | 'failed' | 'timeout' | 'rejected' | 'blocked' | 'denied' | 'canceled' | 'unknown'

interface CallerUsage {
  readonly runs: number
  readonly waiting: number
  readonly storedBytes: number
  readonly bytesThisMinute: number
  readonly tokensThisMinute: number
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

interface CreateOptions {
  readonly entries?: readonly Entry[] | undefined
  readonly keys?: ReadonlyMap<string, number> | undefined
  readonly createdAt?: number | undefined
  readonly quotas?: Quotas | undefined
}

interface DayLimit {
  readonly scope: 'user' | 'agent'
  readonly name: string
  readonly limits: Limits
}

interface DoneEvent {
  readonly type: 'done'
  readonly finish: FinishReason
  readonly usage?: Partial<Usage>
  readonly contextTokens?: number
  readonly metadata?: JsonObject
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

interface ForkOptions {
  readonly events?: readonly ThreadEvent[] | undefined
  readonly waiting?: number | undefined
  readonly quotas?: Quotas | undefined
}

interface Hold {
  readonly id: string
  readonly least: Limits
  readonly most: Limits
  readonly limits: readonly DayLimit[]
}

type HoldResult =
  | {
      readonly type: 'held'
      readonly toolCalls?: ReachedLimit | undefined
    }
  | {
      readonly type: 'wait' | 'fenced'
    }
  | {
      readonly type: 'reached'
      readonly limit: ReachedLimit
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

interface JsonObject {
  readonly [key: string]: JsonValue
}

interface JsonPart<Value = JsonValue> {
  readonly type: 'json'
  readonly value: Value
}

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

interface KeyedEntry {
  readonly threadId: string
  readonly seq: number
}

interface Lease {
  readonly threadId: string
  readonly owner: string
  readonly epoch: number
}

type Limits = { readonly [Kind in AmountKind]?: number | undefined }

interface ListOptions {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  readonly search?: readonly string[] | undefined
  readonly outcome?: Outcome | undefined
  readonly error?: string | undefined
  readonly tool?: string | undefined
  readonly minNanos?: number | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

interface MemoryStoreOptions {
  readonly now?: (() => number) | undefined
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

interface NewThread extends Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom'> {
  readonly label?: ThreadLabel | undefined
  readonly caller?: string | undefined
  readonly priority?: Priority | undefined
}

type Outcome = (typeof outcomes)[number]

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

type Priority = 'interactive' | 'batch'

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

interface Quotas {
  readonly runs: number
  readonly waiting: number
  readonly storedBytes: number
  readonly bytesPerMinute: number
  readonly tokensPerMinute: number
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

interface RunLimits {
  readonly perCaller?: number | undefined
  readonly perAgent?: Readonly<Record<string, number>> | undefined
}

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

interface RunnableThread {
  readonly id: string
  readonly agent: string
  readonly head: number
  readonly priority: Priority
  readonly waitedMs: number
}

interface SharedRate {
  readonly name: string
  readonly perMinute: number
  readonly burst: number
}

interface SignalOptions {
  readonly quotas?: Quotas | undefined
  readonly label?: ThreadLabel | undefined
  readonly relabel?: boolean | undefined
}

interface Signaled extends Pick<StoredThread, 'agent' | 'priority'> {
  readonly entry: Entry
  readonly repeated: boolean
}

interface SnapshotWrite {
  readonly parts: Iterable<readonly [name: string, text: string]>
  readonly head?:
    | {
        readonly seq: number
        readonly state: string
      }
    | undefined
}

type SpendingKey = 'day' | 'agent' | 'user' | 'model' | 'tool'

interface SpendingOptions {
  readonly by?: readonly SpendingKey[] | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly agent?: string | undefined
  readonly user?: string | undefined
}

interface SpendingRow {
  readonly day?: string
  readonly agent?: string
  readonly user?: string
  readonly model?: string
  readonly tool?: string
  readonly usd: number
  readonly estimatedUsd: number
  readonly simulatedUsd: number
  readonly unknown: number
  readonly runs: number
  readonly rounds: number
  readonly toolCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly ms: number
}

interface StopEvent {
  readonly type: 'stop'
  readonly reason: string
}

interface StoredThread extends ThreadInfo {
  readonly bytes: number
  readonly caller?: string | undefined
  readonly priority: Priority
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

type ThreadEvent = RunEvent | StopEvent | PlaybackEvent | RewindEvent | TitleEvent | FeedbackEvent

interface ThreadFacts {
  readonly outcome?: Outcome | undefined
  readonly error?: string | undefined
  readonly nanos: number
  readonly tools: readonly string[]
  readonly texts: readonly ThreadText[]
}

interface ThreadInfo {
  readonly id: string
  readonly agent: string
  readonly title?: string
  readonly user?: string
  readonly metadata?: JsonObject
  readonly forkedFrom?: {
    readonly id: string
    readonly seq: number
  }
  readonly createdAt: number
  readonly updatedAt: number
  readonly head: number
  readonly status: ThreadStatus
  readonly outcome?: Outcome
  readonly error?: string
  readonly knownUsd?: number
  readonly match?: {
    readonly seq: number
    readonly text: string
  }
}

interface ThreadLabel {
  readonly title?: string | undefined
  readonly search: string
}

interface ThreadPage {
  readonly threads: readonly ThreadInfo[]
  readonly next?: string
}

type ThreadStatus = 'idle' | 'queued' | 'running' | 'waiting'

interface ThreadStore {
  create(thread: NewThread, options?: CreateOptions): Promise<boolean>
  fork(threadId: string, at: number, thread: NewThread, options?: ForkOptions): Promise<boolean>
  get(threadId: string): Promise<StoredThread | undefined>
  list(options: ListOptions): Promise<ThreadPage>
  delete(threadId: string): Promise<boolean>
  append(batches: readonly Batch[]): Promise<readonly AppendResult[]>
  signal(threadId: string, key: string, event: ThreadEvent, options?: SignalOptions): Promise<Signaled>
  read(
    threadId: string,
    options: {
      readonly after: number
      readonly limit: number
      readonly split?: boolean | undefined
    },
  ): Promise<readonly Entry[]>
  heads(threadIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  claim(
    threadId: string,
    owner: string,
    leaseMs: number,
    limits?: RunLimits,
  ): Promise<
    | {
        readonly lease: Lease
        readonly losses: number
      }
    | undefined
  >
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly Lease[]>
  release(
    lease: Lease,
    left: {
      readonly head: number
      readonly status: 'idle' | 'waiting' | 'runnable'
      readonly facts?: ThreadFacts | undefined
    },
  ): Promise<'released' | 'moved' | 'fenced'>
  saveFacts(lease: Lease, facts: ThreadFacts): Promise<'saved' | 'fenced'>
  findRunnable(
    limit: number,
    agents: readonly string[],
    limits?: RunLimits,
  ): Promise<readonly RunnableThread[]>
  findUnchanged(forMs: number, limit: number): Promise<readonly string[]>
  keys(threadId: string, key?: string): Promise<ReadonlyMap<string, number>>
  findKey(key: string, limit: number): Promise<readonly KeyedEntry[]>
  reserve(rate: SharedRate, amount: number): Promise<number>
  usage(caller: string): Promise<CallerUsage>
  hold(lease: Lease, hold: Hold): Promise<HoldResult>
  spending(options: SpendingOptions): Promise<readonly SpendingRow[]>
  snapshot(
    threadId: string,
    upTo?: number,
  ): Promise<
    | {
        readonly seq: number
        readonly state: string
      }
    | undefined
  >
  snapshotPart(threadId: string, name: string): Promise<string | undefined>
  saveSnapshot(lease: Lease, snapshot: SnapshotWrite): Promise<'saved' | 'fenced'>
  packDeltas(threadId: string, upTo: number): Promise<void>
  watch(watcher: Watcher): Watch
  close(): Promise<void>
}

interface ThreadText {
  readonly seq: number
  readonly text: string
  readonly search: string
}

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

interface Watch {
  readonly isReliable?: boolean | undefined
  follow(threadId: string): void
  unfollow(threadId: string): void
  close(): void
}

interface Watcher {
  readonly changed?: ((threadId: string, head?: number) => void) | undefined
  readonly runnable?: (() => void) | undefined
  readonly missed?: (() => void) | undefined
}

declare function memoryStore(options?: MemoryStoreOptions): ThreadStore

declare const outcomes: readonly [
  'completed',
  'max-rounds',
  'budget',
  'truncated',
  'suspended',
  'canceled',
  'failed',
]

export {
  type AppendResult,
  type Batch,
  type CallerUsage,
  type CreateOptions,
  type DayLimit,
  type ForkOptions,
  type Hold,
  type HoldResult,
  type KeyedEntry,
  type Lease,
  type ListOptions,
  type MemoryStoreOptions,
  type NewThread,
  type Priority,
  type Quotas,
  type RunLimits,
  type RunnableThread,
  type SharedRate,
  type SignalOptions,
  type Signaled,
  type SnapshotWrite,
  type SpendingKey,
  type SpendingOptions,
  type SpendingRow,
  type StoredThread,
  type ThreadFacts,
  type ThreadLabel,
  type ThreadStore,
  type ThreadText,
  type Watch,
  type Watcher,
  memoryStore,
}
