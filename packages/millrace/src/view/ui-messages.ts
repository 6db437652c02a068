import type {
  AssistantPart,
  InputMode,
  JsonObject,
  JsonValue,
  Message,
  ModelSettings,
  RunRequest,
  ToolMessage,
  ToolResultPart,
  ToolSpec,
  UserPart,
} from '../protocol/index.ts'
import { budgetId, invalidInput, isObject, kindOf, nameOf } from '../protocol/index.ts'

const op = 'readUIMessages'

/** A message as a client has posted it. Its parts are read when they are used. */
export interface PostedMessage {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly Fields[]
}

type Fields = Readonly<Record<string, unknown>>

/** What a client of the AI SDK has posted. Other fields are ignored. */
export interface PostedChat {
  /** The id of the chat, which the client has chosen. */
  readonly id: string | undefined
  readonly trigger: 'submit-message' | 'regenerate-message'
  /** The message to regenerate, to replace (a user's), or to continue (the assistant's). */
  readonly messageId: string | undefined
  readonly posted: readonly PostedMessage[]
  /** How the message is sent while a run is in progress; only clients of Millrace send it. */
  readonly mode: InputMode | undefined
  /** What assistant-ui sends along: tools that the client runs, system text, model settings. */
  readonly request: RunRequest
}

/** A conversation that a client of the AI SDK has posted. */
export interface UIConversation extends Omit<PostedChat, 'posted'> {
  readonly messages: readonly Message[]
  /** The ids of the user's messages, by their index in `messages`. */
  readonly ids: readonly (string | undefined)[]
  /** Tools that the client runs. */
  readonly tools: readonly ToolSpec[]
}

/**
 * Reads what `useChat` posts to its route, as messages for `agent.stream()`. Tool calls without a
 * result stay without one. Throws `invalid_input` that says what cannot be used.
 */
export function readUIMessages(body: unknown): UIConversation {
  const { posted, ...chat } = readPostedChat(body)
  return { ...chat, ...readConversation(posted), tools: chat.request.tools ?? [] }
}

/** Reads everything but the content of the messages. */
export function readPostedChat(body: unknown): PostedChat {
  if (!isObject(body))
    throw invalidInput(op, `the body must be what useChat posts, { id, messages, … }, not ${kindOf(body)}`)
  const { id, messageId, trigger = 'submit-message', message } = body
  // Many clients are set up to send only their last message.
  const { messages = message === undefined ? undefined : [message] } = body
  if (!Array.isArray(messages))
    throw invalidInput(op, `'messages' must be an array of UI messages, not ${kindOf(messages)}`)
  if (trigger !== 'submit-message' && trigger !== 'regenerate-message')
    throw invalidInput(
      op,
      `'trigger' must be 'submit-message' or 'regenerate-message', not ${nameOf(trigger)}`,
    )
  return {
    id: optionalText('id', id),
    trigger,
    messageId: optionalText('messageId', messageId),
    posted: messages.map(postedMessage),
    mode: modeOf(body.mode),
    request: requestOf(body),
  }
}

function optionalText(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw invalidInput(op, `'${name}' must be text, not ${kindOf(value)}`)
  return value
}

function modeOf(mode: unknown): InputMode | undefined {
  if (mode === undefined || mode === 'queue' || mode === 'steer' || mode === 'interrupt') return mode
  throw invalidInput(op, `'mode' must be 'queue', 'steer' or 'interrupt', not ${nameOf(mode)}`)
}

function postedMessage(message: unknown, index: number): PostedMessage {
  const path = `messages[${index}]`
  if (!isObject(message))
    throw invalidInput(op, `${path} must be a UI message, { id, role, parts }, not ${kindOf(message)}`)
  const { id = '', role, parts } = message
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalidInput(op, `${path}.role must be 'system', 'user' or 'assistant', not ${nameOf(role)}`)
  if (typeof id !== 'string') throw invalidInput(op, `${path}.id must be text, not ${kindOf(id)}`)
  if (!Array.isArray(parts))
    throw invalidInput(
      op,
      `${path}.parts must be an array of parts (AI SDK 5 and later), not ${kindOf(parts)}`,
    )
  return { id, role, parts: parts.filter(isObject) }
}

