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
  ToolSpec,
  UserPart,
} from '../../protocol/index.ts'
import { invalidInput, isJsonObject, isObject, textOf, toolCallsOf } from '../../protocol/index.ts'
import { bodyOf, extraTools, resultText } from '../wire/body.ts'
import { callIds } from '../wire/call-ids.ts'
import { asText, asUrl, mentionFiles, sourceOf } from '../wire/media.ts'
import { strictSchema, strictTool } from '../wire/strict.ts'
import { sendableName } from '../wire/tool-name.ts'
import type { Dialect } from './dialects.ts'

/** Which reasoning goes back to its provider: that of messages with calls, of all, or none. */
export type SendReasoning = 'calls' | 'always' | 'never'

export interface ChatRequestOptions {
  readonly model: string
  readonly provider: string
  readonly dialect: Dialect
  readonly settings: ModelSettings
  readonly sendReasoning: SendReasoning
}

/** The body of a request to Chat Completions. */
export function chatBody(
  { messages, tools, toolChoice, output }: ModelRequest,
  { model, provider, dialect, settings, sendReasoning }: ChatRequestOptions,
): JsonObject {
  const { temperature, topP, maxOutputTokens, stop, seed, reasoning, parallelToolCalls, extra } = settings
  const called = tools.length + extraTools(extra).length > 0
  return bodyOf(
    {
      model,
      messages: chatMessages(messages, { provider, dialect, sendReasoning }),
      stream: true,
      stream_options: dialect.asksForUsage ? { include_usage: true } : undefined,
      tools: tools.map(toolField),
      tool_choice: !called
        ? undefined
        : typeof toolChoice === 'object'
          ? { type: 'function', function: { name: toolChoice.name } }
          : toolChoice,
      parallel_tool_calls: called ? parallelToolCalls : undefined,
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

function toolField(tool: ToolSpec): JsonObject {
  const { schema, strict } = strictTool(tool, strictSchema)
  const { name, description } = tool
  const body = { name, description, parameters: schema, ...(strict !== undefined && { strict }) }
  return { type: 'function', function: body }
}

function answerSchema(output: JsonObject): JsonObject {
  const strict = strictSchema(output)
  return strict ? { schema: strict, strict: true } : { schema: output }
}

interface MessageOptions {
  readonly provider: string
  readonly dialect: Dialect
  readonly sendReasoning: SendReasoning
}

function chatMessages(messages: readonly Message[], options: MessageOptions): JsonValue[] {
  const idOf = callIds(options.dialect.ids)
  const told: JsonValue[] = []
  /** Pictures of tool results: a `tool` message takes words only, so they follow in a message of the user. */
  let pictures: JsonValue[] = []
  let afterTool = false
  const ask = (content: JsonValue) => {
    if (afterTool && options.dialect.answersTools) told.push({ role: 'assistant', content: 'I see.' })
    told.push({ role: 'user', content })
    afterTool = false
  }
  const showPictures = () => {
    if (pictures.length > 0) ask(pictures)
    pictures = []
  }
  const takes = (part: FilePart) => fileBlock(part, options.dialect) !== undefined
  for (const message of mentionFiles(messages, takes)) {
    if (message.role !== 'tool') showPictures()
    switch (message.role) {
      case 'system':
        told.push({ role: 'system', content: message.content })
        break
      case 'user':
        ask(userContent(message.content, options))
        break
      case 'assistant':
        for (const said of assistantMessage(message, idOf, options)) {
          told.push(said)
          afterTool = false
        }
        break
      case 'tool':
        told.push({
          role: 'tool',
          tool_call_id: idOf(message.callId),
          content: resultText(message.content, '[the image follows]'),
        })
        pictures.push(...picturesOf(message))
        afterTool = true
    }
  }
  showPictures()
  return told
}

function userContent(content: string | readonly UserPart[], options: MessageOptions): JsonValue {
  if (typeof content === 'string') return content
  return content.map((part): JsonValue => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    return part.type === 'image' ? picture(part) : file(part, options)
  })
}

function picture(part: ImagePart): JsonValue {
  return { type: 'image_url', image_url: { url: asUrl(part) } }
}

function file(part: FilePart, { provider, dialect }: MessageOptions): JsonValue {
  const block = fileBlock(part, dialect)
  if (block !== undefined) return block
  const how = sourceOf(part).url === undefined ? 'over Chat Completions' : 'by its URL: hand in its data'
  throw invalidInput('model.stream', `${provider} takes no file of type ${part.mediaType} ${how}`)
}

/** Nothing if it is not taken. */
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
): JsonValue[] {
  const text = textOf(message)
  const calls = toolCallsOf(message).map(({ callId, name, input, opaque }) => ({
    id: idOf(callId),
    type: 'function',
    // Never what could not be parsed: servers read the arguments of old calls too, and refuse the whole conversation.
    function: { name: sendableName(name), arguments: JSON.stringify(input) },
    ...signatureIn(opaque, provider),
  }))
  const back = sendReasoning === 'always' || (sendReasoning === 'calls' && calls.length > 0)
  const reasoning = back ? reasoningFields(message, provider) : {}
  if (!text && calls.length === 0) return []
  const { thinking, ...fields } = reasoning
  if (back && calls.length > 0 && dialect.noReasoning !== undefined)
    fields.reasoning_content ??= dialect.noReasoning
  const content = thinking
    ? [
        { type: 'thinking', thinking: [{ type: 'text', text: thinking }] },
        ...(text ? [{ type: 'text', text }] : []),
      ]
    : text || null
  return [{ role: 'assistant', content, ...fields, ...(calls.length > 0 && { tool_calls: calls }) }]
}

/** Gemini's thought signature. What the same provider gave over another wire has no place here. */
function signatureIn(opaque: ProviderData | undefined, provider: string): JsonObject {
  if (opaque?.provider !== provider || !isJsonObject(opaque.data)) return {}
  const { extra_content } = opaque.data
  return extra_content === undefined ? {} : { extra_content }
}

/** Reasoning in the field in which it came. DeepSeek and Moonshot refuse a call that comes back without it. */
function reasoningFields(message: AssistantMessage, provider: string): Record<string, JsonValue> {
  const fields: Record<string, JsonValue> = {}
  for (const part of message.content) {
    if (part.type !== 'reasoning') continue
    const { field, details } = cameAs(part, provider)
    if (Array.isArray(details)) fields.reasoning_details = [...list(fields.reasoning_details), ...details]
    if (field !== undefined && field !== 'reasoning_details')
      fields[field] = `${fields[field] ?? ''}${part.text}`
  }
  return fields
}

const list = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : [])

function cameAs({ opaque }: ReasoningPart, provider: string): { field?: string; details?: JsonValue } {
  if (opaque?.provider !== provider || !isObject(opaque.data)) return {}
  const { field, details } = opaque.data
  return {
    ...(typeof field === 'string' && { field }),
    ...(details !== undefined && { details: details as JsonValue }),
  }
}

function picturesOf({ name, content }: ToolMessage): JsonValue[] {
  const images = content.filter((part) => part.type === 'image')
  if (images.length === 0) return []
  return [{ type: 'text', text: `The image that ${name} gave:` }, ...images.map(picture)]
}
