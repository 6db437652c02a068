import type { JsonObject, JsonValue } from './json.ts'

/** The version of messages and events in this package. A reader refuses a larger one. */
export const PROTOCOL_VERSION = 1

/**
 * Something a provider must get back unchanged with the part it came with (a thinking signature, an encrypted reasoning
 * item, …). Only the provider named may look inside; others leave it out.
 */
export interface ProviderData {
  readonly provider: string
  readonly data: JsonValue
}

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /**
   * What went on behind `text` and nobody heard, since a person interrupted the voice that spoke it. Only in answers; no model
   * reads it.
   */
  readonly unheard?: string
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
  /** `{}` when the arguments could not be used; `raw` then holds what the model wrote. */
  readonly input: JsonObject
  readonly raw?: string
  readonly opaque?: ProviderData
}

/** Something of a tool that the provider itself ran: what it was given, what came of it, or both. */
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

/** The result of one call. It stands behind the assistant message that holds the call, in the order of the calls. */
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

/** The words of a message: text parts joined, everything else left out. */
export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  let text = ''
  for (const part of message.content) if (part.type === 'text') text += part.text
  return text
}

/** What became of a call, in words: what is no text is named. */
export function wordsOfResult(parts: readonly ToolResultPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')
}
