import type { JsonObject } from 'millrace'
import type { Scenario } from './scenario.ts'

/** The API: OpenAI's Chat Completions and Responses, or Anthropic's Messages. */
export type Wire = 'openai-chat' | 'openai-responses' | 'anthropic'

/** One server-sent event. A string in `data` is sent as is: `[DONE]` of Chat, or malformed JSON. */
export interface Frame {
  readonly event?: string
  readonly data: JsonObject | string
}

/** What happens in a stream, in order. Nothing follows `hang` and `end`. */
export type TimelineItem =
  | { readonly frame: Frame }
  | { readonly pauseMs: number }
  /** Waits for a background generation; false ends the stream. */
  | { readonly gate: Promise<boolean> }
  | { readonly stop: 'hang' | 'end' }

export interface RenderInput {
  /** The request body, which determines what the response includes. */
  readonly body: JsonObject
  readonly scenario: Scenario
  /** Returns a new id with the provider's prefix. */
  readonly nextId: (prefix: string) => string
  /** The Unix time in the response. */
  readonly created: number
}

/** A scenario in the format of one wire, both streamed and whole. */
export interface Rendered {
  readonly timeline: readonly TimelineItem[]
  readonly whole: JsonObject
  readonly issued: readonly IssuedToken[]
}

/** Something that clients must send back unchanged, or together with what it belongs to. */
export type IssuedToken =
  | { readonly type: 'thinking'; readonly text: string; readonly signature: string }
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'reasoning'; readonly id: string; readonly encrypted?: string }
  /** An output item, which clients may reference by its id. */
  | { readonly type: 'item'; readonly item: JsonObject }
  /** A tool call after reasoning, by its call id or item id. */
  | { readonly type: 'reasoned-call'; readonly id: string; readonly reasoningId?: string }
