import type { Span } from '@opentelemetry/api'
import type {
  AssistantMessage,
  FilePart,
  ImagePart,
  JsonValue,
  Message,
  ModelRequest,
  ToolResultPart,
  UserPart,
} from 'millrace'
import type { AssistantPart, ProviderToolPart } from 'millrace/internal'
import { asHeard, isObject, toJson } from 'millrace/internal'

/** Where a piece of content is to stand. */
export interface ContentPlace {
  /** The attribute that holds it; of an error, `error.message`. */
  readonly attribute: string
  readonly agent: string
  /** Of which tool it is, if it is a tool's. */
  readonly tool?: string | undefined
}

/** Gives what may stand there, or undefined for nothing. `value` is plain JSON of its own, free to be changed. It cannot be waited for. */
export type Redact = (value: JsonValue, place: ContentPlace) => JsonValue | undefined

/** Puts what was said on spans, as far as the caller's hook lets it. */
export interface ContentWriter {
  /** Does nothing for a span that nobody records. What the hook throws on is left out: it may be there to take secrets out. */
  put(span: Span, value: () => unknown, place: ContentPlace): void
  /** Words of an error for the status of a span, if they may be shown. */
  words(span: Span, text: () => string, place: Omit<ContentPlace, 'attribute'>): string | undefined
}

export function contentWriter(redact: Redact | undefined): ContentWriter {
  function shownOn(span: Span, value: () => unknown, place: ContentPlace): string | undefined {
    if (!span.isRecording()) return undefined
    try {
      return textOf(redact ? redact(toJson(value()), place) : value())
    } catch {
      return undefined
    }
  }
  return {
    put(span, value, place) {
      const shown = shownOn(span, value, place)
      if (shown !== undefined) span.setAttribute(place.attribute, shown)
    },
    words: (span, text, place) => shownOn(span, text, { ...place, attribute: 'error.message' }),
  }
}

/** Words as they are, everything else as JSON; undefined for what is no JSON at all. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!isObject(value) || typeof value.then !== 'function') return JSON.stringify(value)
  // An async hook: the span does not wait for it, and what it fails with must not end the process.
  Promise.resolve(value).catch(() => {})
  return undefined
}

/** A part as the conventions write it; what they have no form for goes by its own type. */
type Part = { readonly type: string; readonly [field: string]: unknown }

export function systemOf({ messages }: ModelRequest): Part[] {
  return messages.flatMap((message) =>
    message.role === 'system' ? [{ type: 'text', content: message.content }] : [],
  )
}

/** The conversation as a model reads it: without what nobody heard, and without its system prompts, which stand apart. */
export function inputOf(messages: readonly Message[]): object[] {
  return messages.flatMap((message) => {
    const read = asHeard(message)
    return !read || read.role === 'system' ? [] : [{ role: read.role, parts: partsOf(read) }]
  })
}

export function outputOf(message: AssistantMessage | undefined, finish: string): object[] {
  return message ? [{ role: 'assistant', parts: partsOf(message), finish_reason: finish }] : []
}

export function toolsOf({ tools }: ModelRequest): object[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    parameters: inputSchema,
  }))
}

/** What a tool gave: as it is if that is one text or one value, else as parts. */
export function resultOf(output: readonly ToolResultPart[]): unknown {
  const [first] = output
  if (output.length === 1 && first?.type === 'text') return first.text
  if (output.length === 1 && first?.type === 'json') return first.value
  return output.flatMap(partsFor)
}

function partsOf(message: Exclude<Message, { role: 'system' }>): Part[] {
  if (message.role === 'tool')
    return [{ type: 'tool_call_response', id: message.callId, response: resultOf(message.content) }]
  if (typeof message.content === 'string') return [{ type: 'text', content: message.content }]
  return (message.content as readonly (UserPart | AssistantPart)[]).flatMap(partsFor)
}

function partsFor(part: UserPart | AssistantPart | ToolResultPart): Part[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', content: part.text }]
    case 'reasoning':
      return [{ type: 'reasoning', content: part.text }]
    case 'tool-call':
      return [{ type: 'tool_call', id: part.callId, name: part.name, arguments: part.raw ?? part.input }]
    case 'provider-tool':
      return providerToolParts(part)
    case 'json':
      return [{ type: 'json', content: part.value }]
    case 'image':
    case 'file':
      return [mediaPart(part)]
  }
}

/** What it was given and what came of it are two parts to the conventions, and may be one here. */
function providerToolParts({ callId: id, name, input, output }: ProviderToolPart): Part[] {
  const call = { type: 'server_tool_call', id, name, server_tool_call: { type: name, input } }
  if (output === undefined) return [call]
  const result = { type: 'server_tool_call_response', id, server_tool_call_response: { type: name, output } }
  return input === undefined ? [result] : [call, result]
}

/** The bytes stay out: they would be most of the trace, and nobody reads them there. */
function mediaPart(part: ImagePart | FilePart): Part {
  const inline = 'url' in part ? /^data:([^;,]*)/i.exec(part.url) : undefined
  const type = 'mediaType' in part ? part.mediaType : inline?.[1]
  const about = { modality: modalityOf(part, type), ...(type && { mime_type: type }) }
  return 'url' in part && !inline
    ? { type: 'uri', ...about, uri: part.url }
    : { type: 'blob', ...about, content: '' }
}

function modalityOf({ type }: ImagePart | FilePart, mediaType = ''): string {
  return type === 'image'
    ? 'image'
    : (/^(image|audio|video)\//i.exec(mediaType)?.[1]?.toLowerCase() ?? 'document')
}
