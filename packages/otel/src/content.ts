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
import { asPlayed, isObject, toJson } from 'millrace/internal'

/** Where a piece of content will be recorded. */
export interface ContentLocation {
  /** The span attribute; `error.message` for errors. */
  readonly attribute: string
  readonly agent: string
  /** The tool, if the content belongs to a tool call. */
  readonly tool?: string | undefined
}

/**
 * Returns what to record, or undefined for nothing. `value` is a copy that may be modified. Must be
 * synchronous.
 */
export type Redact = (value: JsonValue, place: ContentLocation) => JsonValue | undefined

/** Records content on spans, as far as the `redact` hook allows it. */
export interface ContentWriter {
  /**
   * Does nothing if the span is not recorded. If the hook throws, nothing is recorded: it may exist
   * to remove secrets.
   */
  put(span: Span, value: () => unknown, place: ContentLocation): void
  /** An error message for the status of a span, if it may be recorded. */
  errorText(span: Span, text: () => string, place: Omit<ContentLocation, 'attribute'>): string | undefined
}

export function contentWriter(redact: Redact | undefined): ContentWriter {
  function shownOn(span: Span, value: () => unknown, place: ContentLocation): string | undefined {
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
    errorText: (span, text, place) => shownOn(span, text, { ...place, attribute: 'error.message' }),
  }
}

/** Strings as they are, everything else as JSON; undefined if it cannot be JSON. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!isObject(value) || typeof value.then !== 'function') return JSON.stringify(value)
  // An async hook: the span does not wait for it, and its rejection must not crash the process.
  Promise.resolve(value).catch(() => {})
  return undefined
}

/** A part in the format of the conventions. Parts they do not define keep their own type. */
type Part = { readonly type: string; readonly [field: string]: unknown }

export function systemOf({ messages }: ModelRequest): Part[] {
  return messages.flatMap((message) =>
    message.role === 'system' ? [{ type: 'text', content: message.content }] : [],
  )
}

/**
 * The conversation as the model reads it, without unplayed text, and without system prompts, which
 * are recorded separately.
 */
export function inputOf(messages: readonly Message[]): object[] {
  return messages.flatMap((message) => {
    const read = asPlayed(message)
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

/** A tool's output: the value itself if it is one text or one JSON value, otherwise parts. */
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

/** The conventions have separate parts for call and result, which may be one part here. */
function providerToolParts({ callId: id, name, input, output }: ProviderToolPart): Part[] {
  const call = { type: 'server_tool_call', id, name, server_tool_call: { type: name, input } }
  if (output === undefined) return [call]
  const result = { type: 'server_tool_call_response', id, server_tool_call_response: { type: name, output } }
  return input === undefined ? [result] : [call, result]
}

/** Without the bytes: they would dominate the trace and are useless there. */
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
