import type { AssistantPart, Message, ToolResultPart, UserPart } from '../protocol/index.ts'

/** How much of a tool call's arguments, and of its result, is included. */
const maxToolChars = 2000

/** Estimated size of an image or file. Providers count by size or page, at 1,000 tokens or more. */
const mediaChars = 4000

/** Renders a conversation as plain text, with tool calls and results truncated. */
export function asText(messages: readonly Message[]): string {
  return messages.flatMap((message) => paragraph(message) || []).join('\n\n')
}

function paragraph(message: Message): string {
  switch (message.role) {
    case 'system':
      return ''
    case 'user':
      return `User: ${typeof message.content === 'string' ? message.content : lines(message.content)}`
    case 'assistant': {
      const text = lines(message.content)
      return text && `Assistant: ${text}`
    }
    case 'tool': {
      const failed = message.isError ? ', an error' : ''
      return `Result of ${message.name} (${message.callId}${failed}): ${truncate(lines(message.content), maxToolChars)}`
    }
  }
}

type Part = UserPart | AssistantPart | ToolResultPart

function lines(parts: readonly Part[]): string {
  return parts.flatMap((part) => line(part) || []).join('\n')
}

function line(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'json':
      return JSON.stringify(part.value)
    case 'tool-call':
      return `[calls ${part.name} (${part.callId}): ${truncate(part.raw ?? JSON.stringify(part.input), maxToolChars)}]`
    case 'provider-tool': {
      const { name, input, output } = part
      return `[${name}: ${truncate(JSON.stringify({ input, output }), maxToolChars)}]`
    }
    case 'image':
      return '[an image]'
    case 'file':
      return `[a file${part.name ? `: ${part.name}` : ''}]`
    case 'reasoning':
      return ''
  }
}

/** The start of a text, with a note on how much was left out. */
function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, safeCutIndex(text, limit))
  return `${head} [… ${text.length - head.length} characters left out]`
}

/** Returns `end`, or `end - 1` where a cut at `end` would split a surrogate pair. */
export function safeCutIndex(text: string, end: number): number {
  return end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end - 1 : end
}

/** The sizes of messages that are not plain text, which are expensive to measure. */
const sizes = new WeakMap<Message, number>()

/**
 * The approximate size of a message for a model, in characters. Each message is measured once, since
 * every round sends all of them again.
 */
export function sizeOf(message: Message): number {
  if (typeof message.content === 'string') return message.content.length
  let size = sizes.get(message)
  if (size === undefined) {
    size = 0
    for (const part of message.content) size += partSize(part)
    sizes.set(message, size)
  }
  return size
}

/** Ids and a provider's own data are left out: how long they are says little about their tokens. */
function partSize(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text.length
    case 'json':
      return JSON.stringify(part.value).length
    case 'tool-call':
      return part.name.length + JSON.stringify(part.input).length
    case 'provider-tool': {
      const { name, input, output, opaque } = part
      const hasContent = input !== undefined || output !== undefined
      return name.length + JSON.stringify(hasContent ? { input, output } : opaque.data).length
    }
    case 'image':
      return mediaChars
    case 'file': {
      // Models read text files as text. Base64 is a third longer.
      const isText = /^text\/|^application\/json/.test(part.mediaType)
      return isText && 'data' in part ? Math.ceil(part.data.length * 0.75) : mediaChars
    }
  }
}
