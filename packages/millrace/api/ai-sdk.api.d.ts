interface AISDKCallOptions {
  readonly prompt: readonly unknown[]
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

interface AISDKModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls>
  doStream(options: AISDKCallOptions): PromiseLike<{
    readonly stream: ReadableStream<unknown>
  }>
}

interface AISDKOptions extends ModelSettings {
  readonly id?: string | undefined
  readonly capabilities?: Partial<ModelCapabilities> | undefined
  readonly tools?: Readonly<Record<string, AISDKTool>> | undefined
  readonly download?: Download | undefined
}

interface AISDKTool {
  readonly id: string
  readonly args: Readonly<Record<string, unknown>>
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

interface CheckpointEvent {
  readonly type: 'checkpoint'
  readonly opaque?: ProviderData
}

interface DoneEvent {
  readonly type: 'done'
  readonly finish: FinishReason
  readonly usage?: Partial<Usage>
  readonly contextTokens?: number
  readonly metadata?: JsonObject
}

type Download = (
  url: string,
  options: {
    readonly signal: AbortSignal
  },
) => PromiseLike<{
  readonly data: Uint8Array | string
  readonly mediaType?: string | undefined
}>

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

interface JsonObject {
  readonly [key: string]: JsonValue
}

interface JsonPart<Value = JsonValue> {
  readonly type: 'json'
  readonly value: Value
}

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

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
  pushTo?(onEvents: OnEvents): Promise<void>
}

type OnEvents = (events: readonly ModelEvent[]) => boolean | Promise<boolean>

interface PartEndEvent {
  readonly type: 'part-end'
  readonly part: 'text' | 'reasoning'
  readonly opaque?: ProviderData
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

interface ReasoningEvent {
  readonly type: 'reasoning'
  readonly text: string
}

interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque?: ProviderData
}

interface RestartEvent {
  readonly type: 'restart'
  readonly reason: string
}

interface StreamOptions {
  readonly signal: AbortSignal
  readonly wire?: WireListener | undefined
}

type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

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

type ToolResultPart = TextPart | JsonPart | ImagePart

interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly strict?: boolean
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

interface WireListener {
  sent(request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): void
  responded(answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> }): void
  received(text: string): void
}

declare function fromAISDK(model: AISDKModel, options?: AISDKOptions): Model

export {
  type AISDKCallOptions,
  type AISDKModel,
  AISDKOptions,
  type AISDKTool,
  type Download,
  type SupportedUrls,
  fromAISDK,
}