function requestOf({ tools, system, callSettings }: Fields): RunRequest {
  return {
    // `{}` means no tools: assistant-ui always sends the field.
    ...(isObject(tools) && Object.keys(tools).length > 0 && { tools: toolsOf(tools) }),
    ...(typeof system === 'string' && system && { system }),
    ...(isObject(callSettings) && { settings: settingsOf(callSettings) }),
  }
}

function toolsOf(tools: Fields): readonly ToolSpec[] {
  return Object.entries(tools).map(([name, tool]) => {
    const { description, parameters } = isObject(tool) ? tool : {}
    return {
      name,
      description: typeof description === 'string' && description ? description : `The tool ${name}`,
      inputSchema: (isObject(parameters) ? parameters : { type: 'object' }) as JsonObject,
    }
  })
}

function settingsOf({ temperature, topP, maxTokens, seed }: Fields): ModelSettings {
  const settings = { temperature, topP, maxOutputTokens: maxTokens, seed }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => typeof value === 'number'))
}

/** The content of posted messages. */
export function readConversation(posted: readonly PostedMessage[]) {
  const messages: Message[] = []
  const ids: (string | undefined)[] = []
  for (const message of posted) {
    if (message.role === 'assistant') messages.push(...assistantMessages(message))
    else if (message.role === 'user') {
      ids[messages.length] = message.id || undefined
      messages.push(userMessage(message))
    } else {
      const content = message.parts.map(({ type, text }) => (type === 'text' ? text : '')).join('')
      if (content) messages.push({ role: 'system', content })
    }
  }
  return { messages, ids: Array.from(messages, (_, index) => ids[index]) }
}

export function userMessage({ id, parts }: PostedMessage): Message & { readonly role: 'user' } {
  const content = parts.flatMap(userPart)
  if (content.length === 0)
    throw invalidInput(op, `the message '${id}' is empty: only its text and file parts are read`)
  const [only] = content
  return { role: 'user', content: content.length === 1 && only?.type === 'text' ? only.text : content }
}

function userPart(part: Fields): readonly UserPart[] {
  const { type, text } = part
  if (type === 'text') return typeof text === 'string' && text ? [{ type, text }] : []
  return type === 'file' ? [filePart(part)] : []
}

interface FileSource {
  readonly mediaType: string | undefined
  readonly source: { readonly url: string } | { readonly data: string }
}

function filePart({ url, mediaType, filename }: Fields): UserPart {
  const file = typeof url === 'string' ? fileSource(url) : undefined
  if (!file) {
    const start = typeof url === 'string' ? nameOf(url.slice(0, 40)) : kindOf(url)
    throw invalidInput(
      op,
      `a file needs a url that starts with data:, https: or http:, not ${start}. Send the content of the file as a data: URL`,
    )
  }
  const declared = typeof mediaType === 'string' ? mediaType : ''
  // A client may declare only the first half, such as `image`.
  const type = declared.includes('/') && !declared.endsWith('*') ? declared : (file.mediaType ?? declared)
  const isImage = /^image\b/.test(type)
  const { source } = file
  if (isImage && 'url' in source) return { type: 'image', url: source.url }
  if (isImage && 'data' in source) return { type: 'image', data: source.data, mediaType: type }
  return {
    type: 'file',
    mediaType: type || 'application/octet-stream',
    ...(typeof filename === 'string' && { name: filename }),
    ...source,
  }
}

function fileSource(url: string): FileSource | undefined {
  if (/^https?:/i.test(url)) return { mediaType: undefined, source: { url } }
  const [match, mediaType, isBase64] = /^data:([^;,]*)[^,]*?(;base64)?,/i.exec(url) ?? []
  if (match === undefined) return undefined
  const content = url.slice(match.length)
  try {
    const data = isBase64 ? content : toBase64(decodeURIComponent(content))
    return { mediaType: mediaType || undefined, source: { data } }
  } catch {
    // A percent sign that encodes nothing.
    return undefined
  }
}

function toBase64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))
}

