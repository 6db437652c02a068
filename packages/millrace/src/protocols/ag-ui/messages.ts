import type {
  FilePart,
  ImagePart,
  JsonObject,
  Message,
  ToolResultPart,
  UserMessage,
  UserPart,
} from '../../protocol/index.ts'
import { invalidInput, isObject, parseArguments } from '../../protocol/index.ts'
import type { CallView, Row, RunView, TextView } from '../../view/index.ts'
import { resultText } from '../model-api/index.ts'

/** A message of AG-UI. Each role has further fields. */
export interface AgUiMessage {
  readonly id: string
  readonly role: string
  readonly [field: string]: unknown
}

/** How a stream names what a client may not know. */
export interface MessageNames {
  /** The id of the message of a user. */
  inputId(seq: number): string
  /** The id of a sub-agent, whose calls have this prefix. */
  subagentId(run: RunView, prefix: string): string
  /** Whether results may have parts, such as images. */
  readonly hasParts: boolean
}

/** The agent, or one of its sub-agents. */
export interface Scope {
  /** Before the ids of calls: `call_1/` for those of the sub-agent that `call_1` runs. */
  readonly prefix: string
  readonly tag: { readonly subagentRunId?: string }
}

export const outermost: Scope = { prefix: '', tag: {} }

/** The id of the message that a text or reasoning is: the same in every stream. */
export function partId({ round, key }: Pick<TextView, 'round' | 'key'>): string {
  return `${round.run.id}-${key}`
}

/** The id of the message with a call: that of the text before it, or of the first call. */
export function callMessageId(call: CallView): string {
  const { parts, calls } = call.round
  const before = parts.slice(0, parts.indexOf(call)).findLast(({ kind }) => kind === 'text')
  return partId(before ?? calls[0] ?? call)
}

export function resultId(call: CallView): string {
  return `${partId(call)}-result`
}

/** Whether a tool of the provider has ended. Its arguments are shown then. */
export function isProviderDone({ provider, state }: CallView): boolean {
  return provider !== undefined && (state === 'ok' || state === 'failed')
}

/** The conversation as messages, with those of sub-agents. */
export function messagesOf(
  rows: readonly Row[],
  names: MessageNames,
  { prefix, tag }: Scope = outermost,
): AgUiMessage[] {
  const messages = new Map<string, AgUiMessage>()
  const add = (message: AgUiMessage) => messages.set(message.id, { ...message, ...tag })

  function addCall(call: CallView) {
    const id = callMessageId(call)
    if (!messages.has(id)) add({ id, role: 'assistant' })
    const { toolCalls = [], ...message } = messages.get(id) as AgUiMessage & { toolCalls?: unknown[] }
    const args = call.provider
      ? isProviderDone(call)
        ? JSON.stringify(call.provider.input ?? {})
        : ''
      : call.raw.pieces.join('')
    const toolCall = {
      id: prefix + call.callId,
      type: 'function',
      function: { name: call.name, arguments: args },
    }
    messages.set(id, { ...message, toolCalls: [...toolCalls, toolCall] })
    const result = resultOf(call, names.hasParts)
    if (result) add({ id: resultId(call), role: 'tool', toolCallId: toolCall.id, ...result })
    const run = call.inner?.runs.at(-1)
    if (!call.inner || !run) return
    const inner = `${toolCall.id}/`
    const subagentRunId = names.subagentId(run, inner)
    for (const one of messagesOf(call.inner.rows, names, { prefix: inner, tag: { subagentRunId } }))
      messages.set(one.id, one)
  }

  for (const row of rows) {
    if (row.kind === 'input' && prefix === '')
      add({ id: names.inputId(row.seq), role: 'user', content: contentOf(row.message) })
    if (row.kind === 'text' || row.kind === 'reasoning')
      add({
        id: partId(row),
        role: row.kind === 'text' ? 'assistant' : 'reasoning',
        content: row.text.pieces.join(''),
      })
    if (row.kind === 'call' && !row.budget) addCall(row)
  }
  return [...messages.values()]
}

/** The content of a call's result, once it has one. */
export function resultOf(call: CallView, hasParts: boolean) {
  const { result, provider } = call
  if (provider && isProviderDone(call)) {
    const { output = null, isError } = provider
    const content = typeof output === 'string' ? output : JSON.stringify(output)
    return { content, ...(isError && { error: content }) }
  }
  if (!result) return undefined
  const content = resultContent(result.output, hasParts)
  return { content, ...(result.isError && { error: resultText(result.output) }) }
}

function resultContent(parts: readonly ToolResultPart[], hasParts: boolean) {
  if (!hasParts || !parts.some(({ type }) => type === 'image')) return resultText(parts)
  return parts.map((part) =>
    part.type === 'image' ? mediaPart(part) : { type: 'text', text: resultText([part]) },
  )
}

