import type {
  AssistantPart,
  FilePart,
  JsonObject,
  JsonValue,
  Message,
  ModelRequest,
  ModelSettings,
  ToolCallPart,
  ToolSpec,
  UserPart,
} from '../../protocol/index.ts'
import { invalidInput, isJsonObject, isObject, toolCallsOf } from '../../protocol/index.ts'
import { bodyOf, extraTools } from '../wire/body.ts'
import { callIds } from '../wire/call-ids.ts'
import { asUrl, mentionFiles, sourceOf } from '../wire/media.ts'
import { strictSchema, strictTool } from '../wire/strict.ts'
import { sendableName } from '../wire/tool-name.ts'
import { backgroundFields } from './background.ts'
import { picture, resultItem } from './results.ts'

export interface ResponsesRequestOptions {
  readonly model: string
  readonly provider: string
  readonly settings: ModelSettings
  /** Whether the model reasons: others refuse to be asked for it. */
  readonly reasons: boolean
  /** Generate in the background. */
  readonly background?: boolean
}

/** The body of a request to Responses. Nothing is stored with the provider unless `extra.store` says so: the conversation is ours. */
export function responsesBody(
  { messages, tools, toolChoice, output }: ModelRequest,
  { model, provider, settings, reasons, background = false }: ResponsesRequestOptions,
): JsonObject {
  const { temperature, topP, maxOutputTokens, reasoning, parallelToolCalls, extra } = settings
  const [first, ...rest] = messages
  const instructions = first?.role === 'system' ? first.content : undefined
  const stored = extra?.store === true
  const own = nativeTools(extra)
  const functions = tools.filter(({ name }) => !own.has(name))
  const called = tools.length + extraTools(extra).length > 0
  const chosen = typeof toolChoice === 'object' ? toolChoice.name : undefined
  const quiet = !reasons || reasoning === 'none'
  const held = output && strictSchema(output)
  const format = output && {
    type: 'json_schema',
    name: 'answer',
    schema: held ?? output,
    strict: held !== undefined,
  }
  return bodyOf(
    {
      model,
      instructions,
      input: inputItems(instructions === undefined ? messages : rest, { provider, stored, reasons }),
      stream: true,
      store: false,
      ...(background && backgroundFields(extra)),
      include: includes(extra, reasons && !stored),
      tools: functions.map(toolField),
      tool_choice: !called
        ? undefined
        : chosen === undefined
          ? toolChoice
          : (own.get(chosen) ?? { type: 'function', name: chosen }),
      parallel_tool_calls: called ? parallelToolCalls : undefined,
      // Refused while it reasons.
      temperature: quiet ? temperature : undefined,
      top_p: quiet ? topP : undefined,
      max_output_tokens: maxOutputTokens,
    },
    {
      ...withoutInclude(extra),
      ...joined('text', { ...(format && { format }) }, extra),
      ...joined('reasoning', { ...(reasons && reasoning && { effort: reasoning }) }, extra),
    },
  )
}

function toolField(tool: ToolSpec): JsonObject {
  const { schema, strict = false } = strictTool(tool, strictSchema)
  const { name, description } = tool
  return { type: 'function', name, description, parameters: schema, strict }
}

/** What is to be told besides: the encrypted reasoning that must come back, and what the caller wants. */
function includes(extra: JsonObject | undefined, encrypted: boolean): JsonValue | undefined {
  const wanted = Array.isArray(extra?.include) ? extra.include : []
  const all = new Set<JsonValue>([...(encrypted ? ['reasoning.encrypted_content'] : []), ...wanted])
  return all.size > 0 ? [...all] : undefined
}

function withoutInclude({ include: _, ...rest }: JsonObject = {}): JsonObject {
  return rest
}

/** A field of which part is ours and part the caller's. */
function joined(name: string, ours: JsonObject, extra: JsonObject | undefined): JsonObject {
  const theirs = extra?.[name]
  const both = { ...ours, ...(isJsonObject(theirs) && theirs) }
  return Object.keys(both).length > 0 ? { [name]: both } : {}
}

