type Access = RunAccess | PathAccess | FetchAccess

type AfterCall<Context = unknown> = (
  call: HookCall<Context>,
  result: {
    readonly output: readonly ToolResultPart[]
    readonly isError: boolean
    readonly ms: number
  },
) => Replacement | undefined | void | Promise<Replacement | undefined | void>

interface Agent<Context = unknown, Output = undefined, Draft = Output> {
  readonly name: string
  stream(input: AgentInput, ...options: Options<Context>): Run<Output, Draft>
  run(input: AgentInput, ...options: Options<Context>): Promise<RunResult<Output>>
  plan(input: AgentInput, ...options: Options<Context>): Plan
  resume(events: readonly RunEvent[], ...options: Options<Context, Decided>): Run<Output, Draft>
  asTool(options: AsToolOptions): Tool<Context>
}

type AgentInput = string | InputMessage | readonly InputMessage[]

interface AgentOptions<Context = unknown, Output extends Schema | undefined = Schema | undefined> {
  readonly name?: string | undefined
  readonly model: Model | readonly Model[]
  readonly requireStreaming?: boolean | undefined
  readonly system?: string | undefined
  readonly tools?: readonly (Tool<Context> | Toolbox<Context>)[] | undefined
  readonly maxRounds?: number | undefined
  readonly output?: Output | undefined
  readonly maxCorrections?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly retry?: RetryOptions | undefined
  readonly firstEventMs?: number | undefined
  readonly idleMs?: number | undefined
  readonly runMs?: number | undefined
  readonly toolTimeoutMs?: number | undefined
  readonly toolConcurrency?: number | undefined
  readonly maxCallsPerRound?: number | undefined
  readonly maxResultChars?: number | undefined
  readonly maxOutputChars?: number | undefined
  readonly repeatLimits?: RepeatLimits | false | undefined
  readonly onToolError?: 'continue' | 'fail' | undefined
  readonly contextTokens?: number | undefined
  readonly shorten?: Shorten | false | undefined
  readonly permission?: Policy | undefined
  readonly prepareRound?: PrepareRound<Context> | undefined
  readonly beforeCall?: BeforeCall<Context> | undefined
  readonly afterCall?: AfterCall<Context> | undefined
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  readonly clock?: Clock | undefined
}

interface Answer {
  readonly approved: boolean
  readonly reason?: string | undefined
  readonly input?: object | undefined
  readonly remember?: RememberFor | Remembered | undefined
}

interface App {
  readonly agents: readonly string[]
  notices(agent?: string): Promise<readonly string[]>
  thread(id?: string, options?: ThreadOptions): Thread
  threads(options?: ThreadsOptions): Promise<ThreadPage>
  usage(caller: string): Promise<QuotaUsage>
  refused(limit: string): void
  readonly buffer: Budget
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

interface AppGauges {
  followers(): number
  lag(): number
  running(): number
  waiting(): number
  buffered(): number
}

interface AppOptions {
  readonly agents: Agent<never> | Readonly<Record<string, Agent<never>>>
  readonly store?: ThreadStore | undefined
  readonly exchanges?: ExchangeStore | undefined
  readonly context?: ((thread: ThreadInfo) => unknown) | undefined
  readonly leaseMs?: number | undefined
  readonly recoverMs?: number | undefined
  readonly flushMs?: number | undefined
  readonly maxLosses?: number | undefined
  readonly maxRuns?: number | undefined
  readonly maxRunBytes?: number | undefined
  readonly keptBytes?: number | undefined
  readonly quotas?: Partial<Quotas> | undefined
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  readonly onError?: ((error: MillraceError) => void) | undefined
}

interface AppTelemetry {
  flushed(flush: Flush): void
  failed(error: MillraceError): void
  refused?(limit: string): void
  closed(): void
}

interface ApprovalEvent {
  readonly type: 'approval'
  readonly callId: string
  readonly approved: boolean
  readonly reason?: string
  readonly input?: JsonObject
  readonly remember?: Remembered
}

interface ApprovalRequestEvent {
  readonly type: 'approval-request'
  readonly callId: string
  readonly name: string
  readonly input: JsonObject
  readonly reason?: string
  readonly permission?: Permission
  readonly remember?: {
    readonly rules: readonly string[]
    readonly for: readonly RememberFor[]
  }
}

type Approve<Input, Context> = (
  input: Input,
  context: {
    readonly callId: string
    readonly context: Context
  },
) => Asks | Promise<Asks>

interface AsToolOptions
  extends Pick<
    ToolOptions<Schema, unknown>,
    'description' | 'timeoutMs' | 'exclusive' | 'approve' | 'maxResultChars'
  > {
  readonly name?: string | undefined
}

type Asks = boolean | string | undefined

interface AssistantDraft {
  push(
    event:
      | {
          readonly type: string
        }
      | ModelEvent,
  ): void
  readonly text: string
  message(): AssistantMessage | undefined
}

interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
}

