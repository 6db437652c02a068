import { Socket } from 'node:net'

type Access = RunAccess | PathAccess | FetchAccess

interface AgUiOptions {
  readonly path?: string | undefined
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  readonly graceMs?: number | undefined
}

interface Agent<
  Context = unknown,
  Output = undefined,
  Draft = Output,
  Calls extends CallTypes = CallTypes,
  Name extends string = string,
> {
  readonly name: Name
  stream(input: AgentInput, ...options: OptionsArgument<Context>): Run<Output, Draft, Calls>
  run(input: AgentInput, ...options: OptionsArgument<Context>): Promise<RunResult<Output, Calls['request']>>
  plan(input: AgentInput, ...options: OptionsArgument<Context>): Plan<Calls>
  resume(
    events: readonly RunEvent[],
    ...options: OptionsArgument<Context, WithDecisions>
  ): Run<Output, Draft, Calls>
  asTool<const ToolName extends string = Name>(
    options: AsToolOptions<ToolName>,
  ): AgentTool<Context, NoInfer<ToolName>, string | Exclude<Output, undefined>>
}

interface AgentDetails extends Omit<AgentInfo, 'tools' | 'models'> {
  readonly system?: string
  readonly tools: readonly ToolSpec[]
  readonly models: readonly AgentModel[]
  readonly rules?: readonly string[]
  readonly settings: ModelSettings
  readonly toolChoice?: ToolChoice
  readonly output?: JsonObject
  readonly limits: Readonly<Record<string, number>>
  readonly budget?: JsonObject
}

interface AgentInfo {
  readonly name: string
  readonly description?: string
  readonly starters?: readonly string[]
  readonly tools: readonly string[]
  readonly models: readonly string[]
  readonly isSimulated?: true
  readonly notices?: readonly string[]
}

type AgentInput = string | InputMessage | readonly InputMessage[]

interface AgentModel {
  readonly id: string
  readonly provider: string
  readonly contextTokens?: number
  readonly isFallback?: true
  readonly isSimulated?: true
}

interface AgentTool<Context = any, Name extends string = string, Output = unknown>
  extends Tool<
    Context,
    Name,
    {
      prompt: string
    },
    Promise<Output>
  > {
  readonly notices: NonNullable<Toolbox['notices']>
}

interface AiSdkUiOptions {
  readonly path?: string | undefined
  readonly socketPath?: string | undefined
  readonly agent?: string | undefined
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  readonly graceMs?: number | undefined
  readonly replayMs?: number | undefined
}

type AmountKind = keyof Amounts

interface Amounts {
  readonly usd: number
  readonly tokens: number
  readonly rounds: number
  readonly toolCalls: number
  readonly ms: number
}

