import { Socket } from 'node:net'

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

interface Following extends AsyncIterableIterator<Entry, undefined> {
  ready(): Entry | undefined
  listen(onEntries: (entries: readonly Entry[]) => boolean): Promise<void> | undefined
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

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

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

interface SocketConnection {
  readonly closed: Promise<void>
  close(code: number, reason: string): void
}

interface SocketOptions {
  readonly socket: Socket
  readonly thread: Thread
  readonly after?: number | 'now' | undefined
  readonly stream?: boolean | undefined
  readonly heartbeatMs?: number | undefined
  readonly stuckMs?: number | undefined
  readonly framesPerSecond?: number | undefined
  readonly voice?: Voice | undefined
  readonly clientOptions?: Iterable<keyof RunRequest> | undefined
  readonly authorize?: (() => void | Promise<void>) | undefined
  readonly onError?: ((error: unknown, id: string) => void) | undefined
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

interface ThreadFeedback extends Feedback {
  readonly user?: string | undefined
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

interface WireExchange {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly response?: string
  readonly cut?: boolean
}

declare function attachSocket(ws: ServerSocket, options: SocketOptions): SocketConnection

declare const closeCodes: {
  readonly goingAway: 1001
  readonly policy: 1008
  readonly internal: 1011
  readonly tryAgainLater: 1013
  readonly threadGone: 4404
}

declare const outcomes: readonly [
  'completed',
  'max-rounds',
  'budget',
  'truncated',
  'suspended',
  'canceled',
  'failed',
]

export { type ServerSocket, type SocketConnection, type SocketOptions, attachSocket, closeCodes }