type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ProviderToolPart

interface BackgroundGeneration {
  resume(checkpoint: ProviderData, request: ModelRequest, options: StreamOptions): ModelStream
  cancel(checkpoint: ProviderData, settings: ModelSettings): Promise<void>
}

interface Batch {
  readonly lease: Lease
  readonly events: readonly ThreadEvent[]
}

type BeforeCall<Context = unknown> = (
  call: HookCall<Context>,
) => Verdict | undefined | void | Promise<Verdict | undefined | void>

interface Budget {
  limit: number
  readonly used: number
  isFull(caller?: string | undefined, bytes?: number): boolean
  heldBy(caller: string): number
  add(bytes: number, caller?: string | undefined): void
  whenRoom(caller: string | undefined, bytes: number, callback: () => void): void
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

interface CallObserver {
  readonly wire?: WireListener | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  within?<Value>(work: () => Value): Value
  received?(): void
  end(end: CallEnd): void
}

interface CallState {
  readonly call: ToolCallEvent
  attempts: number
  inFlight: boolean
  input?: JsonObject
  readonly requests: Map<string, ApprovalRequestEvent>
  readonly decisions: Map<string, ApprovalEvent>
  waiting: boolean
  readonly relayed: RunEvent[]
  result?: ToolResultEvent
}

type CallStatus = 'ok' | 'failed' | 'timeout' | 'rejected' | 'blocked' | 'declined' | 'cancelled' | 'unknown'

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

interface Clock {
  now(): number
  after(ms: number, callback: () => void): () => void
  turn(): Promise<void>
}

interface CompiledSchema<Value = unknown> {
  readonly jsonSchema: JsonObject
  check(value: unknown): Checked<Value> | Promise<Checked<Value>>
}

type ContextOf<Tools extends readonly (Tool | Toolbox)[]> = (
  Tools[number] extends infer One
    ? One extends Tool<infer Context> | Toolbox<infer Context>
      ? (context: Context) => void
      : never
    : never
) extends (context: infer All) => void
  ? All
  : unknown

interface CreateOptions {
  readonly entries?: readonly Entry[] | undefined
  readonly quotas?: Quotas | undefined
}

interface Decided {
  readonly decisions?: readonly Decision[] | undefined
}

interface Decision {
  readonly callId: string
  readonly approved: boolean
  readonly reason?: string
  readonly input?: object
  readonly remember?: RememberFor | Remembered
}

interface DetectOptions {
  readonly model?: string | undefined
  readonly env?: Environment | undefined
  readonly timeoutMs?: number | undefined
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  readonly local?: Readonly<Record<string, string>> | undefined
}

type Detected =
  | {
      readonly model: Model
      readonly why: string
    }
  | {
      readonly model?: undefined
      readonly why: string
    }

interface DoneEvent {
  readonly type: 'done'
  readonly finish: FinishReason
  readonly usage?: Partial<Usage>
  readonly contextTokens?: number
  readonly metadata?: JsonObject
}

type DraftOf<Output extends Schema | undefined> = Output extends Schema ? InferInput<Output> : undefined

interface Entry {
  readonly seq: number
  readonly from?: number
  readonly at: number
  readonly event: ThreadEvent
}

type Environment = Readonly<Record<string, string | undefined>>

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

interface FetchAccess {
  readonly kind: 'fetch'
  readonly host: string
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
}

interface ForkOptions {
  readonly events?: readonly ThreadEvent[] | undefined
  readonly waiting?: number | undefined
  readonly quotas?: Quotas | undefined
}

type Generate = (
  request: ModelRequest,
  options: {
    readonly signal: AbortSignal
  },
) => string | GeneratedAnswer | PromiseLike<string | GeneratedAnswer>

interface GenerateOptions {
  readonly id?: string | undefined
  readonly provider?: string | undefined
  readonly capabilities?: Partial<Omit<ModelCapabilities, 'streaming'>> | undefined
}

interface GeneratedAnswer {
  readonly text?: string | undefined
  readonly reasoning?: string | undefined
  readonly calls?: readonly GeneratedCall[] | undefined
  readonly finish?: FinishReason | undefined
  readonly usage?: Partial<Usage> | undefined
  readonly metadata?: JsonObject | undefined
}

interface GeneratedCall {
  readonly name: string
  readonly id?: string | undefined
  readonly input?: JsonObject | undefined
  readonly arguments?: string | undefined
}

interface Heard {
  readonly run: string
  readonly round: number
  readonly chars: number
}

interface HeardEvent {
  readonly type: 'heard'
  readonly run: string
  readonly round: number
  readonly chars: number
}

interface HookCall<Context = unknown> {
  readonly callId: string
  readonly runId: string
  readonly name: string
  readonly input: JsonObject
  readonly context: Context
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

type InputPart =
  | Exclude<
      ToolResultPart,
      {
        type: 'image'
      }
    >
  | InputImagePart

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

interface JsonPart {
  readonly type: 'json'
  readonly value: JsonValue
}

interface JsonSchema<Value = JsonObject> {
  readonly jsonSchema: JsonObject
  readonly validate?: (
    value: unknown,
  ) => StandardSchemaV1.Result<Value> | Promise<StandardSchemaV1.Result<Value>>
}

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

interface JudgedCall {
  readonly name: string
  readonly input: JsonObject
  readonly access: readonly Access[] | undefined
  readonly fingerprint?: string | undefined
}

interface Lease {
  readonly threadId: string
  readonly owner: string
  readonly epoch: number
}

interface ListOptions {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  readonly search?: readonly string[] | undefined
}

type LogFields = Readonly<Record<string, LogValue>>

type LogFormat = 'logfmt' | 'json' | 'fields'

type LogLevel = 'info' | 'warn' | 'error'

type LogValue = string | number | boolean | readonly string[]

interface Logger {
  info(message: string, fields?: LogFields): unknown
  warn(message: string, fields?: LogFields): unknown
  error(message: string, fields?: LogFields): unknown
}

interface LogsOptions {
  readonly format?: LogFormat | undefined
  readonly content?: boolean | undefined
}

interface LongConversation {
  readonly messages: readonly Message[]
  readonly reason: 'limit' | 'overflow'
  readonly tokens?: number
  readonly limit?: number
  readonly model: Model
  ask(question: Question): Promise<string>
  readonly signal: AbortSignal
}

interface MemoryExchangesOptions {
  readonly maxBytes?: number | undefined
}

interface MemoryStoreOptions {
  readonly now?: (() => number) | undefined
}

type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

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
  batches?(): AsyncIterable<readonly ModelEvent[]>
}

interface NewThread extends Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom'> {
  readonly label?: ThreadLabel | undefined
  readonly caller?: string | undefined
}

