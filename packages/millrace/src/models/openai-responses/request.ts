import type {
  AssistantPart,
  FilePart,
  JsonObject,
  JsonValue,
  Message,
  ModelRequest,
  ModelSettings,
  ToolMessage,
  UserPart,
} from '../../protocol/index.ts'
import { invalidInput, isJsonObject, isObject, toolCallsOf } from '../../protocol/index.ts'
import { bodyOf, extraTools } from '../wire/body.ts'
import { asUrl, omitUnsupportedFiles, sourceOf } from '../wire/media.ts'
import type { Converted, ConvertMessages } from '../wire/message-cache.ts'
import { messageCache } from '../wire/message-cache.ts'
import { strictSchema, strictTool } from '../wire/strict.ts'
import { toolCache } from '../wire/tool-cache.ts'
import { sendableName } from '../wire/tool-name.ts'
import { backgroundFields } from './background.ts'
import { imageItem, resultItem } from './results.ts'

export interface ResponsesRequestOptions {
  readonly model: string
  readonly settings: ModelSettings
  readonly convert: ConvertByStorage
  /** Whether the model can reason: others reject reasoning settings. */
  readonly canReason: boolean
  /** Generate in the background. */
  readonly background?: boolean
}

/**
 * The body of a Responses request. Nothing is stored at the provider unless `extra.store` is set:
 * we keep the conversation.
 */
export function responsesBody(
  { messages, tools, toolChoice, output }: ModelRequest,
  { model, settings, convert, canReason, background = false }: ResponsesRequestOptions,
): JsonObject {
  const { temperature, topP, maxOutputTokens, reasoning, parallelToolCalls, extra } = settings
  const [first, ...rest] = messages
  const instructions = first?.role === 'system' ? first.content : undefined
  const stored = extra?.store === true
  const native = nativeTools(extra)
  const functions = tools.filter(({ name }) => !native.has(name))
  const hasTools = tools.length + extraTools(extra).length > 0
  const chosen = typeof toolChoice === 'object' ? toolChoice.name : undefined
  const allowsSampling = !canReason || reasoning === 'none'
  const closed = output && strictSchema(output)
  const format = output && {
    type: 'json_schema',
    name: 'answer',
    schema: closed ?? output,
    strict: closed !== undefined,
  }
  return bodyOf(
    {
      model,
      instructions,
      input: inputItems(
        instructions === undefined ? messages : rest,
        stored ? convert.stored : convert.unstored,
      ),
      stream: true,
      store: false,
      ...(background && backgroundFields(extra)),
      include: includeField(extra, canReason && !stored),
      tools: functions.map(toolField),
      tool_choice: !hasTools
        ? undefined
        : chosen === undefined
          ? toolChoice
          : (native.get(chosen) ?? { type: 'function', name: chosen }),
      parallel_tool_calls: hasTools ? parallelToolCalls : undefined,
      // Rejected while the model reasons.
      temperature: allowsSampling ? temperature : undefined,
      top_p: allowsSampling ? topP : undefined,
      max_output_tokens: maxOutputTokens,
    },
    {
      ...withoutInclude(extra),
      ...mergedField('text', { ...(format && { format }) }, extra),
      ...mergedField('reasoning', { ...(canReason && reasoning && { effort: reasoning }) }, extra),
    },
  )
}

const toolField = toolCache((tool) => {
  const { schema, strict = false } = strictTool(tool, strictSchema)
  const { name, description } = tool
  return { type: 'function', name, description, parameters: schema, strict }
})

/**
 * The `include` field: encrypted reasoning, which must be sent back, and what the caller includes.
 */
function includeField(extra: JsonObject | undefined, encrypted: boolean): JsonValue | undefined {
  const wanted = Array.isArray(extra?.include) ? extra.include : []
  const all = new Set<JsonValue>([...(encrypted ? ['reasoning.encrypted_content'] : []), ...wanted])
  return all.size > 0 ? [...all] : undefined
}

function withoutInclude({ include: _, ...rest }: JsonObject = {}): JsonObject {
  return rest
}

/** Merges our part of a field with the caller's. */
function mergedField(name: string, ours: JsonObject, extra: JsonObject | undefined): JsonObject {
  const theirs = extra?.[name]
  const both = { ...ours, ...(isJsonObject(theirs) && theirs) }
  return Object.keys(both).length > 0 ? { [name]: both } : {}
}

/** The names of the custom tools that the request declares. */
export function customTools(extra: JsonObject | undefined): Set<string> {
  return new Set(extraTools(extra).flatMap(({ type, name }) => (type === 'custom' ? [String(name)] : [])))
}

/**
 * The tools that `extra.tools` declares in the provider's format, so that they are not declared
 * twice: custom tools by name, shells as `shell`, patches as `apply_patch`, approval requests of
 * MCP servers as `mcp_approval`. The value is the `tool_choice` for each.
 */
function nativeTools(extra: JsonObject | undefined): Map<string, JsonValue> {
  const native = new Map<string, JsonValue>()
  for (const tool of Array.isArray(extra?.tools) ? extra.tools : []) {
    if (!isObject(tool)) continue
    const type = String(tool.type)
    if (type === 'custom') native.set(String(tool.name), { type, name: String(tool.name) })
    // There is no tool choice for this one.
    else if (type === 'local_shell') native.set('shell', 'required')
    // The MCP server asks for approval; the model cannot be forced to.
    else if (type === 'mcp') native.set('mcp_approval', { type, server_label: String(tool.server_label) })
    else native.set(type, { type })
  }
  return native
}

interface ItemOptions {
  readonly provider: string
  /** The provider stores its answers, so an item can be sent back by id alone. */
  readonly stored: boolean
  readonly canReason: boolean
}

