import type { JsonObject, JsonValue } from './json.ts'

/** The version of messages and events in this package. Readers reject newer versions. */
export const PROTOCOL_VERSION = 2

/**
 * Data that must be sent back to the provider unchanged, with the part it came with (a thinking
 * signature, an encrypted reasoning item, …). Other providers ignore it.
 */
export interface ProviderData {
  readonly provider: string
  readonly data: JsonValue
}

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /**
   * The rest of the text, which was never played because a person interrupted the speech. Only in
   * assistant messages; models do not see it.
   */
  readonly unplayed?: string
  readonly opaque?: ProviderData
}

/** Either a `url`, or base64 `data` with its `mediaType`. */
export type ImagePart =
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'image'; readonly data: string; readonly mediaType: string }

export type FilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
} & ({ readonly url: string } | { readonly data: string })

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque?: ProviderData
}

export interface ToolCallPart {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  /** `{}` if the arguments were invalid; `raw` then holds the text the model wrote. */
  readonly input: JsonObject
  readonly raw?: string
  readonly opaque?: ProviderData
}

/** A tool that the provider ran itself: its input, its output, or both. */
export interface ProviderToolPart {
  readonly type: 'provider-tool'
  readonly callId: string
  readonly name: string
  readonly input?: JsonValue
  readonly output?: JsonValue
  readonly isError?: boolean
  readonly opaque: ProviderData
}

export interface JsonPart<Value = JsonValue> {
  readonly type: 'json'
  readonly value: Value
}

export type UserPart = TextPart | ImagePart | FilePart
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart | ProviderToolPart
export type ToolResultPart = TextPart | JsonPart | ImagePart

export interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}

export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly UserPart[]
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
}

/**
 * The result of one tool call. Results follow the assistant message with the calls, in call order.
 */
export interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: readonly ToolResultPart[]
  readonly isError?: boolean
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

export function toolCallsOf(message: Message): ToolCallPart[] {
  return message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : []
}

/** The text of a message: text parts joined, everything else left out. */
export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  let text = ''
  for (const part of message.content) if (part.type === 'text') text += part.text
  return text
}

/** The result of a call as text. Parts that are not text are shown as their type. */
export function textOfResult(parts: readonly ToolResultPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')
}