type ObserveCall = (call: ModelCall) => CallObserver

type Options<Context, More = unknown> = unknown extends Context
  ? [options?: RunOptions<Context> & More]
  : [
      options: RunOptions<Context> &
        More & {
          readonly context: Context
        },
    ]

type Outcome = 'completed' | 'max-rounds' | 'truncated' | 'suspended' | 'cancelled' | 'failed'

type OutputOf<Output extends Schema | undefined> = Output extends Schema ? InferValue<Output> : undefined

declare const PROTOCOL_VERSION = 1

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

type Partially<T> = T extends readonly (infer Item)[]
  ? Partially<Item>[]
  : T extends object
    ? { [Key in keyof T]?: Partially<T[Key]> }
    : T

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

interface PermissionMemory {
  readonly file?: string | undefined
  rules(): readonly string[] | Promise<readonly string[]>
  add(rules: readonly string[]): Promise<void>
}

interface Plan extends Watchable {
  readonly result: Promise<PlanResult>
}

interface PlanResult extends RunResult<undefined> {
  readonly calls: readonly PlannedCall[]
}

interface PlannedCall {
  readonly callId: string
  readonly name: string
  readonly input: JsonObject
  readonly needsApproval: boolean
  readonly problem?: string
}

interface Policy {
  judge(call: JudgedCall, granted: readonly string[]): Ruling | Promise<Ruling>
  ruleProblem?(rule: unknown): string | undefined
  readonly memory: PermissionMemory | undefined
  readonly readOnly?: boolean
}