const ids = { pattern: /^.{1,64}$/s, create: (token: string) => `call_${token}` }

interface ResponsesMessage extends Converted {
  /** The data of calls that are more than plain calls: their results depend on it. */
  readonly calls?: ReadonlyMap<string, JsonObject>
}

/** What reasoning is sent back depends on whether the provider stores its answers. */
interface ConvertByStorage {
  readonly stored: ConvertMessages<ResponsesMessage>
  readonly unstored: ConvertMessages<ResponsesMessage>
}

/** Converts conversations for one model. */
export function responsesMessageCache(options: Omit<ItemOptions, 'stored'>): ConvertByStorage {
  const cacheFor = (stored: boolean) =>
    messageCache(ids, (message, idOf) => convertMessage(message, idOf, { ...options, stored }))
  return { stored: cacheFor(true), unstored: cacheFor(false) }
}

function convertMessage(
  message: Message,
  idOf: (callId: string) => string,
  options: ItemOptions,
): ResponsesMessage {
  switch (message.role) {
    case 'system':
      return { items: [{ role: 'developer', content: message.content }] }
    case 'user':
      return { items: [{ role: 'user', content: userContent(message.content, options.provider) }] }
    case 'tool':
      return { items: [resultItem(message, idOf(message.callId), undefined)] }
    case 'assistant': {
      const calls = new Map<string, JsonObject>()
      for (const call of toolCallsOf(message)) {
        const data = ownData(call, options)
        if (data) calls.set(call.callId, data)
      }
      const items = assistantItems(message.content, idOf, options)
      return { items, ...(calls.size > 0 && { calls }) }
    }
  }
}

function inputItems(messages: readonly Message[], convert: ConvertMessages<ResponsesMessage>): JsonValue[] {
  const sendable = omitUnsupportedFiles(messages, takesFile)
  const input: JsonValue[] = []
  let special: ReadonlyMap<string, JsonObject> | undefined
  let at = 0
  for (const { items, calls } of convert(sendable)) {
    const message = sendable[at++]
    if (message?.role !== 'tool') special = calls
    const data = message?.role === 'tool' ? special?.get(message.callId) : undefined
    for (const item of items)
      input.push(data ? resultItem(message as ToolMessage, String(item.call_id), data) : item)
  }
  return input
}

function userContent(content: string | readonly UserPart[], provider: string): JsonValue {
  if (typeof content === 'string') return content
  return content.map((part): JsonValue => {
    if (part.type === 'text') return { type: 'input_text', text: part.text }
    return part.type === 'image' || part.mediaType.startsWith('image/')
      ? imageItem(part)
      : fileItem(part, provider)
  })
}

function takesFile({ mediaType }: FilePart): boolean {
  return !/^(audio|video)\//.test(mediaType)
}

function fileItem(part: FilePart, provider: string): JsonObject {
  if (!takesFile(part))
    throw invalidInput(
      'model.stream',
      `${provider} does not support files of type ${part.mediaType} over Responses: use openaiChat() with an audio model`,
    )
  const source = sourceOf(part)
  return source.url === undefined
    ? { type: 'input_file', filename: part.name ?? 'file', file_data: asUrl(part) }
    : { type: 'input_file', file_url: source.url }
}

function assistantItems(
  parts: readonly AssistantPart[],
  idOf: (callId: string) => string,
  options: ItemOptions,
): JsonObject[] {
  const items = parts.flatMap((part) => itemsOf(part, idOf, options))
  // `Item 'rs_…' of type 'reasoning' was provided without its required following item.`
  return items.slice(0, items.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

function itemsOf(part: AssistantPart, idOf: (callId: string) => string, options: ItemOptions): JsonObject[] {
  const data = ownData(part, options)
  switch (part.type) {
    case 'text':
      if (part.text === '') return []
      // Plain text: an `output_text` needs a message with an id, which some servers (vLLM) require.
      return [{ role: 'assistant', content: part.text, ...data }]
    case 'reasoning':
      // `Item 'rs_…' not found. Items are not persisted when store is set to false.`
      return data && canSendBack(data, options) ? [data] : []
    case 'tool-call':
      // The response refers to the item's own id.
      if (data?.type === 'mcp_approval_request') return [data]
      if (data?.type !== undefined && data.type !== 'function_call')
        return [{ ...data, call_id: idOf(part.callId) }]
      return [
        {
          type: 'function_call',
          call_id: idOf(part.callId),
          name: sendableName(part.name),
          arguments: JSON.stringify(part.input),
          ...callFields(data),
        },
      ]
    case 'provider-tool':
      return data ? [data] : []
  }
}

/** Further fields of a function call. Data without a type is from Chat Completions. */
function callFields(data: JsonObject = {}): JsonObject {
  const { type, namespace, ...rest } = data
  return { ...(namespace !== undefined && { namespace }), ...(type === 'function_call' && rest) }
}

/** The opaque data of this provider, which is sent back to it. */
function ownData(part: AssistantPart | undefined, { provider }: ItemOptions): JsonObject | undefined {
  const { opaque } = part ?? {}
  return opaque?.provider === provider && isJsonObject(opaque.data) ? opaque.data : undefined
}

/**
 * Whether reasoning of this API can be sent back. Open models return it as text instead of
 * encrypted.
 */
function canSendBack(
  { type, content, encrypted_content }: JsonObject,
  { stored, canReason }: ItemOptions,
): boolean {
  const shown = Array.isArray(content) && content.length > 0
  return canReason && type === 'reasoning' && (stored || shown || Boolean(encrypted_content))
}
