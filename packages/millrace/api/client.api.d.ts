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

interface AgentModel {
  readonly id: string
  readonly provider: string
  readonly contextTokens?: number
  readonly isFallback?: true
  readonly isSimulated?: true
}

type AmountKind = keyof Amounts

interface Amounts {
  readonly usd: number
  readonly tokens: number
  readonly rounds: number
  readonly toolCalls: number
  readonly ms: number
}

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

interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
}

type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ProviderToolPart

interface BrowserMicrophoneOptions extends WorkletOptions {
  readonly deviceId?: string | undefined
}

type BrowserPlayerOptions = WorkletOptions

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

interface CheckpointEvent {
  readonly type: 'checkpoint'
  readonly opaque?: ProviderData
}

interface Client {
  thread(id: string): RemoteThread
  create(options?: CreateThreadOptions): Promise<RemoteThread>
  threads(options?: ListThreadsOptions): Promise<ThreadPage>
  agents(): Promise<readonly AgentInfo[]>
  agent(name: string): Promise<AgentDetails>
  import(exported: ExportedThread, options?: ImportThreadOptions): Promise<RemoteThread>
  usage(): Promise<LimitsUsage>
  spending(options?: SpendingOptions): Promise<readonly SpendingRow[]>
  voice(): Promise<{
    readonly speak: boolean
    readonly listen: boolean
  }>
}