type PrepareRound<Context = unknown> = (
  plan: RoundPlan<Context>,
) => RoundChange<Context> | undefined | void | Promise<RoundChange<Context> | undefined | void>

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

interface Question {
  readonly prompt: string
  readonly system?: string | undefined
  readonly model?: Model | undefined
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

interface RecentResult {
  readonly name: string
  readonly input: JsonObject
  readonly output: readonly ToolResultPart[]
}

type RememberFor = 'thread' | 'always'

interface Remembered {
  readonly for: RememberFor
  readonly rules: readonly string[]
}

interface RepeatLimits {
  readonly warn: number
  readonly refuse: number
}

interface Replacement {
  readonly output: unknown
  readonly isError?: boolean
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

interface RetryOptions {
  readonly attempts?: number | undefined
  readonly baseMs?: number | undefined
  readonly maxDelayMs?: number | undefined
}

type RoundChange<Context = unknown> = Partial<Omit<RoundPlan<Context>, 'round' | 'context'>>

interface RoundEndEvent {
  readonly type: 'round-end'
  readonly round: number
  readonly model: string
  readonly finish: RoundFinish
  readonly error?: ErrorJson
  readonly usage?: Partial<Usage>
  readonly contextTokens?: number
  readonly timings?: RoundTimings
  readonly metadata?: JsonObject
}

type RoundFinish = FinishReason | 'interrupted'

interface RoundPlan<Context = unknown> {
  readonly round: number
  readonly messages: readonly Message[]
  readonly model: Model
  readonly system: string | undefined
  readonly tools: readonly Tool<Context>[]
  readonly settings: ModelSettings
  readonly toolChoice: ToolChoice | undefined
  readonly context: Context
}

interface RoundRetractEvent {
  readonly type: 'round-retract'
  readonly round: number
  readonly reason: string
}

interface RoundRetryEvent {
  readonly type: 'round-retry'
  readonly round: number
  readonly attempt: number
  readonly model: string
  readonly delayMs: number
  readonly error: ErrorJson
}

interface RoundStartEvent {
  readonly type: 'round-start'
  readonly round: number
  readonly model: string
  readonly heard?: readonly number[]
}

interface RoundTimings {
  readonly firstEventMs?: number
  readonly ms: number
  readonly tokensPerSecond?: number
}

interface Ruling {
  readonly decision: 'allow' | 'ask' | 'deny'
  readonly rule: string
  readonly reason: string
  readonly rules?: readonly string[]
}

interface Run<Output = undefined, Draft = Output> extends Watchable {
  readonly result: Promise<RunResult<Output>>
  partials(): AsyncIterable<Partially<Draft>>
  steer(message: string | InputUserMessage): boolean
  resume(decisions: Decision | readonly Decision[], options?: RunOptions): Run<Output, Draft>
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

interface RunBeginning {
  readonly runId: string
  readonly agent: string
  readonly conversation?: string | undefined
  readonly inThread: boolean
  readonly causes: readonly string[]
  readonly resumes?: ResumedRun | undefined
}

interface RunEndEvent {
  readonly type: 'run-end'
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  readonly usage: Usage
  readonly error?: ErrorJson
}

type RunEvent =
  | RunStartEvent
  | RoundStartEvent
  | RoundRetryEvent
  | RoundRetractEvent
  | RoundEndEvent
  | Exclude<ModelEvent, RestartEvent | DoneEvent>
  | ToolStartEvent
  | ToolProgressEvent
  | ToolResultEvent
  | ApprovalRequestEvent
  | ApprovalEvent
  | InputEvent
  | SummaryEvent
  | RunEndEvent

interface RunOptions<Context = unknown> {
  readonly context?: Context | undefined
  readonly signal?: AbortSignal | undefined
  readonly maxRounds?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly runMs?: number | undefined
  readonly conversation?: string | undefined
}

interface RunResult<Output = undefined> {
  readonly runId: string
  readonly outcome: Outcome
  readonly finish?: RoundFinish
  readonly text: string
  readonly output: Output | undefined
  readonly messages: readonly Message[]
  readonly approvals: readonly ApprovalRequestEvent[]
  readonly usage: Usage
  readonly rounds: number
  readonly error?: MillraceError
}

interface RunStartEvent {
  readonly type: 'run-start'
  readonly version: number
  readonly runId: string
  readonly agent: string
  readonly input: readonly Message[]
  readonly repairs?: readonly string[]
  readonly resumes?: string
  readonly heard?: readonly number[]
  readonly losses?: number
  readonly trace?: string
}

interface RunState {
  runId: string
  trace: string | undefined
  originId: string
  readonly history: Message[]
  readonly forgotten: Message[]
  dropped: number
  answers: Map<string, number>
  summaries: number
  inputs: UserMessage[]
  round: number
  model: string
  phase: 'none' | 'telling' | 'told'
  draft: AssistantDraft
  heardChars: number | undefined
  readonly openInputs: Map<
    string,
    {
      name: string
      raw: string
    }
  >
  readonly calls: Map<string, CallState>
  recent: RecentResult[]
  checkpoint:
    | {
        readonly opaque: ProviderData
        readonly since: Said[]
      }
    | undefined
  readonly callIds: Set<string>
  granted: string[]
  toolRounds: number
  corrections: number
  text: string
  usage: Usage
  contextTokens: number | undefined
  finish: RoundFinish | undefined
  outcome: Outcome | undefined
}

interface RunTelemetry {
  readonly trace?: string | undefined
  event(event: RunEvent): void
  call(call: ModelCall): CallObserver
  within<Value>(callId: string | undefined, work: () => Value): Value
  inside(callId: string): Telemetry
  abandoned(): void
}

type Said = Extract<RunEvent, ModelEvent>

interface SayOptions extends SendOptions {
  readonly trace?: string | undefined
}

type Schema = StandardSchemaV1 | JsonSchema<unknown>

interface SendOptions {
  readonly mode?: InputMode | undefined
  readonly key?: string | undefined
}

type Shorten = (
  conversation: LongConversation,
) => Shortened | undefined | void | Promise<Shortened | undefined | void>

interface Shortened {
  readonly keep: number
  readonly summary: string
}

interface SignalOptions {
  readonly quotas?: Quotas | undefined
  readonly label?: ThreadLabel | undefined
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
}

interface StreamOptions {
  readonly signal: AbortSignal
  readonly wire?: WireListener | undefined
}

interface SummarizeOptions {
  readonly model?: Model | undefined
  readonly keepChars?: number | undefined
  readonly maxChars?: number | undefined
  readonly prompt?: string | undefined
}

interface SummaryEvent {
  readonly type: 'summary'
  readonly replaces: number
  readonly message: UserMessage
  readonly usage?: Partial<Usage>
}

interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}

interface Telemetry {
  begin(run: RunBeginning): RunTelemetry
  active?(): string | undefined
  open?(gauges: AppGauges): AppTelemetry
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
  readonly unheard?: string
  readonly opaque?: ProviderData
}

interface Thread {
  readonly id: string
  create(options?: { readonly anew?: boolean | undefined }): Promise<ThreadInfo>
  info(): Promise<ThreadInfo>
  send(message: string | InputUserMessage, options?: SayOptions): Promise<number>
  follow(options?: FollowOptions): Following
  read(options?: ReadOptions): Promise<readonly Entry[]>
  state(options?: StateOptions): Promise<ThreadView>
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  exchangePage(options: ExchangePageOptions): Promise<ExchangePage>
  stop(reason?: string): Promise<number>
  approve(callId: string, answer: Answer): Promise<number>
  heard(heard: Heard): Promise<number>
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

type ThreadEvent = RunEvent | StopEvent | HeardEvent

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
}

interface ThreadPage {
  readonly threads: readonly ThreadInfo[]
  readonly next?: string
}

interface ThreadSnapshot extends Pick<ThreadInfo, 'head' | 'status'> {
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
  readonly run?: {
    readonly id: string
    readonly rounds: number
    readonly outcome?: Outcome
    readonly error?: ErrorJson
  }
}

interface ThreadState {
  head: number
  run: RunState | undefined
  agent: string | undefined
  waiting: WaitingInput[]
  interrupts: number
  readonly decisions: Map<string, number>
  answering: number
  stop:
    | {
        readonly seq: number
        readonly reason: string
      }
    | undefined
  earlierUsage: Usage
  error: ErrorJson | undefined
}

type ThreadStatus = 'idle' | 'queued' | 'running' | 'waiting'

interface ThreadStore {
  create(thread: NewThread, options?: CreateOptions): Promise<boolean>
  fork(threadId: string, at: number, thread: NewThread, options?: ForkOptions): Promise<boolean>
  get(threadId: string): Promise<StoredThread | undefined>
  list(options: ListOptions): Promise<ThreadPage>
  delete(threadId: string): Promise<boolean>
  append(batches: readonly Batch[]): Promise<readonly (readonly Entry[] | 'fenced')[]>
  signal(
    threadId: string,
    key: string | undefined,
    event: ThreadEvent,
    options?: SignalOptions,
  ): Promise<{
    readonly entry: Entry
    readonly repeated: boolean
  }>
  read(
    threadId: string,
    options: {
      readonly after: number
      readonly limit: number
      readonly split?: boolean | undefined
    },
  ): Promise<readonly Entry[]>
  claim(
    threadId: string,
    owner: string,
    leaseMs: number,
    runs?: number,
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
    },
  ): Promise<'released' | 'moved' | 'fenced'>
  stranded(limit: number, agents: readonly string[], runs?: number): Promise<readonly string[]>
  usage(caller: string): Promise<CallerUsage>
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
  compact(threadId: string, upTo: number): Promise<void>
  watch(listener: WatchListener): () => void
  close(): Promise<void>
}

interface ThreadView extends Omit<ThreadInfo, keyof ThreadSnapshot>, ThreadSnapshot {}

interface ThreadsOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  readonly search?: string | undefined
}