/** The names of the custom tools that the request declares. */
export function customTools(extra: JsonObject | undefined): Set<string> {
  return new Set(extraTools(extra).flatMap(({ type, name }) => (type === 'custom' ? [String(name)] : [])))
}

/**
 * Tools that are declared in `extra.tools` in the provider's own way, so that they are not declared twice: custom tools by
 * their name, the provider's shells as `shell`, its patches as `apply_patch`, what its servers of MCP ask as `mcp_approval`. With
 * each, how it is chosen.
 */
function nativeTools(extra: JsonObject | undefined): Map<string, JsonValue> {
  const native = new Map<string, JsonValue>()
  for (const tool of Array.isArray(extra?.tools) ? extra.tools : []) {
    if (!isObject(tool)) continue
    const type = String(tool.type)
    if (type === 'custom') native.set(String(tool.name), { type, name: String(tool.name) })
    // There is no word for this one.
    else if (type === 'local_shell') native.set('shell', 'required')
    // Its server asks, the model cannot.
    else if (type === 'mcp') native.set('mcp_approval', { type, server_label: String(tool.server_label) })
    else native.set(type, { type })
  }
  return native
}

interface ItemOptions {
  readonly provider: string
  /** The provider keeps what it has said, and may be given an item by its id alone. */
  readonly stored: boolean
  readonly reasons: boolean
}

const ids = { fits: /^.{1,64}$/s, make: (token: string) => `call_${token}` }

function inputItems(messages: readonly Message[], options: ItemOptions): JsonValue[] {
  const idOf = callIds(ids)
  const calls = new Map<string, ToolCallPart>()
  for (const message of messages) for (const call of toolCallsOf(message)) calls.set(call.callId, call)
  const items: JsonValue[] = []
  for (const message of mentionFiles(messages, takesFile)) {
    if (message.role === 'system') items.push({ role: 'developer', content: message.content })
    else if (message.role === 'user')
      items.push({ role: 'user', content: userContent(message.content, options.provider) })
    else if (message.role === 'tool')
      items.push(resultItem(message, idOf(message.callId), ownData(calls.get(message.callId), options)))
    else items.push(...assistantItems(message.content, idOf, options))
  }
  return items
}

function userContent(content: string | readonly UserPart[], provider: string): JsonValue {
  if (typeof content === 'string') return content
  return content.map((part): JsonValue => {
    if (part.type === 'text') return { type: 'input_text', text: part.text }
    return part.type === 'image' || part.mediaType.startsWith('image/') ? picture(part) : file(part, provider)
  })
}

function takesFile({ mediaType }: FilePart): boolean {
  return !/^(audio|video)\//.test(mediaType)
}

function file(part: FilePart, provider: string): JsonObject {
  if (!takesFile(part))
    throw invalidInput(
      'model.stream',
      `${provider} takes no file of type ${part.mediaType} over Responses: use openaiChat() with a model that listens`,
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
      // As plain words: an `output_text` is part of a message with an id, and some servers (vLLM) insist on that.
      return [{ role: 'assistant', content: part.text, ...data }]
    case 'reasoning':
      // `Item 'rs_…' not found. Items are not persisted when store is set to false.`
      return data && canComeBack(data, options) ? [data] : []
    case 'tool-call':
      // It is answered by its own id.
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

/** Further fields of a function call. Data without a type came over Chat Completions. */
function callFields(data: JsonObject = {}): JsonObject {
  const { type, namespace, ...rest } = data
  return { ...(namespace !== undefined && { namespace }), ...(type === 'function_call' && rest) }
}

/** What this provider gave to be brought back. */
function ownData(part: AssistantPart | undefined, { provider }: ItemOptions): JsonObject | undefined {
  const { opaque } = part ?? {}
  return opaque?.provider === provider && isJsonObject(opaque.data) ? opaque.data : undefined
}

/** Whether the reasoning is here, and of this wire. Open models show it as it is instead of encrypting it. */
function canComeBack(
  { type, content, encrypted_content }: JsonObject,
  { stored, reasons }: ItemOptions,
): boolean {
  const shown = Array.isArray(content) && content.length > 0
  return reasons && type === 'reasoning' && (stored || shown || Boolean(encrypted_content))
}
