import type { JsonObject } from 'millrace'
import type { Scenario } from './scenario.ts'

/** What is spoken: OpenAI's Chat Completions and Responses, Anthropic's Messages. */
export type Wire = 'openai-chat' | 'openai-responses' | 'anthropic'

/** One server-sent event. Text in `data` goes out as it is: Chat's `[DONE]`, or what a fault made of the JSON. */
export interface Frame {
  readonly event?: string
  readonly data: JsonObject | string
}

/** What happens in a stream, in order. `hang` and `end` are the last thing that does. */
export type Beat =
  | { readonly frame: Frame }
  | { readonly pauseMs: number }
  /** Waits for a generation that does not depend on this connection; false if it ends here. */
  | { readonly gate: Promise<boolean> }
  | { readonly stop: 'hang' | 'end' }

export interface RenderInput {
  /** The request as it was sent: what it asks for decides what the answer tells. */
  readonly body: JsonObject
  readonly scenario: Scenario
  /** A fresh id with the provider's prefix. */
  readonly nextId: (prefix: string) => string
  /** Seconds since 1970, as it stands in the answer. */
  readonly created: number
}

/** A scenario in the words of one wire, streamed and in one piece. */
export interface Rendered {
  readonly beats: readonly Beat[]
  readonly whole: JsonObject
  readonly handedOut: readonly HandedOut[]
}

/** Something that must come back unchanged, or with what it belongs to. */
export type HandedOut =
  | { readonly type: 'thinking'; readonly text: string; readonly signature: string }
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'reasoning'; readonly id: string; readonly encrypted?: string }
  /** An output item, which may be named later by its id alone. */
  | { readonly type: 'item'; readonly item: JsonObject }
  /** A call that was written after reasoning: an id of the wire, or of its item. */
  | { readonly type: 'reasoned-call'; readonly id: string; readonly reasoningId?: string }