interface Tool<Context = any> extends ToolSpec {
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
  readonly fingerprint?: string
  readonly notices?: Toolbox['notices']
  readonly run: (input: never, context: ToolContext<Context>) => unknown
}

interface ToolCallEvent {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  readonly input: JsonObject
  readonly problem?: string
  readonly raw?: string
  readonly opaque?: ProviderData
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

interface ToolContent {
  readonly [brand]: readonly unknown[]
}

interface ToolContext<Context = unknown> {
  readonly signal: AbortSignal
  readonly runSignal: AbortSignal
  readonly callId: string
  readonly runId: string
  readonly idempotencyKey: string
  readonly attempt: number
  progress(data: unknown): void
  commit(): Promise<void>
  permits(access: Access): Promise<string | undefined>
  readonly context: Context
}

interface ToolInputEvent {
  readonly type: 'tool-input'
  readonly callId: string
  readonly delta: string
}

interface ToolInputStartEvent {
  readonly type: 'tool-input-start'
  readonly callId: string
  readonly name: string
}

interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: readonly ToolResultPart[]
  readonly isError?: boolean
}

interface ToolOptions<S extends Schema, Context> {
  readonly name: string
  readonly description: string
  readonly input: S
  readonly run: (input: InferValue<S>, context: ToolContext<Context>) => unknown
  readonly timeoutMs?: number | undefined
  readonly exclusive?: boolean | undefined
  readonly repeat?: 'safe' | 'never' | undefined
  readonly approve?: boolean | Approve<InferValue<S>, Context> | undefined
  readonly onInput?:
    | ((
        partial: Partially<InferInput<S>>,
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
}

interface ToolProgressEvent {
  readonly type: 'tool-progress'
  readonly callId: string
  readonly data?: JsonValue
  readonly event?: RunEvent
}

interface ToolResultEvent {
  readonly type: 'tool-result'
  readonly callId: string
  readonly name: string
  readonly output: readonly ToolResultPart[]
  readonly shown?: readonly ToolResultPart[]
  readonly status: CallStatus
  readonly isError: boolean
  readonly ms: number
  readonly overlapMs: number
  readonly permission?: Permission
}

type ToolResultPart = TextPart | JsonPart | ImagePart

interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly strict?: boolean
}

interface ToolStartEvent {
  readonly type: 'tool-start'
  readonly callId: string
  readonly name: string
  readonly attempt: number
  readonly input?: JsonObject
  readonly permission?: Permission
}

interface Toolbox<Context = any> {
  readonly tools: readonly Tool<Context>[]
  readonly notices?: () => Promise<readonly string[]>
}

interface Transcript {
  readonly version: number
  readonly messages: readonly Message[]
}

interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
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

type Verdict =
  | {
      readonly block: string
    }
  | {
      readonly input: object
    }

interface WaitingInput {
  readonly seq: number
  readonly message: UserMessage
  readonly mode: InputMode
  held: boolean
  readonly trace?: string | undefined
}

type WatchListener = (threadId: string, head?: number) => void

interface Watchable extends AsyncIterable<RunEvent> {
  readonly id: string
  text(options?: TextOptions): AsyncIterable<string>
  toReadableStream(): ReadableStream<RunEvent>
  cancel(reason?: string): void
}

interface WireExchange {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status?: number
  readonly answerHeaders?: Readonly<Record<string, string>>
  readonly answer?: string
  readonly cut?: boolean
}

interface WireListener {
  sent(request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): void
  answered(answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> }): void
  received(text: string): void
}

