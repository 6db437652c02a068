import type {
  AssistantMessage,
  FilePart,
  ImagePart,
  JsonObject,
  JsonValue,
  Message,
  ModelRequest,
  ModelSettings,
  ProviderData,
  ReasoningPart,
  ToolMessage,
  UserPart,
} from '../../protocol/index.ts'
import { invalidInput, isJsonObject, isObject, textOf, toolCallsOf } from '../../protocol/index.ts'
import { bodyOf, extraTools, resultText } from '../wire/body.ts'
import { asText, asUrl, omitUnsupportedFiles, sourceOf } from '../wire/media.ts'
import type { Converted, ConvertMessages } from '../wire/message-cache.ts'
import { messageCache } from '../wire/message-cache.ts'
import { strictSchema, strictTool } from '../wire/strict.ts'
import { toolCache } from '../wire/tool-cache.ts'
import { sendableName } from '../wire/tool-name.ts'
import type { Dialect } from './dialects.ts'

/**
 * Which reasoning is sent back to its provider: that of messages with calls, all of it, or none.
 */
export type SendReasoning = 'calls' | 'always' | 'never'

export interface ChatRequestOptions {
  readonly model: string
  readonly dialect: Dialect
  readonly settings: ModelSettings
  readonly convert: ConvertMessages<ChatMessage>
}

/** The body of a Chat Completions request. */
export function chatBody(
  { messages, tools, toolChoice, output }: ModelRequest,
  { model, dialect, settings, convert }: ChatRequestOptions,
): JsonObject {
  const { temperature, topP, maxOutputTokens, stop, seed, reasoning, parallelToolCalls, extra } = settings
  const hasTools = tools.length + extraTools(extra).length > 0
  return bodyOf(
    {
      model,
      messages: chatMessages(messages, dialect, convert),
      stream: true,
      stream_options: dialect.asksForUsage ? { include_usage: true } : undefined,
      tools: tools.map(toolField),
      tool_choice: !hasTools
        ? undefined
        : typeof toolChoice === 'object'
          ? { type: 'function', function: { name: toolChoice.name } }
          : toolChoice,
      parallel_tool_calls: hasTools ? parallelToolCalls : undefined,
      temperature,
      top_p: topP,
      [dialect.maxTokens]: maxOutputTokens,
      stop: stop ? [...stop] : undefined,
      [dialect.seed]: seed,
      ...(reasoning && dialect.reasoning(reasoning)),
      response_format: output && {
        type: 'json_schema',
        json_schema: { name: 'answer', ...answerSchema(output) },
      },
    },
    extra,
  )
}

const toolField = toolCache((tool) => {
  const { schema, strict } = strictTool(tool, strictSchema)
  const { name, description } = tool
  const body = { name, description, parameters: schema, ...(strict !== undefined && { strict }) }
  return { type: 'function', function: body }
})

function answerSchema(output: JsonObject): JsonObject {
  const strict = strictSchema(output)
  return strict ? { schema: strict, strict: true } : { schema: output }
}

interface MessageOptions {
  readonly provider: string
  readonly dialect: Dialect
  readonly sendReasoning: SendReasoning
}

interface ChatMessage extends Converted {
  /** Images of a tool result: a `tool` message holds only text, so they follow in a user message. */
  readonly images?: JsonValue[]
}

/** Converts conversations for one model. */
export function chatMessageCache(options: MessageOptions): ConvertMessages<ChatMessage> {
  return messageCache(options.dialect.ids, (message, idOf): ChatMessage => {
    switch (message.role) {
      case 'system':
        return { items: [{ role: 'system', content: message.content }] }
      case 'user':
        return { items: [{ role: 'user', content: userContent(message.content, options) }] }
      case 'assistant':
        return { items: assistantMessage(message, idOf, options) }
      case 'tool': {
        const content = resultText(message.content, '[the image follows]')
        return {
          items: [{ role: 'tool', tool_call_id: idOf(message.callId), content }],
          ...imagesOf(message),
        }
      }
    }
  })
}

const afterTools: JsonObject = { role: 'assistant', content: 'I see.' }

function chatMessages(
  messages: readonly Message[],
  dialect: Dialect,
  convert: ConvertMessages<ChatMessage>,
): JsonValue[] {
  const supports = (part: FilePart) => fileBlock(part, dialect) !== undefined
  const sendable = omitUnsupportedFiles(messages, supports)
  const result: JsonValue[] = []
  let images: JsonValue[] = []
  let afterTool = false
  const addUser = (item: JsonObject) => {
    if (afterTool && dialect.replyAfterTools) result.push(afterTools)
    result.push(item)
    afterTool = false
  }
  const addImages = () => {
    if (images.length > 0) addUser({ role: 'user', content: images })
    images = []
  }
  let at = 0
  for (const { items, images: more } of convert(sendable)) {
    const role = sendable[at++]?.role
    if (role !== 'tool') addImages()
    for (const item of items) {
      if (role === 'user') addUser(item)
      else result.push(item)
    }
    if (role === 'tool') afterTool = true
    else if (role === 'assistant' && items.length > 0) afterTool = false
    if (more) images.push(...more)
  }
  addImages()
  return result
}

