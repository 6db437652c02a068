import type { ModelEvent } from './events.ts'
import type { JsonObject } from './json.ts'
import type { Message, ProviderData } from './messages.ts'

/** A tool as a model is told of it. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  /** The provider must hold the model to the schema, where it can. */
  readonly strict?: boolean
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** What most providers understand; one that does not know a setting leaves it out. */
export interface ModelSettings {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly stop?: readonly string[] | undefined
  readonly seed?: number | undefined
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | undefined
  readonly parallelToolCalls?: boolean | undefined
  /** Fields of the provider's own request, over whatever else is set. Its tools are added to the agent's. */
  readonly extra?: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface ModelRequest {
  /** Paired: every tool call is followed by its result. Never changed by a model. */
  readonly messages: readonly Message[]
  /** Always in the same order, so that a provider's prompt cache holds. */
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice
  /** The final answer must be JSON of this schema. */
  readonly output?: JsonObject
  readonly settings: ModelSettings
}

export interface ModelCapabilities {
  readonly tools: boolean
  readonly images: boolean
  readonly files: boolean
  readonly reasoning: boolean
  /** False if the whole answer arrives at once. */
  readonly streaming: boolean
  /** Takes `ModelRequest.output` natively; otherwise the agent asks for the schema in words. */
  readonly structuredOutput: boolean
}

/** The events of one generation. It is read once, in one of the two ways. */
export interface ModelStream extends AsyncIterable<ModelEvent> {
  /**
   * The same events, in the lists in which they arrived: one wait for a read of a socket, not one for each event. An agent
   * reads these where they are offered. A list is never empty.
   */
  batches?(): AsyncIterable<readonly ModelEvent[]>
}

/**
 * Told of what goes over the wire, without secrets: they are taken out before. What it throws ends the generation. Where a
 * provider wants its answer gone on with, all of it comes again for the next request.
 */
export interface WireListener {
  sent(request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): void
  answered(answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> }): void
  /** The next text of the answer. It may lag behind by a line, in which a key could stand. */
  received(text: string): void
}

export interface StreamOptions {
  readonly signal: AbortSignal
  /** For models over HTTP; others take no notice. */
  readonly wire?: WireListener | undefined
}

/** For a provider that generates without a connection. */
interface BackgroundGeneration {
  /**
   * The events of the same generation after a `checkpoint`, as `stream` would have yielded them: everything since the checkpoint is
   * repeated. Fails with an error that is not retryable if the provider no longer knows the generation.
   */
  resume(checkpoint: ProviderData, request: ModelRequest, options: StreamOptions): ModelStream
  /** Ends the generation at the provider. Never rejects. */
  cancel(checkpoint: ProviderData, settings: ModelSettings): Promise<void>
}

/**
 * What a provider implements.
 *
 * `stream` generates one round: it may yield any number of events and then exactly one `done`, after which nothing more is
 * read. After a `restart`, what it has yielded before is void. It fails by throwing, before or between events; a `MillraceError` says whether a second try makes sense, anything
 * else is taken as `llm_error`. Ending without `done` is a failure. It stops soon after `signal` is aborted; whoever reads
 * does not wait for that. A `tool-call` may be yielded only when the wire has closed the call's arguments.
 * It may be called any number of times, also at once.
 */
export interface Model {
  /** The model's name as people know it. */
  readonly id: string
  readonly provider: string
  /** Where it is asked, for whoever looks on: `https://api.example.org`. */
  readonly address?: string | undefined
  readonly capabilities: ModelCapabilities
  /** For one that stands for a list to fall back over: an agent takes these instead, and does the falling back itself. */
  readonly models?: readonly Model[]
  stream(request: ModelRequest, options: StreamOptions): ModelStream
  /** Required if it yields `checkpoint` events. */
  readonly background?: BackgroundGeneration | undefined
}