declare function addUsage(a: Usage, b: Partial<Usage>): Usage

declare function agent<
  const Tools extends readonly (Tool | Toolbox)[] = readonly [],
  const Output extends Schema | undefined = undefined,
  Context = ContextOf<Tools>,
>(
  options: Omit<AgentOptions<Context, Output>, 'tools'> & {
    readonly tools?: Tools | undefined
  },
): Agent<Context, OutputOf<Output>, DraftOf<Output>>

declare const agentDefaults: {
  readonly name: 'agent'
  readonly requireStreaming: false
  readonly maxRounds: 10
  readonly maxCorrections: 1
  readonly settings: {}
  readonly retry: {
    readonly attempts: 3
    readonly baseMs: 500
    readonly maxDelayMs: 60000
  }
  readonly firstEventMs: 300000
  readonly idleMs: 300000
  readonly runMs: number
  readonly toolTimeoutMs: 300000
  readonly toolConcurrency: 8
  readonly maxCallsPerRound: 32
  readonly maxResultChars: 50000
  readonly maxOutputChars: 200000
  readonly repeatLimits: {
    readonly warn: 3
    readonly refuse: 6
  }
  readonly onToolError: 'continue'
}

declare function applyEntry(state: ThreadState, { seq, event }: Entry): void

declare function assistantDraft(content?: readonly AssistantPart[]): AssistantDraft

