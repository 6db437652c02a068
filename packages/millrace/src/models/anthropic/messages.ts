import type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  ImagePart,
  JsonObject,
  JsonValue,
  Message,
  ToolMessage,
  UserPart,
} from '../../protocol/index.ts'
import { invalidInput, isJsonObject } from '../../protocol/index.ts'
import { keepText } from '../wire/body.ts'
import { asText, omitUnsupportedFiles, sourceOf } from '../wire/media.ts'
import type { Converted, ConvertMessages } from '../wire/message-cache.ts'
import { messageCache } from '../wire/message-cache.ts'
import { sendableName } from '../wire/tool-name.ts'

/** Never modified: most turns are sent again in every later round. */
export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: readonly JsonObject[]
}

interface AnthropicMessage extends Converted {
  /** A turn with the blocks of this message alone. */
  readonly turn: Turn
  /** It has calls to tools that the provider runs. */
  readonly callsProvider: boolean
  /** The container in which the provider ran code. */
  readonly container: JsonObject | undefined
}

/** `tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`. */
const ids = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, create: (token: string) => `toolu_${token}` }

/** Converts conversations for one model. */
export function anthropicMessageCache(provider: string): ConvertMessages<AnthropicMessage> {
  return messageCache(ids, (message, idOf) => {
    const items = blocksOf(message, idOf, provider)
    const isAnswer = message.role === 'assistant'
    const turn: Turn = { role: isAnswer ? 'assistant' : 'user', content: items }
    keepText(turn as unknown as JsonObject)
    return {
      items,
      turn,
      callsProvider: isAnswer && items.some(({ type }) => isProviderCall(type)),
      container: isAnswer ? containerIn(message, provider) : undefined,
    }
  })
}

function blocksOf(message: Message, idOf: (callId: string) => string, provider: string): JsonObject[] {
  switch (message.role) {
    case 'system':
      return text(message.content)
    case 'user':
      return userBlocks(message.content, provider)
    case 'assistant':
      return assistantTurn(message.content, idOf, provider)
    case 'tool':
      return [resultBlock(message, idOf)]
  }
}

/**
 * Converts a conversation for the Messages API: a separate system prompt, tool results in user
 * turns, one message per turn. Blank text would be rejected and is left out.
 */
export function anthropicMessages(
  messages: readonly Message[],
  convert: ConvertMessages<AnthropicMessage>,
): { system: JsonObject[]; turns: Turn[]; container: string | undefined } {
  const sendable = omitUnsupportedFiles(messages, (file) => documentBlock(file) !== undefined)
  const converted = convert(sendable)
  const system: JsonObject[] = []
  const turns: Turn[] = []
  let joined: JsonObject[] = []
  let at = 0
  for (const { items, turn } of converted) {
    const { role } = sendable[at++] as Message
    const last = turns.at(-1)
    // A later system message is sent as a user message.
    if (!last && role === 'system') system.push(...items)
    else if (items.length === 0) continue
    else if (last?.role !== turn.role) turns.push(turn)
    else if (last.content === joined) joined.push(...items)
    else {
      joined = [...last.content, ...items]
      turns[turns.length - 1] = { role: turn.role, content: joined }
    }
  }
  // `messages: first message must use the "user" role`, so an assistant's greeting needs one before
  // it.
  if (turns[0]?.role === 'assistant')
    turns.unshift({ role: 'user', content: text('(start of conversation)') })
  const callsProvider = converted.some((message) => message.callsProvider)
  return {
    system,
    turns: callsProvider ? withoutUnansweredTools(turns) : turns,
    container: usableContainer(converted.findLast(({ container }) => container)?.container),
  }
}

function containerIn({ content }: AssistantMessage, provider: string): JsonObject | undefined {
  for (const { opaque } of content.toReversed()) {
    const data = opaque?.provider === provider && isJsonObject(opaque.data) ? opaque.data : {}
    if (data.type === 'container') return data
  }
  return undefined
}

function usableContainer(latest: JsonObject | undefined): string | undefined {
  if (!latest) return undefined
  const hasExpired = Date.parse(String(latest.expires_at)) <= Date.now()
  return hasExpired ? undefined : String(latest.id)
}

/**
 * Leaves out provider tools that were cut off before their result: ``web_search tool use with id
 * srvtoolu_… was found without a corresponding web_search_tool_result block``. If only our tool
 * results follow, the provider's result is still to come.
 */