function contentOf({ content }: UserMessage) {
  if (typeof content === 'string') return content
  return content.map((part) =>
    part.type === 'text' ? { type: part.type, text: part.text } : mediaPart(part),
  )
}

function mediaPart(part: ImagePart | FilePart) {
  const mimeType = 'mediaType' in part ? { mimeType: part.mediaType } : {}
  const [, kind] = /^(image|audio|video)\//.exec(mimeType.mimeType ?? 'image/') ?? []
  return {
    type: kind ?? 'document',
    source:
      'url' in part
        ? { type: 'url', value: part.url, ...mimeType }
        : { type: 'data', value: part.data, ...mimeType },
    ...('name' in part && part.name !== undefined && { metadata: { filename: part.name } }),
  }
}

/** Reads a message of the user. Throws `invalid_input` for content that cannot be used. */
export function userMessage({ id, content }: AgUiMessage): UserMessage {
  const parts = Array.isArray(content) ? content.filter(isObject).map(userPart) : content
  if ((typeof parts !== 'string' && !Array.isArray(parts)) || parts.length === 0)
    throw invalidInput('agUi', `the message '${id}' is empty: its 'content' must be text or a list of parts`)
  return { role: 'user', content: parts }
}

const media = ['image', 'audio', 'video', 'document', 'binary']

function userPart(part: Readonly<Record<string, unknown>>): UserPart {
  const { type, text, metadata } = part
  if (type === 'text' && typeof text === 'string') return { type, text }
  if (!media.includes(String(type)))
    throw invalidInput('agUi', `a part of a message must be text, image, audio, video or document`)
  // Clients before 0.0.46 send `binary`, without a source.
  const { data, url = undefined, mimeType } = part
  const legacy = data === undefined ? { type: 'url', value: url } : { type: 'data', value: data }
  const source = isObject(part.source) ? part.source : { ...legacy, mimeType }
  const name = isObject(metadata) ? metadata.filename : part.filename
  const mediaType = typeof source.mimeType === 'string' ? source.mimeType : undefined
  const value = source.value
  if (typeof value !== 'string' || (source.type !== 'url' && !(source.type === 'data' && mediaType)))
    throw invalidInput(
      'agUi',
      `the source of a part must be { type: 'url', value } or { type: 'data', value, mimeType }`,
    )
  const isImage = type === 'image' || mediaType?.startsWith('image/')
  if (source.type === 'url' && isImage) return { type: 'image', url: value }
  if (isImage) return { type: 'image', data: value, mediaType: mediaType as string }
  return {
    type: 'file',
    mediaType: mediaType ?? 'application/octet-stream',
    ...(typeof name === 'string' && { name }),
    ...(source.type === 'url' ? { url: value } : { data: value }),
  }
}

/** The history of a client as messages, with the ids of the user's by their index. */
export function readHistory(posted: readonly AgUiMessage[]) {
  const messages: Message[] = []
  const keys: (string | undefined)[] = []
  const names = new Map<string, string>()
  for (const message of posted) {
    // What a sub-agent said was never part of the conversation of the agent.
    if (message.subagentRunId !== undefined) continue
    if (message.role === 'user') {
      keys[messages.length] = message.id
      messages.push(userMessage(message))
    } else if (message.role === 'assistant') {
      const calls = callsOf(message)
      for (const { callId, name } of calls) names.set(callId, name)
      const { content } = message
      const text = typeof content === 'string' && content ? [{ type: 'text', text: content } as const] : []
      if (text.length + calls.length > 0) messages.push({ role: 'assistant', content: [...text, ...calls] })
    } else if (message.role === 'tool') {
      const { callId, output, isError } = toolResult(message)
      const name = names.get(callId)
      const content = [{ type: 'text', text: output } as const]
      if (name !== undefined) messages.push({ role: 'tool', callId, name, content, isError })
    }
  }
  return { messages, keys: Array.from(messages, (_, index) => keys[index]) }
}

function callsOf({ toolCalls }: AgUiMessage) {
  const calls = Array.isArray(toolCalls) ? toolCalls.filter(isObject) : []
  return calls.flatMap(({ id, function: called }) => {
    if (typeof id !== 'string' || !isObject(called)) return []
    const input = parseArguments(String(called.arguments)).input ?? {}
    return [{ type: 'tool-call', callId: id, name: String(called.name), input: input as JsonObject } as const]
  })
}

/** The result in a message of the role `tool`. */
export function toolResult({ toolCallId, content, error }: AgUiMessage) {
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  const text = parts.map(({ type, text }) => (type === 'text' ? String(text) : `[${type}]`)).join('\n')
  const isError = typeof error === 'string' && error !== ''
  const output = typeof content === 'string' ? content : text
  return { callId: String(toolCallId), output: output || (isError ? error : ''), isError }
}