declare const brand: unique symbol

declare function conversationOf({ run, waiting }: ThreadState): Message[]

declare function detectModel(options?: DetectOptions): Promise<Detected>

declare function emptyThread(): ThreadState

declare function fallback(models: readonly [Model, ...Model[]] | readonly Model[]): Model

declare function foldMessage(
  events: Iterable<
    | {
        readonly type: string
      }
    | ModelEvent
  >,
): AssistantMessage | undefined

declare function fromGenerate(generate: Generate, options?: GenerateOptions): Model

declare function isMillraceError(error: unknown): error is MillraceError

declare function logs(logger: Logger, options?: LogsOptions): Telemetry

declare function memoryExchanges(options?: MemoryExchangesOptions): ExchangeStore

declare function memoryStore(options?: MemoryStoreOptions): ThreadStore

declare function millrace(options: AppOptions): App

declare const noUsage: Usage

declare function parseArguments(raw: string):
  | {
      readonly input: JsonObject
      readonly problem?: undefined
    }
  | {
      readonly input: JsonObject
      readonly problem: string
    }

declare function partialJson({ maxDepth }?: { maxDepth?: number }): PartialJson

declare function readTranscript(value: unknown): Message[]

declare function summarize(options?: SummarizeOptions): Shorten

declare function textOf(message: Message): string

declare function tool<S extends StandardSchemaV1 | JsonSchema<unknown>, Context = unknown>(
  options: ToolOptions<S, Context>,
): Tool<Context>

declare function toolCall(call: {
  readonly callId: string
  readonly name: string
  readonly raw: string
  readonly opaque?: ProviderData | undefined
}): ToolCallEvent

declare function toolCallsOf(message: Message): ToolCallPart[]

declare function toolContent(parts: readonly InputPart[]): ToolContent

declare function writeTranscript(messages: readonly Message[]): Transcript

