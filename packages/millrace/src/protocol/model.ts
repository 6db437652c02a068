import type { ModelEvent } from './events.ts'
import type { JsonObject } from './json.ts'
import type { Message, ProviderData } from './messages.ts'
import type { ModelSettings, ToolChoice, ToolSpec } from './run-request.ts'

export interface ModelRequest {
  /**
   * Paired: every tool call is followed by its result. Messages are immutable: every round sends all
   * of them again, so a model may keep what it makes of one.
   */
  readonly messages: readonly Message[]
  /** Always in the same order, so that the provider's prompt cache stays valid. */
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice
  /** The final answer must be JSON that matches this schema. */
  readonly output?: JsonObject
  readonly settings: ModelSettings
}

export interface ModelCapabilities {
  readonly tools: boolean
  readonly images: boolean
  readonly files: boolean
  readonly reasoning: boolean
  /** False if the answer arrives in one piece. */
  readonly streaming: boolean
  /** Supports `ModelRequest.output` natively; otherwise the agent puts the schema in the prompt. */
  readonly structuredOutput: boolean
}

/**
 * What a model costs, in US dollars per million tokens. What has no price of its own costs as much
 * as `input` or `output`.
 */
export interface Price {
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
  /** Per thousand searches. */
  readonly webSearches?: number | undefined
}

/** The events of one generation. Can be read once, either by iteration or by `pushTo()`. */
export interface ModelStream extends AsyncIterable<ModelEvent> {
  /**
   * Passes on the same events as they arrive, in one call per read from the socket instead of one
   * promise per event. Agents use it if present. Resolves after the last event; rejects with the
   * failure of the generation, or with what `onEvents` throws.
   */
  pushTo?(onEvents: OnEvents): Promise<void>
}

/**
 * Takes the next events, and returns whether it wants more. `false` ends the stream, as leaving a
 * loop over it does. Nothing more is passed on until a promise that it returns has resolved.
 */
export type OnEvents = (events: readonly ModelEvent[]) => boolean | Promise<boolean>

/**
 * Observes the wire traffic of a model, with secrets removed. An exception ends the generation. If
 * the provider needs further requests to finish its answer, the methods are called for each of
 * them.
 */
export interface WireListener {
  sent(request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): void
  responded(answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> }): void
  /** The next piece of the response. May lag by one line, which is checked for keys first. */
  received(text: string): void
}

export interface StreamOptions {
  readonly signal: AbortSignal
  /** For models over HTTP; others ignore it. */
  readonly wire?: WireListener | undefined
}

/** For providers that keep generating without a connection. */
interface BackgroundGeneration {
  /**
   * The events of the same generation after a `checkpoint`, as `stream` would have yielded them:
   * everything since the checkpoint is repeated. Fails with a non-retryable error if the provider
   * no longer has the generation.
   */
  resume(checkpoint: ProviderData, request: ModelRequest, options: StreamOptions): ModelStream
  /** Cancels the generation at the provider. Never rejects. */
  cancel(checkpoint: ProviderData, settings: ModelSettings): Promise<void>
}

/**
 * The interface that a provider implements.
 *
 * `stream` generates one round: it yields any number of events and then exactly one `done`, after
 * which nothing more is read. A `restart` voids everything yielded before it. It fails by throwing,
 * before or between events; a `MillraceError` says whether to retry, anything else becomes
 * `llm_error`. Ending without `done` is a failure. It stops soon after `signal` is aborted, but the
 * reader does not wait for that. A `tool-call` may be yielded only when its arguments are complete.
 * `stream` may be called any number of times, also concurrently.
 */
export interface Model {
  /** The model's id, such as `gpt-5`. */
  readonly id: string
  readonly provider: string
  /** The address of the API, for telemetry: `https://api.example.org`. */
  readonly address?: string | undefined
  readonly capabilities: ModelCapabilities
  /** What it costs, if that is not in the catalog of prices, or different. */
  readonly price?: Price | undefined
  /** Nothing is paid for it: costs are marked as simulated. */
  readonly simulated?: boolean | undefined
  /**
   * For a model that stands for a fallback list: an agent uses these models and falls back between
   * them itself.
   */
  readonly models?: readonly Model[]
  stream(request: ModelRequest, options: StreamOptions): ModelStream
  /** Required if it yields `checkpoint` events. */
  readonly background?: BackgroundGeneration | undefined
}