function userContent(content: string | readonly UserPart[], options: MessageOptions): JsonValue {
  if (typeof content === 'string') return content
  return content.map((part): JsonValue => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    return part.type === 'image' ? imageField(part) : fileField(part, options)
  })
}

function imageField(part: ImagePart): JsonValue {
  return { type: 'image_url', image_url: { url: asUrl(part) } }
}

function fileField(part: FilePart, { provider, dialect }: MessageOptions): JsonValue {
  const block = fileBlock(part, dialect)
  if (block !== undefined) return block
  const how = sourceOf(part).url === undefined ? 'over Chat Completions' : 'by URL: pass the data instead'
  throw invalidInput('model.stream', `${provider} does not support files of type ${part.mediaType} ${how}`)
}

/** Undefined if the file is not supported. */
function fileBlock(part: FilePart, dialect: Dialect): JsonValue | undefined {
  const source = sourceOf(part)
  const { mediaType, name } = part
  if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url: asUrl(part) } }
  if (source.url !== undefined) return undefined
  if (mediaType.startsWith('text/') || mediaType === 'application/json')
    return { type: 'text', text: `${name ? `${name}:\n` : ''}${asText(source.data)}` }
  const audio = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(mediaType)?.[1]
  if (audio) {
    const format = audio === 'mpeg' ? 'mp3' : audio
    return { type: 'input_audio', input_audio: { data: source.data, format } }
  }
  return dialect.files && !/^(audio|video)\//.test(mediaType)
    ? { type: 'file', file: { filename: name ?? 'file', file_data: asUrl(part) } }
    : undefined
}

function assistantMessage(
  message: AssistantMessage,
  idOf: (callId: string) => string,
  { provider, dialect, sendReasoning }: MessageOptions,
): JsonObject[] {
  const text = textOf(message)
  const calls = toolCallsOf(message).map(({ callId, name, input, opaque }) => ({
    id: idOf(callId),
    type: 'function',
    // Always valid JSON: servers also parse the arguments of old calls, and reject the whole
    // conversation.
    function: { name: sendableName(name), arguments: JSON.stringify(input) },
    ...signatureIn(opaque, provider),
  }))
  const sendsBack = sendReasoning === 'always' || (sendReasoning === 'calls' && calls.length > 0)
  const reasoning = sendsBack ? reasoningFields(message, provider) : {}
  if (!text && calls.length === 0) return []
  const { thinking, ...fields } = reasoning
  if (sendsBack && calls.length > 0 && dialect.reasoningPlaceholder !== undefined)
    fields.reasoning_content ??= dialect.reasoningPlaceholder
  const content = thinking
    ? [
        { type: 'thinking', thinking: [{ type: 'text', text: thinking }] },
        ...(text ? [{ type: 'text', text }] : []),
      ]
    : text || null
  return [{ role: 'assistant', content, ...fields, ...(calls.length > 0 && { tool_calls: calls }) }]
}

/** Gemini's thought signature. Data of the same provider from another API is left out. */
function signatureIn(opaque: ProviderData | undefined, provider: string): JsonObject {
  if (opaque?.provider !== provider || !isJsonObject(opaque.data)) return {}
  const { extra_content } = opaque.data
  return extra_content === undefined ? {} : { extra_content }
}

/**
 * Reasoning in its original field. DeepSeek and Moonshot reject a call that is sent back without
 * it.
 */
function reasoningFields(message: AssistantMessage, provider: string): Record<string, JsonValue> {
  const fields: Record<string, JsonValue> = {}
  for (const part of message.content) {
    if (part.type !== 'reasoning') continue
    const { field, details } = reasoningSource(part, provider)
    if (Array.isArray(details)) fields.reasoning_details = [...list(fields.reasoning_details), ...details]
    if (field !== undefined && field !== 'reasoning_details')
      fields[field] = `${fields[field] ?? ''}${part.text}`
  }
  return fields
}

const list = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : [])

function reasoningSource(
  { opaque }: ReasoningPart,
  provider: string,
): { field?: string; details?: JsonValue } {
  if (opaque?.provider !== provider || !isObject(opaque.data)) return {}
  const { field, details } = opaque.data
  return {
    ...(typeof field === 'string' && { field }),
    ...(details !== undefined && { details: details as JsonValue }),
  }
}

function imagesOf({ name, content }: ToolMessage): Pick<ChatMessage, 'images'> {
  const images = content.filter((part) => part.type === 'image')
  if (images.length === 0) return {}
  return { images: [{ type: 'text', text: `Image returned by ${name}:` }, ...images.map(imageField)] }
}
