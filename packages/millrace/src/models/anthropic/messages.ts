import type {
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
import { callIds } from '../wire/call-ids.ts'
import { asText, omitUnsupportedFiles, sourceOf } from '../wire/media.ts'
import { sendableName } from '../wire/tool-name.ts'

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: JsonObject[]
}

/** `tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`. */
const ids = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, create: (token: string) => `toolu_${token}` }

/**
 * Converts a conversation for the Messages API: a separate system prompt, tool results in user
 * turns, one message per turn. Blank text would be rejected and is left out.
 */
export function anthropicMessages(
  messages: readonly Message[],
  provider: string,
): { system: JsonObject[]; turns: Turn[]; container: string | undefined } {
  const idOf = callIds(ids)
  const system: JsonObject[] = []
  const turns: Turn[] = []
  const add = (role: Turn['role'], content: JsonObject[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) turns.push({ role, content })
  }
  for (const message of omitUnsupportedFiles(messages, (file) => documentBlock(file) !== undefined)) {
    switch (message.role) {
      case 'system':
        // A later system message is sent as a user message.
        if (turns.length === 0) system.push(...text(message.content))
        else add('user', text(message.content))
        break
      case 'user':
        add('user', userBlocks(message.content, provider))
        break
      case 'assistant':
        add('assistant', assistantTurn(message.content, idOf, provider))
        break
      case 'tool':
        add('user', [resultBlock(message, idOf)])
    }
  }
  // `messages: first message must use the "user" role`, so an assistant's greeting needs one before
  // it.
  if (turns[0]?.role === 'assistant')
    turns.unshift({ role: 'user', content: text('(start of conversation)') })
  return { system, turns: withoutUnansweredTools(turns), container: latestContainer(messages, provider) }
}

/**
 * The container in which the provider last ran code for this conversation, unless it has expired.
 */
function latestContainer(messages: readonly Message[], provider: string): string | undefined {
  for (const message of messages.toReversed()) {
    if (message.role !== 'assistant') continue
    for (const { opaque } of message.content.toReversed()) {
      const data = opaque?.provider === provider && isJsonObject(opaque.data) ? opaque.data : {}
      if (data.type !== 'container') continue
      const hasExpired = Date.parse(String(data.expires_at)) <= Date.now()
      return hasExpired ? undefined : String(data.id)
    }
  }
  return undefined
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
    const kept = turn.content.filter(
      ({ type, id }) =>
        type === 'tool_use' || !String(type).endsWith('_tool_use') || answered.has(id as JsonValue),
    )
    const content = withoutTrailingThinking(kept)
    return content.length > 0 ? [{ ...turn, content }] : []
  })
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
