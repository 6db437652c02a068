import type { AssistantPart, Message, ToolResultPart, UserPart } from '../protocol/index.ts'

/** How much of the arguments and of the result of one call is shown. */
const maxToolChars = 2000

/** What an image or a file is taken to be as long as. Providers count by size or page, at a thousand tokens or more. */
const mediaChars = 4000

/** A conversation as a text to be read about it: who said what, what was called and what came of it, neither in full. */
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
      const said = lines(message.content)
      return said && `Assistant: ${said}`
    }
    case 'tool': {
      const failed = message.isError ? ', an error' : ''
      return `Result of ${message.name} (${message.callId}${failed}): ${cutEnd(lines(message.content), maxToolChars)}`
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
      return `[calls ${part.name} (${part.callId}): ${cutEnd(part.raw ?? JSON.stringify(part.input), maxToolChars)}]`
    case 'provider-tool': {
      const { name, input, output } = part
      return `[${name}: ${cutEnd(JSON.stringify({ input, output }), maxToolChars)}]`
    }
    case 'image':
      return '[an image]'
    case 'file':
      return `[a file${part.name ? `: ${part.name}` : ''}]`
    case 'reasoning':
      return ''
  }
}

/** The beginning of a text, and how much is left out. */
function cutEnd(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, wholeUpTo(text, limit))
  return `${head} [… ${text.length - head.length} characters left out]`
}

/** The same place or the one before it: never between the two halves of a surrogate pair. */
export function wholeUpTo(text: string, end: number): number {
  return end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end - 1 : end
}

/** About how long a message is for a model, in characters. */
export function sizeOf({ content }: Message): number {
  if (typeof content === 'string') return content.length
  let size = 0
  for (const part of content) {
    if (part.type === 'image' || part.type === 'file') size += mediaChars
    else if (part.type === 'text') size += part.text.length
    else size += JSON.stringify(part).length
  }
  return size
}