interface App {
  readonly agents: readonly string[]
  notices(agent?: string): Promise<readonly string[]>
  describe(agent?: string): AgentDetails
  thread(id?: string, options?: ThreadOptions): Thread
  threads(options?: ThreadsOptions): Promise<ThreadPage>
  deleteThreads(options: { readonly user: string }): Promise<number>
  usage(caller: string): Promise<QuotaUsage>
  spending(options?: SpendingOptions): Promise<readonly SpendingRow[]>
  pause(): void
  resume(): void
  rejected(limit: string): void
  readonly buffer: Budget$1
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

interface AppGauges {
  followers(): number
  lag(): number
  running(): number
  waiting(): number
  oldest?(): number
  buffered(): number
}

interface AppOptions {
  readonly agents: Agent<never, unknown> | Readonly<Record<string, Agent<never, unknown>>>
  readonly store?: ThreadStore | undefined
  readonly exchanges?: ExchangeStore | undefined
  readonly context?: ((thread: ThreadInfo) => unknown) | undefined
  readonly leaseMs?: number | undefined
  readonly recoverMs?: number | undefined
  readonly flushMs?: number | undefined
  readonly maxLosses?: number | undefined
  readonly maxRuns?: number | undefined
  readonly maxRunBytes?: number | undefined
  readonly cacheBytes?: number | undefined
  readonly dispatcher?: Dispatcher | undefined
  readonly works?: boolean | undefined
  readonly storeTimeoutMs?: number | undefined
  readonly maxAgentRuns?: Readonly<Record<string, number>> | undefined
  readonly keepDays?: number | undefined
  readonly quotas?: Partial<Quotas> | undefined
  readonly budget?: Budget | undefined
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  readonly onError?: ((error: MillraceError) => void) | undefined
}

interface AppTelemetry {
  flushed(flush: Flush): void
  failed(error: MillraceError): void
  rejected?(limit: string): void
  closed(): void
}

type AppendResult = readonly Entry[] | 'fenced' | 'busy'

interface ApprovalAnswer {
  readonly approved: boolean
  readonly reason?: string | undefined
  readonly input?: object | undefined
  readonly remember?: RememberFor | Remembered | undefined
  readonly request?: RunRequest | undefined
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

type Approve<Input, Context> = (
  input: Input,
  context: {
    readonly callId: string
    readonly context: Context
  },
) => ApproveResult | Promise<ApproveResult>

type ApproveResult = boolean | string | undefined

interface AsToolOptions<Name extends string = string>
  extends Pick<
    ToolOptions<Schema, unknown>,
    'description' | 'timeoutMs' | 'exclusive' | 'approve' | 'maxResultChars'
  > {
  readonly name?: Name | undefined
}

interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
}

type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ProviderToolPart

type Auth = (request: Request) => Identity | null | undefined | Promise<Identity | null | undefined>

interface BackgroundGeneration {
  resume(checkpoint: ProviderData, request: ModelRequest, options: StreamOptions): ModelStream
  cancel(checkpoint: ProviderData, settings: ModelSettings): Promise<void>
}

interface Batch {
  readonly lease: Lease
  readonly number: number
  readonly events: readonly ThreadEvent[]
  readonly freed?: readonly string[] | undefined
}

interface Budget extends Limits$1 {
  readonly thread?: Limits$1 | undefined
  readonly userPerDay?: Limits$1 | undefined
  readonly agentPerDay?: Limits$1 | undefined
  readonly onLimit?: OnLimit | undefined
}

interface Budget$1 {
  limit: number
  readonly used: number
  isFull(caller?: string | undefined, bytes?: number): boolean
  heldBy(caller: string): number
  add(bytes: number, caller?: string | undefined): void
  whenRoom(caller: string | undefined, bytes: number, callback: () => void): void
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

type CallEnd =
  | {
      readonly done: DoneEvent
      readonly error?: undefined
    }
  | {
      readonly done?: undefined
      readonly error: MillraceError
    }

type CallEvent = ToolInputStartEvent | ToolCallEvent | ToolStartEvent | ToolResultEvent | ApprovalRequestEvent

type CallKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'other'

interface CallObserver {
  readonly wire?: WireListener | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  runInContext?<Value>(work: () => Value): Value
  received?(): void
  end(end: CallEnd): void
}

type CallStatus = 'ok' | 'failed' | 'timeout' | 'rejected' | 'blocked' | 'denied' | 'canceled' | 'unknown'

interface CallTypes {
  readonly event: RunEvent
  readonly request: ApprovalRequestEvent
  readonly planned: PlannedCall
}

interface Caller {
  readonly user: string | undefined
  readonly key: string | undefined
  readonly canInspect: boolean
  canSee(thread: ThreadInfo): Promise<boolean>
  getThread(threadId: string): Promise<FoundThread>
  createThread(options: NewThreadOptions): Promise<FoundThread>
  listThreads(options: ThreadsOptions): Promise<ThreadPage>
  spending(options: SpendingOptions): Promise<readonly SpendingRow[]>
  findInputs(key: string): Promise<readonly FoundInput[]>
  forkThread(
    found: Pick<FoundThread, 'thread'>,
    at: number,
    options?: Pick<NewThreadOptions, 'id'>,
  ): Promise<FoundThread>
  readonly requests: {
    readonly limit: number
    readonly remaining: number
    readonly resetMs: number
  }
  rateLimit(): void
}

interface CallerUsage {
  readonly runs: number
  readonly waiting: number
  readonly storedBytes: number
  readonly bytesThisMinute: number
  readonly tokensThisMinute: number
}

type Checked<Value = unknown> =
  | {
      readonly value: Value
      readonly issues?: undefined
    }
  | {
      readonly issues: readonly string[]
    }

interface CheckpointEvent {
  readonly type: 'checkpoint'
  readonly opaque?: ProviderData
}

type ClientOption = Exclude<keyof RunRequest, 'metadata' | 'replace'>

type ClientOptions = (agent: string, caller?: Pick<Caller, 'canInspect'>) => ReadonlySet<keyof RunRequest>

interface CompiledSchema<Value = unknown> {
  readonly jsonSchema: JsonObject
  check(value: unknown): Checked<Value> | Promise<Checked<Value>>
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
  readonly limits: Limits$1
}

interface Decision {
  readonly callId: string
  readonly approved: boolean
  readonly reason?: string
  readonly input?: object
  readonly remember?: RememberFor | Remembered
  readonly output?: unknown
  readonly isError?: boolean
}

type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T

interface Dispatcher {
  readonly patienceMs: number
  wake(thread: WokenThread): Promise<void> | void
  work(run: (threadId: string) => Promise<void>, options: WorkOptions): DispatcherWork
}

interface DispatcherWork {
  pause(): void
  resume(): void
  close(): Promise<void>
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

interface ErrorFields {
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  readonly retryable?: boolean | undefined
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly limit?: string | undefined
  readonly cause?: unknown
}

interface ErrorJson {
  readonly op: string
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly status?: number
  readonly retryAfterMs?: number
  readonly cause?: string
}

interface Exchange {
  readonly runId: string
  readonly round: number
  readonly attempt: number
  readonly model: string
  readonly provider: string
  readonly at: number
  readonly ms?: number
  readonly tools: readonly string[]
  readonly request?: ModelRequest
  readonly cut?: boolean
  readonly wire: readonly WireExchange[]
  readonly error?: ErrorJson
}

interface ExchangeFolderOptions {
  readonly maxBytes?: number | undefined
}

interface ExchangePage {
  readonly exchanges: readonly Exchange[]
  readonly next?: number
}

interface ExchangePageOptions extends ExchangesOptions {
  readonly after?: number | undefined
  readonly bytes?: number | undefined
}

interface ExchangeStore {
  put(threadId: string, exchange: Exchange): void | Promise<void>
  rounds(threadId: string, runId: string): Promise<readonly number[]>
  read(threadId: string, runId: string, round?: number): Promise<readonly Exchange[]>
  delete(threadId: string): Promise<void>
}

interface ExchangesOptions {
  readonly run: string
  readonly round?: number | undefined
}

interface ExportedThread extends Transcript {
  readonly thread: Omit<ThreadInfo, 'head' | 'status'>
  readonly usage: Usage
  readonly entries: readonly Entry[]
}

interface FailedRequest extends Paid {
  readonly model: string
}

interface Feedback {
  readonly rating?: 'up' | 'down' | undefined
  readonly note?: string | undefined
}

interface FeedbackEvent {
  readonly type: 'feedback'
  readonly run: string
  readonly rating?: 'up' | 'down'
  readonly note?: string
  readonly user?: string
}

interface FetchAccess {
  readonly kind: 'fetch'
  readonly host: string
}

interface Field {
  readonly schema: JsonObject
  readonly problem: (value: unknown) => Problem
  readonly required?: boolean
}

type Fields = Readonly<Record<string, Field>>

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

interface Flush {
  readonly events: number
  readonly threads: number
  readonly ms: number
  readonly failed: boolean
}

interface FollowOptions {
  readonly after?: number | 'now' | undefined
  readonly signal?: AbortSignal | undefined
  readonly until?: 'idle' | number | undefined
}

interface Following extends AsyncIterableIterator<Entry, undefined> {
  ready(): Entry | undefined
  listen(onEntries: (entries: readonly Entry[]) => boolean): Promise<void> | undefined
}

interface ForkOptions {
  readonly events?: readonly ThreadEvent[] | undefined
  readonly waiting?: number | undefined
  readonly quotas?: Quotas | undefined
}

interface FoundInput extends FoundThread {
  readonly input: number
}

interface FoundThread {
  readonly thread: Thread
  readonly info: ThreadInfo
}

type Frame = string | Uint8Array

interface Frames {
  readonly headers: Readonly<Record<string, string>>
  open?(): Frame
  entry(entry: Entry): Frame | undefined
  entries?(entries: readonly Entry[]): Uint8Array
  isDone?(): boolean
  end?(): Frame
  fail?(error: PublicError): Frame
  readonly heartbeat?: Frame
  readonly marksEnd?: boolean
}

interface Hold {
  readonly id: string
  readonly least: Limits$1
  readonly most: Limits$1
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

interface HttpError extends PublicError {
  readonly status: number
  readonly param?: string
}

interface Identity {
  readonly user: string
  readonly canSee?: ((thread: ThreadInfo) => boolean | Promise<boolean>) | undefined
  readonly canInspect?: boolean | undefined
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

type InferInput<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : InferValue<S>

type InferValue<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends {
        readonly validate?: (value: never) => infer Result
      }
    ? ValueOf<Awaited<Result>>
    : JsonObject

interface InputEvent {
  readonly type: 'input'
  readonly message: UserMessage
  readonly mode: InputMode | 'correct'
  readonly request?: RunRequest
  readonly trace?: string
}

type InputFilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
} & (
  | {
      readonly url: string
    }
  | {
      readonly data: string | Uint8Array
    }
)

type InputImagePart =
  | {
      readonly type: 'image'
      readonly url: string
    }
  | {
      readonly type: 'image'
      readonly data: string | Uint8Array
      readonly mediaType: string
    }

type InputMessage =
  | SystemMessage
  | InputUserMessage
  | (Omit<AssistantMessage, 'content'> & {
      readonly content: string | AssistantMessage['content']
    })
  | (Omit<ToolMessage, 'content'> & {
      readonly content: string | ToolMessage['content']
    })

type InputMode = 'queue' | 'steer' | 'interrupt'

type InputUserMessage = {
  readonly role: 'user'
  readonly content:
    | string
    | readonly (
        | {
            readonly type: 'text'
            readonly text: string
          }
        | InputImagePart
        | InputFilePart
      )[]
}

interface JsonObject {
  readonly [key: string]: JsonValue
}

interface JsonPart<Value = JsonValue> {
  readonly type: 'json'
  readonly value: Value
}

interface JsonSchema<Value = JsonObject> {
  readonly jsonSchema: JsonObject
  readonly validate?: (
    value: unknown,
  ) => StandardSchemaV1.Result<Value> | Promise<StandardSchemaV1.Result<Value>>
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

interface Limits {
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly frameBytes: number
  readonly framesPerSecond: number
  readonly connections: number
  readonly connectionsPerAddress: number
  readonly streams: number
  readonly requestsPerSecond: number
  readonly failedSignIns: number
  readonly requestsAtOnce: number
  readonly responseBytes: number
  readonly bufferBytes: number
}

type Limits$1 = { readonly [Kind in AmountKind]?: number | undefined }

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

interface ListenOptions {
  readonly port?: number | undefined
  readonly host?: string | undefined
}

interface ListeningServer {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

interface MetadataEvent {
  readonly type: 'metadata'
  readonly patch: JsonObject
  readonly initial?: JsonObject
}

declare class MillraceError extends Error {
  readonly name = 'MillraceError'
  readonly op: string
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly limit: string | undefined
  constructor(fields: ErrorFields)
  toJSON(): ErrorJson
  static fromJSON(json: ErrorJson): MillraceError
}

interface Model {
  readonly id: string
  readonly provider: string
  readonly address?: string | undefined
  readonly capabilities: ModelCapabilities
  readonly price?: Price | undefined
  readonly simulated?: boolean | undefined
  readonly models?: readonly Model[]
  stream(request: ModelRequest, options: StreamOptions): ModelStream
  readonly background?: BackgroundGeneration | undefined
}

interface ModelCall extends Pick<Exchange, 'runId' | 'round' | 'attempt'> {
  readonly model: Model
  readonly request: ModelRequest
  readonly aside?: boolean
}

interface ModelCapabilities {
  readonly tools: boolean
  readonly images: boolean
  readonly files: boolean
  readonly reasoning: boolean
  readonly streaming: boolean
  readonly structuredOutput: boolean
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

interface ModelProtocolOptions {
  readonly path?: string | undefined
  readonly agent?: string | undefined
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  readonly graceMs?: number | undefined
}

interface ModelRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice
  readonly output?: JsonObject
  readonly settings: ModelSettings
}

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

interface ModelStream extends AsyncIterable<ModelEvent> {
  pushTo?(onEvents: OnEvents): Promise<void>
}

interface MountedProtocol {
  readonly routes: readonly Route[]
  readonly prefixes?: readonly string[]
  error?(error: HttpError): Response
  ready?(): Promise<void>
  close?(): Promise<void>
}

interface NewThread extends Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom'> {
  readonly label?: ThreadLabel | undefined
  readonly caller?: string | undefined
  readonly priority?: Priority | undefined
}

interface NewThreadOptions {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly metadata?: JsonObject | undefined
  readonly messages?: ThreadCreateOptions['messages']
  readonly keys?: ThreadCreateOptions['keys']
  readonly request?: ThreadCreateOptions['request']
  readonly exported?: ThreadCreateOptions['exported']
}

type OnEvents = (events: readonly ModelEvent[]) => boolean | Promise<boolean>

type OnLimit =
  | 'end'
  | 'ask'
  | {
      readonly model: Model
      readonly from?: number | undefined
    }

type OptionsArgument<Context, More = unknown> = unknown extends Context
  ? [options?: RunOptions<Context> & More]
  : [
      options: RunOptions<Context> &
        More & {
          readonly context: Context
        },
    ]

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

interface PathAccess {
  readonly kind: 'read' | 'write'
  readonly path: string
  readonly opaque?: boolean
  readonly implied?: boolean
  readonly contained?: boolean
}

interface Permission {
  readonly decision: 'allow' | 'ask' | 'deny'
  readonly rule: string
}

interface Plan<Calls extends CallTypes = CallTypes> extends RunStream<Calls['event']> {
  readonly result: Promise<PlanResult<Calls>>
}

interface PlanResult<Calls extends CallTypes = CallTypes> extends RunResult<undefined, Calls['request']> {
  readonly calls: readonly Calls['planned'][]
}

interface PlannedCall<Name extends string = string, Input = JsonObject> {
  readonly callId: string
  readonly name: Name
  readonly input: Input
  readonly needsApproval: boolean
  readonly problem?: string
}

interface Playback {
  readonly run: string
  readonly round: number
  readonly chars: number
}

interface PlaybackEvent {
  readonly type: 'playback'
  readonly run: string
  readonly round: number
  readonly chars: number
}

interface Price {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly cacheWrite1h?: number | undefined
  readonly reasoning?: number | undefined
  readonly inputAudio?: number | undefined
  readonly outputAudio?: number | undefined
  readonly inputImage?: number | undefined
  readonly outputImage?: number | undefined
  readonly webSearches?: number | undefined
}

type Priority = 'interactive' | 'batch'

type Problem = string | false | undefined

interface Protocol {
  readonly name: string
  mount(host: ProtocolHost): MountedProtocol
}

interface ProtocolHost {
  readonly agents: readonly string[]
  readonly limits: {
    readonly [Name in 'bodyBytes' | 'frameBytes' | 'framesPerSecond' | 'streams' | 'responseBytes']: number
  }
  readonly heartbeatMs: number
  readonly stuckMs: number
  readonly clientOptions: ClientOptions
  readonly authenticates: boolean
  describe(agent: string): AgentInfo
  openThread(threadId: string): Thread
  publicError(thrown: unknown): PublicError
  onError(thrown: unknown, id: string): void
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

interface PublicError {
  readonly code: ErrorCode
  readonly message: string
  readonly retryAfterMs?: number
  readonly id?: string
}

type QuotaUsage = {
  readonly [Name in keyof Quotas]: {
    readonly used: number
    readonly limit: number
  }
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

interface ReadOptions {
  readonly after?: number | undefined
  readonly limit?: number | undefined
  readonly split?: boolean | undefined
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

interface RespondOptions {
  readonly isError?: boolean | undefined
  readonly request?: RunRequest | undefined
}

interface RestartEvent {
  readonly type: 'restart'
  readonly reason: string
}

interface ResumedRun {
  readonly runId: string
  readonly trace?: string | undefined
  readonly calls: readonly ToolCallEvent[]
}

interface RewindEvent {
  readonly type: 'rewind'
  readonly before: number
  readonly keep?: number
  readonly messages?: readonly Message[]
  readonly answer?: true
  readonly request?: RunRequest
}

interface RewindOptions {
  readonly key?: string | undefined
  readonly request?: RunRequest | undefined
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

interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly name?: string
  readonly summary?: string
  readonly responses?: Readonly<Record<number | 'default', RouteResponse> | Record<number, RouteResponse>>
  readonly isPublic?: boolean
  readonly query?: Fields
  readonly headers?: Fields
  readonly body?: Fields
  readonly bodyBytes?: number
  readonly handle?: (call: RouteContext) => Response | Promise<Response>
  readonly connect?: (call: SocketContext) => Promise<SocketHandler>
}

interface RouteContext {
  readonly request: Request
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  readBody(): Promise<Uint8Array<ArrayBuffer>>
  readJson(): Promise<unknown>
  openStream(): StreamSlot
}

interface RouteResponse {
  readonly description: string
  readonly content?: Readonly<Record<string, JsonObject>>
}

interface Run<Output = undefined, Draft = Output, Calls extends CallTypes = CallTypes>
  extends RunStream<Calls['event']> {
  readonly result: Promise<RunResult<Output, Calls['request']>>
  partials(): AsyncIterable<DeepPartial<Draft>>
  steer(message: string | InputUserMessage): boolean
  toResponse(options?: RunResponseOptions): Response
  toUIMessageResponse(options?: RunResponseOptions): Response
  resume(decisions: Decision | readonly Decision[], options?: RunOptions): Run<Output, Draft, Calls>
}

interface RunAccess {
  readonly kind: 'run'
  readonly command: string
  readonly also?: readonly string[]
  readonly opaque?: boolean
  readonly form?: string
  readonly why?: string
  readonly varies?: boolean
  readonly line?: string
  readonly readOnly?: boolean
  readonly contained?: boolean
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

interface RunInfo {
  readonly runId: string
  readonly agent: string
  readonly conversation?: string | undefined
  readonly inThread: boolean
  readonly parentTraces: readonly string[]
  readonly resumes?: ResumedRun | undefined
}

interface RunLimits {
  readonly perCaller?: number | undefined
  readonly perAgent?: Readonly<Record<string, number>> | undefined
}

interface RunOptions<Context = unknown> {
  readonly context?: Context | undefined
  readonly signal?: AbortSignal | undefined
  readonly maxRounds?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly tools?: readonly Tool[] | undefined
  readonly system?: string | undefined
  readonly runMs?: number | undefined
  readonly budget?: Budget | undefined
  readonly conversation?: string | undefined
  readonly metadata?: JsonObject | undefined
}

interface RunReport<Ending extends Outcome, Output, Request> {
  readonly runId: string
  readonly outcome: Ending
  readonly finish?: RoundFinish
  readonly text: string
  readonly output: Output
  readonly messages: readonly Message[]
  readonly approvals: readonly Request[]
  readonly usage: Usage
  readonly cost: TotalCost
  readonly context?: ContextUse
  readonly rounds: number
  readonly limit?: ReachedLimit
  readonly error?: MillraceError
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

interface RunResponseOptions {
  readonly headers?: HeadersInit | undefined
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  readonly heartbeatMs?: number | undefined
}

type RunResult<Output = undefined, Request = ApprovalRequestEvent> = undefined extends Output
  ? RunReport<Outcome, Output, Request>
  : RunReport<'completed', Output, Request> | RunReport<Exclude<Outcome, 'completed'>, undefined, Request>

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

interface RunStream<Event = RunEvent> extends AsyncIterable<Event> {
  readonly id: string
  text(options?: TextOptions): AsyncIterable<string>
  toReadableStream(): ReadableStream<Event>
  cancel(reason?: string): void
}

interface RunTelemetry {
  readonly trace?: string | undefined
  event(event: RunEvent): void
  modelCall(call: ModelCall): CallObserver
  runInContext<Value>(callId: string | undefined, work: () => Value): Value
  nested(callId: string): Telemetry
  handedOver(): void
}

interface RunnableThread {
  readonly id: string
  readonly agent: string
  readonly head: number
  readonly priority: Priority
  readonly waitedMs: number
}

type Schema = StandardSchemaV1 | JsonSchema<unknown>

interface SendOptions {
  readonly mode?: InputMode | undefined
  readonly key?: string | undefined
  readonly request?: RunRequest | undefined
}

interface ServeOptions extends Omit<AppOptions, 'exchanges'>, ServerOptions {
  readonly exchanges?: ExchangeStore | boolean | undefined
}

interface ServedApp extends App {
  fetch(
    request: Request,
    from?: {
      readonly remoteAddress?: string | undefined
    },
  ): Promise<Response>
  listen(options?: ListenOptions): Promise<ListeningServer>
  signOut(user: string): number
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

interface ServerOptions {
  readonly auth?: Auth | false | undefined
  readonly hosts?: readonly string[] | undefined
  readonly origins?: readonly string[] | undefined
  readonly limits?: Partial<Limits> | undefined
  readonly trustProxy?: boolean | readonly string[] | undefined
  readonly page?: boolean | undefined
  readonly clients?: boolean | undefined
  readonly protocols?: readonly Protocol[] | undefined
  readonly clientOptions?:
    | readonly ClientOption[]
    | Readonly<Record<string, readonly ClientOption[]>>
    | undefined
  readonly voice?: Voice | undefined
  readonly recheckMs?: number | undefined
  readonly heartbeatMs?: number | undefined
  readonly stuckMs?: number | undefined
  readonly onError?: ((error: MillraceError) => void) | undefined
}

interface ServerSocket {
  readonly readyState: number
  readonly OPEN: number
  send(data: string | Uint8Array): void
  ping(): void
  pause(): void
  resume(): void
  close(code?: number, reason?: string): void
  terminate(): void
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown
  on(event: 'close' | 'error' | 'ping' | 'pong', listener: () => void): unknown
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

interface SocketConnection {
  readonly closed: Promise<void>
  close(code: number, reason: string): void
}

type SocketContext = Pick<RouteContext, 'request' | 'caller' | 'params' | 'query' | 'headers'>

interface SocketHandler {
  readonly threadId?: string
  readonly subprotocols?: readonly string[]
  open(ws: ServerSocket, socket: Socket): SocketConnection
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

interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output>
}

declare namespace StandardSchemaV1 {
  interface Props<Input = unknown, Output = Input> extends StandardTypedV1.Props<Input, Output> {
    readonly validate: (
      value: unknown,
      options?: StandardSchemaV1.Options | undefined,
    ) => Result<Output> | Promise<Result<Output>>
  }
  type Result<Output> = SuccessResult<Output> | FailureResult
  interface SuccessResult<Output> {
    readonly value: Output
    readonly issues?: undefined
  }
  interface Options {
    readonly libraryOptions?: Record<string, unknown> | undefined
  }
  interface FailureResult {
    readonly issues: ReadonlyArray<Issue>
  }
  interface Issue {
    readonly message: string
    readonly path?: ReadonlyArray<PropertyKey | PathSegment> | undefined
  }
  interface PathSegment {
    readonly key: PropertyKey
  }
  interface Types<Input = unknown, Output = Input> extends StandardTypedV1.Types<Input, Output> {}
  type InferInput<Schema extends StandardTypedV1> = StandardTypedV1.InferInput<Schema>
  type InferOutput<Schema extends StandardTypedV1> = StandardTypedV1.InferOutput<Schema>
}

interface StandardTypedV1<Input = unknown, Output = Input> {
  readonly '~standard': StandardTypedV1.Props<Input, Output>
}

declare namespace StandardTypedV1 {
  interface Props<Input = unknown, Output = Input> {
    readonly version: 1
    readonly vendor: string
    readonly types?: Types<Input, Output> | undefined
  }
  interface Types<Input = unknown, Output = Input> {
    readonly input: Input
    readonly output: Output
  }
  type InferInput<Schema extends StandardTypedV1> = NonNullable<Schema['~standard']['types']>['input']
  type InferOutput<Schema extends StandardTypedV1> = NonNullable<Schema['~standard']['types']>['output']
}

interface StateOptions {
  readonly bytes?: number | undefined
  readonly before?: number | undefined
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

interface StreamOptions {
  readonly signal: AbortSignal
  readonly wire?: WireListener | undefined
}

interface StreamSlot {
  readonly signal: AbortSignal
  follow(thread: Thread, from: Pick<FollowOptions, 'after' | 'until'>, frames: Frames): Response
  wrap(response: Response): Response
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

interface Telemetry {
  startRun(run: RunInfo): RunTelemetry
  activeTrace?(): string | undefined
  openApp?(gauges: AppGauges): AppTelemetry
}

interface TextEvent {
  readonly type: 'text'
  readonly text: string
}

interface TextOptions {
  readonly hold?: boolean | undefined
  readonly onRetract?: ((kept: string) => void) | undefined
}

interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly unplayed?: string
  readonly opaque?: ProviderData
}

interface Thread {
  readonly id: string
  create(options?: ThreadCreateOptions): Promise<ThreadInfo>
  info(): Promise<ThreadInfo>
  send(message: string | InputUserMessage, options?: ThreadSendOptions): Promise<number>
  inputOf(key: string): Promise<number | undefined>
  follow(options?: FollowOptions): Following
  read(options?: ReadOptions): Promise<readonly Entry[]>
  state(options?: StateOptions): Promise<ThreadView>
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  exchangePage(options: ExchangePageOptions): Promise<ExchangePage>
  stop(reason?: string): Promise<number>
  approve(callId: string, answer: ApprovalAnswer): Promise<number>
  respond(callId: string, output: unknown, options?: RespondOptions): Promise<number>
  rewind(before: number, options?: RewindOptions): Promise<number>
  reportPlayback(playback: Playback): Promise<number>
  rename(title: string): Promise<number>
  updateMetadata(patch: JsonObject): Promise<number>
  feedback(run: string, feedback: ThreadFeedback): Promise<number>
  fork(
    atSeq: number,
    options?: {
      readonly id?: string
      readonly user?: string
      readonly caller?: string
    },
  ): Promise<Thread>
  delete(): Promise<boolean>
}

interface ThreadCreateOptions {
  readonly failIfExists?: boolean | undefined
  readonly messages?: readonly InputMessage[] | undefined
  readonly exported?: ExportedThread | undefined
  readonly keys?: readonly (string | undefined)[] | undefined
  readonly request?: RunRequest | undefined
}

type ThreadEvent = RunEvent | StopEvent | PlaybackEvent | RewindEvent | TitleEvent | FeedbackEvent

interface ThreadFacts {
  readonly outcome?: Outcome | undefined
  readonly error?: string | undefined
  readonly nanos: number
  readonly tools: readonly string[]
  readonly texts: readonly ThreadText[]
}

interface ThreadFeedback extends Feedback {
  readonly user?: string | undefined
}

interface ThreadFilters {
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  readonly search?: string | undefined
  readonly outcome?: Outcome | undefined
  readonly error?: string | undefined
  readonly tool?: string | undefined
  readonly minUsd?: number | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

interface ThreadHtmlOptions {
  readonly at?: number | undefined
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

interface ThreadOptions {
  readonly agent?: string | undefined
  readonly user?: string | undefined
  readonly caller?: string | undefined
  readonly metadata?: JsonObject | undefined
  readonly priority?: Priority | undefined
}

interface ThreadPage {
  readonly threads: readonly ThreadInfo[]
  readonly next?: string
}

interface ThreadSendOptions extends SendOptions {
  readonly trace?: string | undefined
}

interface ThreadSnapshot extends Pick<ThreadInfo, 'head' | 'status' | 'metadata'> {
  readonly messages: readonly Message[]
  readonly earlier?: {
    readonly messages: number
  }
  readonly approvals: readonly ApprovalRequestEvent[]
  readonly queued: readonly {
    readonly seq: number
    readonly mode: InputMode
  }[]
  readonly usage: Usage
  readonly cost: TotalCost
  readonly context?: ContextUse
  readonly run?: {
    readonly id: string
    readonly rounds: number
    readonly outcome?: Outcome
    readonly error?: ErrorJson
    readonly limit?: ReachedLimit
  }
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

interface ThreadView extends Omit<ThreadInfo, keyof ThreadSnapshot>, ThreadSnapshot {}

interface ThreadsOptions extends ThreadFilters {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly user?: string | undefined
}

interface TitleEvent {
  readonly type: 'title'
  readonly title: string
}

type TokenEstimate = Pick<Usage, 'inputTokens' | 'outputTokens'>

interface Tool<Context = any, Name extends string = string, Input = unknown, Output = unknown>
  extends ToolSpec {
  readonly name: Name
  readonly schema: CompiledSchema
  readonly timeoutMs: number | undefined
  readonly exclusive: boolean
  readonly repeat: 'safe' | 'never'
  readonly approve: (
    input: unknown,
    context: {
      callId: string
      context: Context
    },
  ) => ReturnType<Approve<unknown, unknown>>
  readonly onInput:
    | ((
        partial: never,
        context: {
          callId: string
          delta: string
        },
      ) => unknown)
    | undefined
  readonly maxResultChars: number | undefined
  readonly polling: boolean
  readonly access: ((input: never) => readonly Access[] | Promise<readonly Access[]>) | undefined
  readonly display?: ((input: never) => CallDisplay) | undefined
  readonly fingerprint?: string
  readonly notices?: Toolbox['notices']
  readonly run: ((input: never, context: ToolContext<Context>) => Output) | undefined
  readonly types?: {
    readonly input: Input
  }
}

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

interface ToolContext<Context = unknown> {
  readonly signal: AbortSignal
  readonly runSignal: AbortSignal
  readonly callId: string
  readonly runId: string
  readonly idempotencyKey: string
  readonly attempt: number
  progress(data: unknown): void
  metadata(): JsonObject
  updateMetadata(patch: JsonObject): void
  spend(cost: { readonly usd: number }): void
  commit(): Promise<void>
  checkAccess(access: Access): Promise<string | undefined>
  readonly context: Context
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

interface ToolOptions<S extends Schema, Context, Name extends string = string, Output = unknown> {
  readonly name: Name
  readonly description: string
  readonly input: S
  readonly run?: ((input: InferValue<S>, context: ToolContext<Context>) => Output) | undefined
  readonly timeoutMs?: number | undefined
  readonly exclusive?: boolean | undefined
  readonly repeat?: 'safe' | 'never' | undefined
  readonly approve?: boolean | Approve<InferValue<S>, Context> | undefined
  readonly onInput?:
    | ((
        partial: DeepPartial<InferInput<S>>,
        context: {
          readonly callId: string
          readonly delta: string
        },
      ) => void)
    | undefined
  readonly strict?: boolean | undefined
  readonly maxResultChars?: number | undefined
  readonly polling?: boolean | undefined
  readonly access?: ((input: InferValue<S>) => readonly Access[] | Promise<readonly Access[]>) | undefined
  readonly display?: ((input: InferValue<S>) => CallDisplay) | undefined
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

interface Toolbox<Context = any> {
  readonly tools: readonly Tool<Context>[]
  readonly notices?: () => Promise<readonly string[]>
}

interface TotalCost {
  readonly usd?: number
  readonly knownUsd: number
  readonly unknown?: number
  readonly estimatedUsd?: number
  readonly simulatedUsd?: number
  readonly tools?: Readonly<Record<string, number>>
}

interface Transcript {
  readonly version: number
  readonly messages: readonly Message[]
}

interface TurnRecord {
  readonly turn: number
  readonly run: string
  readonly since: 'speech' | 'run'
  readonly firstTokenMs?: number
  readonly firstSentenceMs?: number
  readonly firstAudioMs?: number
  readonly playbackMs?: number
  readonly gaps: readonly {
    readonly position: number
    readonly ms: number
    readonly for: 'model' | 'tool' | 'voice'
  }[]
  readonly sentences: number
  readonly failed: number
  readonly audioMs: number
  readonly playedMs: number
  readonly words: number
  readonly wordsPlayed: number
  readonly outcome: 'completed' | 'interrupted' | 'lost'
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

type ValueOf<Result> = [
  Extract<
    Result,
    {
      readonly value: unknown
    }
  >,
] extends [never]
  ? JsonObject
  : Extract<
      Result,
      {
        readonly value: unknown
      }
    >['value']

interface Voice {
  readonly listens: boolean
  open(
    thread: Thread,
    outlet: VoiceOutlet & {
      readonly authorize: () => void | Promise<void>
    },
  ): VoiceSession
  close(): Promise<void>
}

type VoiceCommand =
  | {
      readonly type: 'voice'
      readonly speak?: boolean | undefined
      readonly listen?: boolean | undefined
      readonly sampleRate?: number | undefined
      readonly from?: VoicePosition | undefined
    }
  | {
      readonly type: 'voice_played'
      readonly turn: number
      readonly position: number
    }
  | {
      readonly type: 'voice_interrupt'
      readonly turn: number
      readonly position: number
    }

type VoiceEvent =
  | {
      readonly type: 'voice'
      readonly session: string
      readonly speak: boolean
      readonly listen: boolean
      readonly sampleRate: number
    }
  | {
      readonly type: 'voice_turn'
      readonly turn: number
      readonly run: string
      readonly seq: number
    }
  | {
      readonly type: 'voice_sentence'
      readonly turn: number
      readonly position: number
      readonly text: string
      readonly round?: number
      readonly start?: number
      readonly chars?: number
    }
  | {
      readonly type: 'voice_end'
      readonly turn: number
      readonly samples: number
    }
  | {
      readonly type: 'voice_pause'
      readonly turn: number
    }
  | {
      readonly type: 'voice_resume'
      readonly turn: number
    }
  | {
      readonly type: 'voice_silence'
      readonly turn: number
    }
  | {
      readonly type: 'voice_retract'
      readonly turn: number
      readonly position: number
    }
  | {
      readonly type: 'voice_speech'
      readonly speaking: boolean
    }
  | {
      readonly type: 'voice_transcript'
      readonly text: string
      readonly final: boolean
      readonly seq?: number
    }
  | {
      readonly type: 'voice_record'
      readonly record: TurnRecord
    }
  | {
      readonly type: 'voice_error'
      readonly message: string
      readonly turn?: number
      readonly text?: string
    }

interface VoiceOutlet {
  send(event: VoiceEvent): void
  sendAudio(frame: Uint8Array<ArrayBuffer>): void
  drained(): Promise<unknown>
  threadEnded?(): void
}

interface VoicePosition {
  readonly session?: string | undefined
  readonly awaits?: string | undefined
  readonly seq: number
  readonly round: number
  readonly chars: number
}

interface VoiceSession {
  handleCommand(command: VoiceCommand): Promise<void>
  receiveAudio(bytes: Uint8Array): void
  disconnected(): void
  end(): void
}

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

interface WireExchange {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly response?: string
  readonly cut?: boolean
}

interface WireListener {
  sent(request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): void
  responded(answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> }): void
  received(text: string): void
}

interface WithDecisions {
  readonly decisions?: readonly Decision[] | undefined
}

interface WokenThread extends Pick<RunnableThread, 'id' | 'agent' | 'head' | 'priority'> {
  readonly isHandedOver?: boolean | undefined
}

interface WorkOptions {
  readonly agents: readonly string[]
  readonly maxRuns: number
  readonly onError: (error: MillraceError) => void
}

declare function agUi(options?: AgUiOptions): Protocol

declare function aiSdkUi(options?: AiSdkUiOptions): Protocol

declare function anthropicApi(options?: ModelProtocolOptions): Protocol

declare function exchangeFolder(path: string, options?: ExchangeFolderOptions): ExchangeStore

declare function httpError(
  status: number,
  code: ErrorCode,
  message: string,
  {
    param,
    ...more
  }?: {
    readonly retryAfterMs?: number
    readonly param?: string
  },
): MillraceError

declare function openaiApi(options?: ModelProtocolOptions): Protocol

declare const outcomes: readonly [
  'completed',
  'max-rounds',
  'budget',
  'truncated',
  'suspended',
  'canceled',
  'failed',
]

declare function serve(options: ServeOptions): ServedApp

declare function threadHtml(exported: ExportedThread, { at }?: ThreadHtmlOptions): Promise<string>

export {
  type AgUiOptions,
  type AiSdkUiOptions,
  type Auth,
  type Caller,
  type ClientOption,
  type ClientOptions,
  type ExchangeFolderOptions,
  type Field,
  type FoundInput,
  type FoundThread,
  type Frame,
  type Frames,
  type HttpError,
  type Identity,
  type Limits,
  type ListenOptions,
  type ListeningServer,
  type ModelProtocolOptions,
  type MountedProtocol,
  type NewThreadOptions,
  type Protocol,
  type ProtocolHost,
  type Route,
  type RouteContext,
  type RouteResponse,
  type ServeOptions,
  type ServedApp,
  type ServerOptions,
  type ServerSocket,
  type SocketConnection,
  type SocketContext,
  type SocketHandler,
  type StreamSlot,
  type ThreadHtmlOptions,
  type Voice,
  type VoiceOutlet,
  type VoiceSession,
  agUi,
  aiSdkUi,
  anthropicApi,
  exchangeFolder,
  httpError,
  openaiApi,
  serve,
  threadHtml,
}