interface ClientOptions {
  readonly token?: string | (() => string | Promise<string>) | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly fetch?: Fetch | undefined
  readonly WebSocket?: (new (url: string, protocols: string[]) => SocketLike) | undefined
  readonly transport?: 'auto' | 'websocket' | 'sse' | undefined
  readonly retry?: ReconnectOptions | undefined
  readonly timeoutMs?: number | undefined
  readonly openMs?: number | undefined
  readonly silenceMs?: number | undefined
  readonly onRetry?: ((error: MillraceError, delayMs: number) => void) | undefined
  readonly onOpen?: (() => void) | undefined
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

interface CreateThreadOptions {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly metadata?: JsonObject | undefined
  readonly messages?: readonly InputMessage[] | undefined
  readonly request?: RunRequest | undefined
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

interface ExchangesOptions {
  readonly run: string
  readonly round?: number | undefined
}

interface ExportOptions {
  readonly split?: boolean | undefined
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

type Fetch = (url: string, init: RequestInit) => Promise<Response>

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

interface FollowOptions {
  readonly after?: number | 'now' | undefined
  readonly signal?: AbortSignal | undefined
  readonly until?: 'idle' | number | undefined
}

interface Followable {
  follow(options: { readonly signal: AbortSignal }): AsyncIterator<Entry, undefined>
}

interface ForkThreadOptions {
  readonly id?: string | undefined
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

interface ImportThreadOptions {
  readonly id?: string | undefined
  readonly agent?: string | undefined
}

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

interface JsonPart<Value = JsonValue> {
  readonly type: 'json'
  readonly value: Value
}

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

type LimitsUsage = Readonly<
  Record<
    string,
    {
      readonly used: number
      readonly limit: number
    }
  >
>

interface ListThreadsOptions extends ThreadFilters {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

interface MetadataEvent {
  readonly type: 'metadata'
  readonly patch: JsonObject
  readonly initial?: JsonObject
}

interface Microphone {
  open(options: MicrophoneOptions): Promise<void>
  close(): Promise<void>
}

interface MicrophoneOptions {
  readonly sampleRate: number
  readonly onAudio: (pcm: Int16Array) => void
  readonly onEnd: (error: Error) => void
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

interface Played {
  readonly clip: number
  readonly position: number
  readonly idle: boolean
}

interface Player {
  open(options: PlayerOptions): Promise<void>
  play(chunk: PlayerChunk): void
  drop(clip: number, position: number): Promise<Played>
  pause(): Promise<Played>
  resume(): void
  close(): Promise<void>
}

interface PlayerChunk {
  readonly clip: number
  readonly position: number
  readonly pcm: Int16Array
}

interface PlayerOptions {
  readonly sampleRate: number
  readonly onPlayed: (played: Played) => void
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

interface ReadEntriesOptions {
  readonly after?: number | undefined
  readonly limit?: number | undefined
  readonly split?: boolean | undefined
}

interface ReadableThread {
  read(options: { readonly after: number; readonly split?: boolean | undefined }): Promise<readonly Entry[]>
  state(options?: StateOptions): Promise<ThreadView>
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

interface ReconnectOptions {
  readonly attempts?: number | undefined
  readonly baseMs?: number | undefined
  readonly maxDelayMs?: number | undefined
}

type RememberFor = 'thread' | 'always'

interface Remembered {
  readonly for: RememberFor
  readonly rules: readonly string[]
}

interface RemoteThread {
  readonly id: string
  send(message: string | InputUserMessage, options?: SendOptions): Promise<number>
  follow(options?: FollowOptions): AsyncIterableIterator<Entry, undefined>
  read(options?: ReadEntriesOptions): Promise<readonly Entry[]>
  state(options?: Pick<StateOptions, 'before'>): Promise<ThreadView>
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  stop(reason?: string): Promise<number>
  approve(callId: string, answer: ApprovalAnswer): Promise<number>
  respond(callId: string, output: unknown, options?: RespondOptions): Promise<number>
  rewind(before: number, options?: RewindOptions): Promise<number>
  testScript(): Promise<string>
  rename(title: string): Promise<number>
  updateMetadata(patch: JsonObject): Promise<number>
  feedback(run: string, feedback: Feedback): Promise<number>
  fork(at: number, options?: ForkThreadOptions): Promise<RemoteThread>
  voice(options: VoiceLineOptions): VoiceLine
  delete(): Promise<boolean>
}

interface RespondOptions {
  readonly isError?: boolean | undefined
  readonly request?: RunRequest | undefined
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

interface SendOptions {
  readonly mode?: InputMode | undefined
  readonly key?: string | undefined
  readonly request?: RunRequest | undefined
}

interface SocketLike {
  send(data: string | Uint8Array<ArrayBuffer>): void
  binaryType?: string
  readonly bufferedAmount?: number
  readonly readyState?: number
  close(code?: number): void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
  addEventListener(
    type: 'close',
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void
  addEventListener(type: 'error', listener: () => void): void
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

interface StateOptions {
  readonly bytes?: number | undefined
  readonly before?: number | undefined
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

interface ThreadPage {
  readonly threads: readonly ThreadInfo[]
  readonly next?: string
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

interface ThreadView extends Omit<ThreadInfo, keyof ThreadSnapshot>, ThreadSnapshot {}

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

interface ToolContent {
  readonly [brand]: readonly unknown[]
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

interface VoiceLine {
  interrupt(): void
  close(): Promise<VoicePosition | undefined>
  readonly ended: Promise<void>
}

interface VoiceLineOptions {
  readonly player?: Player | undefined
  readonly microphone?: Microphone | undefined
  readonly sampleRate?: number | undefined
  readonly speak?: boolean | undefined
  readonly listen?: boolean | undefined
  readonly from?: VoicePosition | undefined
  readonly onSentence?: ((sentence: VoiceSentence) => void) | undefined
  readonly onTranscript?: ((transcript: VoiceTranscript) => void) | undefined
  readonly onSpeech?: ((speech: boolean) => void) | undefined
  readonly onRecord?: ((record: TurnRecord) => void) | undefined
  readonly onError?: ((problem: VoiceProblem) => void) | undefined
  readonly onState?: ((state: VoiceState) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

interface VoicePosition {
  readonly session?: string | undefined
  readonly awaits?: string | undefined
  readonly seq: number
  readonly round: number
  readonly chars: number
}

interface VoiceProblem {
  readonly message: string
  readonly text?: string
}

type VoiceSentence = Pick<
  Extract<
    VoiceEvent,
    {
      type: 'voice_sentence'
    }
  >,
  'text' | 'round' | 'start' | 'chars'
> & {
  readonly seq: number
}

type VoiceState = 'connecting' | 'open' | 'reconnecting' | 'closed'

type VoiceTranscript = Omit<
  Extract<
    VoiceEvent,
    {
      type: 'voice_transcript'
    }
  >,
  'type'
>

type WatchOptions = Pick<FollowOptions, 'signal'>

interface WireExchange {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly response?: string
  readonly cut?: boolean
}

interface WorkletOptions {
  readonly workletUrl?: string | URL | undefined
}

declare const brand: unique symbol

declare function browserMicrophone(options?: BrowserMicrophoneOptions): Microphone

declare function browserPlayer(options?: BrowserPlayerOptions): Player

declare function client(url: string, options?: ClientOptions): Client

declare function exportThread(thread: ReadableThread, { split }?: ExportOptions): Promise<ExportedThread>

declare function isMillraceError(error: unknown): error is MillraceError

declare const outcomes: readonly [
  'completed',
  'max-rounds',
  'budget',
  'truncated',
  'suspended',
  'canceled',
  'failed',
]

declare function readExport(text: string): ExportedThread

declare function toolContent(parts: readonly InputPart[]): ToolContent

declare function watch(
  thread: Followable,
  options?: WatchOptions,
): AsyncIterableIterator<ThreadSnapshot, undefined>

declare function wholeLog(
  thread: Pick<ReadableThread, 'read'>,
  head?: number,
  { split }?: ExportOptions,
): Promise<Entry[]>

export {
  type AgentDetails,
  type AgentInfo,
  type AgentModel,
  type ApprovalAnswer,
  type BrowserMicrophoneOptions,
  type BrowserPlayerOptions,
  type Client,
  type ClientOptions,
  type CreateThreadOptions,
  type Entry,
  type ErrorCode,
  type Exchange,
  type ExchangesOptions,
  type ExportOptions,
  type ExportedThread,
  type Feedback,
  type Fetch,
  type FollowOptions,
  type Followable,
  type ForkThreadOptions,
  type ImportThreadOptions,
  type LimitsUsage,
  type ListThreadsOptions,
  type Microphone,
  type MicrophoneOptions,
  MillraceError,
  type Played,
  type Player,
  type PlayerChunk,
  type PlayerOptions,
  type ReadEntriesOptions,
  type ReadableThread,
  type ReconnectOptions,
  type RememberFor,
  type Remembered,
  type RemoteThread,
  type RespondOptions,
  type RewindOptions,
  type RunRequest,
  type SendOptions,
  type SocketLike,
  type SpendingKey,
  type SpendingOptions,
  type SpendingRow,
  type ThreadEvent,
  type ThreadFilters,
  type ThreadInfo,
  type ThreadPage,
  type ThreadSnapshot,
  type ThreadStatus,
  type ThreadView,
  type ToolContent,
  type TurnRecord,
  type VoiceLine,
  type VoiceLineOptions,
  type VoicePosition,
  type VoiceProblem,
  type VoiceSentence,
  type VoiceState,
  type VoiceTranscript,
  type WatchOptions,
  type WireExchange,
  browserMicrophone,
  browserPlayer,
  client,
  exportThread,
  isMillraceError,
  readExport,
  toolContent,
  watch,
  wholeLog,
}