/** Each step is a message, followed by the results of its calls. */
function assistantMessages({ parts }: PostedMessage): readonly Message[] {
  const messages: Message[] = []
  let content: AssistantPart[] = []
  let results: ToolMessage[] = []
  const endStep = () => {
    if (content.length > 0) messages.push({ role: 'assistant', content }, ...results)
    content = []
    results = []
  }
  for (const part of parts) {
    const { type, text } = part
    const name = toolName(part)
    if (type === 'step-start') endStep()
    else if (type === 'steering-message' && Array.isArray(part.parts)) {
      endStep()
      messages.push(userMessage({ id: '', role: 'user', parts: part.parts.filter(isObject) }))
    } else if ((type === 'text' || type === 'reasoning') && typeof text === 'string' && text)
      content.push({ type, text })
    // The provider's own calls cannot be sent back without the data that came with them.
    else if (name !== undefined && part.providerExecuted !== true && part.state !== 'input-streaming') {
      const callId = String(part.toolCallId)
      // A question about a budget was for a person, not for a tool.
      if (name === 'budget' && callId.startsWith(budgetId)) continue
      content.push({ type: 'tool-call', callId, name, input: inputOf(part) })
      const result = resultOf(part, parts)
      if (result) results.push({ role: 'tool', callId, name, ...result })
    }
  }
  endStep()
  return messages
}

/** Arguments that were invalid are text. */
function inputOf({ input }: Fields): JsonObject {
  return isObject(input) ? (input as JsonObject) : {}
}

/** The name of a part's tool: it is a part of its type if the client has types for the tool. */
function toolName({ type, toolName }: Fields): string | undefined {
  if (type === 'dynamic-tool') return String(toolName)
  return typeof type === 'string' && type.startsWith('tool-') ? type.slice('tool-'.length) : undefined
}

function resultOf(
  part: Fields,
  all: readonly Fields[],
): Pick<ToolMessage, 'content' | 'isError'> | undefined {
  const { state, output, errorText, approval, preliminary, toolCallId } = part
  if (state === 'output-available' && preliminary !== true)
    return { content: outputParts(output, filesOf(String(toolCallId), all)) }
  if (state === 'output-error') return failure(String(errorText))
  if (state !== 'output-denied') return undefined
  const reason = isObject(approval) && typeof approval.reason === 'string' ? `: ${approval.reason}` : ''
  return failure(`the call was denied${reason}`)
}

function failure(text: string) {
  return { content: [{ type: 'text', text }], isError: true } as const
}

/** The images of a call's result: see `toolOutput`. */
function filesOf(callId: string, parts: readonly Fields[]): Fields[] {
  return parts.filter(({ type, providerMetadata }) => {
    const { millrace } = isObject(providerMetadata) ? providerMetadata : {}
    return type === 'file' && isObject(millrace) && millrace.callId === callId
  })
}

function outputParts(output: unknown, files: Fields[]): readonly ToolResultPart[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  if (!isPartList(output)) return [{ type: 'json', value: (output ?? null) as JsonValue }]
  return output.flatMap((part): readonly ToolResultPart[] => {
    if (part.type !== 'image') return [part as unknown as ToolResultPart]
    const [file] = files.splice(0, 1)
    const image = file && filePart(file)
    return image?.type === 'image' ? [image] : []
  })
}

/** Whether an output is a list of parts that `toolOutput` has made. */
function isPartList(output: unknown): output is readonly Fields[] {
  return (
    Array.isArray(output) &&
    output.length > 0 &&
    output.every(
      (part) =>
        isObject(part) &&
        (part.type === 'image' ||
          (part.type === 'text' && typeof part.text === 'string') ||
          (part.type === 'json' && 'value' in part)),
    )
  )
}

/** What a posted message of the assistant has in answer to calls. */
export interface PostedAnswers {
  /** By the id of the approval, which is the id of the call or of a call inside of it. */
  readonly decisions: ReadonlyMap<string, { readonly approved: boolean; readonly reason?: string }>
  /** By the id of the call. Results of the server's own tools are included. */
  readonly results: ReadonlyMap<string, { readonly output: unknown; readonly isError: boolean }>
}

export function readAnswers({ parts }: PostedMessage): PostedAnswers {
  const decisions = new Map<string, { approved: boolean; reason?: string }>()
  const results = new Map<string, { output: unknown; isError: boolean }>()
  for (const part of parts) {
    if (toolName(part) === undefined) continue
    const { state, approval, output, errorText, preliminary } = part
    if (isObject(approval) && typeof approval.approved === 'boolean') {
      const { approved, reason } = approval
      decisions.set(String(approval.id), { approved, ...(typeof reason === 'string' && { reason }) })
    }
    if (state === 'output-available' && preliminary !== true)
      results.set(String(part.toolCallId), { output: output ?? null, isError: false })
    if (state === 'output-error')
      results.set(String(part.toolCallId), { output: String(errorText), isError: true })
  }
  return { decisions, results }
}