function withoutUnansweredTools(turns: readonly Turn[]): Turn[] {
  const answered = new Set(turns.flatMap(({ content }) => content.map(({ tool_use_id: id }) => id)))
  const last = turns.findLastIndex(({ role }) => role === 'assistant')
  const after = turns.slice(last + 1).flatMap(({ content }) => content)
  const pending = after.length > 0 && after.every(({ type }) => type === 'tool_result')
  return turns.flatMap((turn, at) => {
    if (turn.role !== 'assistant' || (at === last && pending)) return [turn]
    const kept = turn.content.filter(({ type, id }) => !isProviderCall(type) || answered.has(id as JsonValue))
    const content = withoutTrailingThinking(kept)
    return content.length > 0 ? [{ ...turn, content }] : []
  })
}

function isProviderCall(type: JsonValue | undefined): boolean {
  return String(type).endsWith('_tool_use')
}

function text(words: string): JsonObject[] {
  return words.trim() === '' ? [] : [{ type: 'text', text: words }]
}

function userBlocks(content: string | readonly UserPart[], provider: string): JsonObject[] {
  if (typeof content === 'string') return text(content)
  return content.flatMap((part) => {
    if (part.type === 'text') return text(part.text)
    return [part.type === 'image' ? image(part) : document(part, provider)]
  })
}

function assistantTurn(
  parts: readonly AssistantPart[],
  idOf: (callId: string) => string,
  provider: string,
): JsonObject[] {
  return withoutTrailingThinking(parts.flatMap((part) => assistantBlocks(part, idOf, provider)))
}

/** ``The final block in an assistant message cannot be `thinking`.`` */
function withoutTrailingThinking(blocks: readonly JsonObject[]): JsonObject[] {
  return blocks.slice(0, blocks.findLastIndex(({ type }) => !String(type).endsWith('thinking')) + 1)
}

function assistantBlocks(
  part: AssistantPart,
  idOf: (callId: string) => string,
  provider: string,
): JsonObject[] {
  const { opaque } = part
  const data = opaque?.provider === provider && isJsonObject(opaque.data) ? opaque.data : undefined
  switch (part.type) {
    case 'text':
      return text(part.text).map((block) => ({ ...block, ...data }))
    case 'reasoning':
      if (data?.type === 'redacted_thinking') return [data]
      // Rejected without its signature, or if it is another provider's.
      return data?.signature ? [{ ...data, type: 'thinking', thinking: part.text }] : []
    case 'tool-call':
      return [
        {
          type: 'tool_use',
          id: idOf(part.callId),
          name: sendableName(part.name),
          input: part.input,
          ...data,
        },
      ]
    case 'provider-tool':
      return data ? [data] : []
  }
}

function resultBlock(
  { callId, content, isError }: ToolMessage,
  idOf: (callId: string) => string,
): JsonObject {
  const blocks = content.flatMap((part) => {
    if (part.type === 'image') return [image(part)]
    return text(part.type === 'text' ? part.text : JSON.stringify(part.value))
  })
  return {
    type: 'tool_result',
    tool_use_id: idOf(callId),
    ...(blocks.length > 0 && { content: blocks }),
    ...(isError && { is_error: true }),
  }
}

function image(part: ImagePart | FilePart): JsonObject {
  return { type: 'image', source: sourceBlock(part) }
}

function sourceBlock(part: ImagePart | FilePart): JsonObject {
  const source = sourceOf(part)
  return source.url === undefined
    ? { type: 'base64', media_type: source.mediaType, data: source.data }
    : { type: 'url', url: source.url }
}

function document(part: FilePart, provider: string): JsonObject {
  const block = documentBlock(part)
  if (block) return block
  throw invalidInput(
    'model.stream',
    `${provider} does not support files of type ${part.mediaType}${sourceOf(part).url === undefined ? '' : ' by URL'}: pass a PDF, an image, or text with its data`,
  )
}

/** Undefined if the file is not supported. */
function documentBlock(part: FilePart): JsonObject | undefined {
  const { mediaType, name } = part
  if (mediaType.startsWith('image/')) return image(part)
  const title = name === undefined ? {} : { title: name }
  if (mediaType === 'application/pdf') return { type: 'document', source: sourceBlock(part), ...title }
  const { data } = sourceOf(part)
  const isText = mediaType.startsWith('text/') || mediaType === 'application/json'
  if (data === undefined || !isText) return undefined
  const source = { type: 'text', media_type: 'text/plain', data: asText(data) }
  return { type: 'document', source, ...title }
}