export {
  type Access,
  type AfterCall,
  type Agent,
  type AgentInput,
  type AgentOptions,
  type Answer,
  type App,
  type AppGauges,
  type AppOptions,
  type AppTelemetry,
  type ApprovalEvent,
  type ApprovalRequestEvent,
  type AsToolOptions,
  type AssistantDraft,
  type AssistantMessage,
  type AssistantPart,
  type BackgroundGeneration,
  type Batch,
  type BeforeCall,
  type Budget,
  type CallEnd,
  type CallObserver,
  type CallStatus,
  type CallerUsage,
  type CheckpointEvent,
  type Clock,
  type CreateOptions,
  type Decision,
  type DetectOptions,
  type Detected,
  type DoneEvent,
  type Entry,
  type ErrorCode,
  type ErrorFields,
  type ErrorJson,
  type Exchange,
  type ExchangeStore,
  type ExchangesOptions,
  type FetchAccess,
  type FilePart,
  type FinishReason,
  type Flush,
  type FollowOptions,
  type Following,
  type ForkOptions,
  type Generate,
  type GenerateOptions,
  type GeneratedAnswer,
  type GeneratedCall,
  type Heard,
  type HeardEvent,
  type HookCall,
  type ImagePart,
  type InputEvent,
  type InputFilePart,
  type InputImagePart,
  type InputMessage,
  type InputMode,
  type InputUserMessage,
  type JsonObject,
  type JsonPart,
  type JsonSchema,
  type JsonValue,
  type JudgedCall,
  type Lease,
  type ListOptions,
  type LogFields,
  type LogFormat,
  type LogLevel,
  type LogValue,
  type Logger,
  type LogsOptions,
  type LongConversation,
  type MemoryExchangesOptions,
  type MemoryStoreOptions,
  type Message,
  MillraceError,
  type Model,
  type ModelCall,
  type ModelCapabilities,
  type ModelEvent,
  type ModelRequest,
  type ModelSettings,
  type ModelStream,
  type NewThread,
  type ObserveCall,
  type Outcome,
  PROTOCOL_VERSION,
  type PartEndEvent,
  type PartialJson,
  type Partially,
  type PathAccess,
  type Permission,
  type PermissionMemory,
  type Plan,
  type PlanResult,
  type PlannedCall,
  type Policy,
  type PrepareRound,
  type ProviderData,
  type ProviderToolEvent,
  type ProviderToolPart,
  type Question,
  type QuotaUsage,
  type Quotas,
  type ReadOptions,
  type ReasoningEvent,
  type ReasoningPart,
  type RememberFor,
  type Remembered,
  type RepeatLimits,
  type Replacement,
  type RestartEvent,
  type ResumedRun,
  type RetryOptions,
  type RoundChange,
  type RoundEndEvent,
  type RoundFinish,
  type RoundPlan,
  type RoundRetractEvent,
  type RoundRetryEvent,
  type RoundStartEvent,
  type RoundTimings,
  type Ruling,
  type Run,
  type RunAccess,
  type RunBeginning,
  type RunEndEvent,
  type RunEvent,
  type RunOptions,
  type RunResult,
  type RunStartEvent,
  type RunTelemetry,
  type SayOptions,
  type Schema,
  type SendOptions,
  type Shorten,
  type Shortened,
  type SignalOptions,
  type StopEvent,
  type StoredThread,
  type StreamOptions,
  type SummarizeOptions,
  type SummaryEvent,
  type SystemMessage,
  type Telemetry,
  type TextEvent,
  type TextOptions,
  type TextPart,
  type Thread,
  type ThreadEvent,
  type ThreadInfo,
  type ThreadLabel,
  type ThreadOptions,
  type ThreadPage,
  type ThreadSnapshot,
  type ThreadState,
  type ThreadStatus,
  type ThreadStore,
  type ThreadView,
  type ThreadsOptions,
  type Tool,
  type ToolCallEvent,
  type ToolCallPart,
  type ToolChoice,
  type ToolContent,
  type ToolContext,
  type ToolInputEvent,
  type ToolInputStartEvent,
  type ToolMessage,
  type ToolOptions,
  type ToolProgressEvent,
  type ToolResultEvent,
  type ToolResultPart,
  type ToolSpec,
  type ToolStartEvent,
  type Toolbox,
  type Transcript,
  type Usage,
  type UserMessage,
  type UserPart,
  type Verdict,
  type Watchable,
  type WireExchange,
  type WireListener,
  addUsage,
  agent,
  agentDefaults,
  applyEntry,
  assistantDraft,
  conversationOf,
  detectModel,
  emptyThread,
  fallback,
  foldMessage,
  fromGenerate,
  isMillraceError,
  logs,
  memoryExchanges,
  memoryStore,
  millrace,
  noUsage,
  parseArguments,
  partialJson,
  readTranscript,
  summarize,
  textOf,
  tool,
  toolCall,
  toolCallsOf,
  toolContent,
  writeTranscript,
}
