import { Buffer } from 'node:buffer'
import type { ApprovalAnswer, JsonObject, ToolResultPart, UserMessage, UserPart } from 'millrace'
import { isObject, kindOf } from 'millrace/internal'
import type { Part } from '../a2a/wire.ts'
import { invalidParams, RpcError } from './rpc.ts'

/** A decision or a result in a data part of a client. */
export type CallAnswer = { readonly callId: string } & (
  | { readonly answer: ApprovalAnswer }
  | { readonly output: unknown; readonly isError: boolean }
)

/** A message of a client, checked. */
export interface ClientMessage {
  readonly messageId: string
  readonly contextId: string | undefined
  readonly taskId: string | undefined
  /** Undefined if it only answers calls. */
  readonly content: UserMessage | undefined
  readonly answers: readonly CallAnswer[]
}

/** Idempotency keys have at most 256. */
const maxIdChars = 200

/** Reads the `message` of a request. Throws an error that names the field that is wrong. */
export function readMessage(value: unknown): ClientMessage {
  if (!isObject(value)) throw invalidParams(`'message' must be an object, not ${kindOf(value)}`)
  const { role, parts } = value
  if (role !== undefined && role !== 'ROLE_USER') throw invalidParams("'message.role' must be 'ROLE_USER'")
  if (!Array.isArray(parts) || parts.length === 0)
    throw invalidParams("'message.parts' must be a list with at least one part")
  const messageId = readId(value, 'messageId')
  if (messageId === undefined) throw invalidParams("'message.messageId' is missing: choose a unique one")
  const read = parts.map((part: unknown, index) => readPart(part, `'message.parts[${index}]'`))
  const answers = read.flatMap((part) => ('callId' in part ? [part] : []))
  const content = read.flatMap((part) => ('type' in part ? [part] : []))
  return {
    messageId,
    contextId: readId(value, 'contextId'),
    taskId: readId(value, 'taskId'),
    content: content.length > 0 ? { role: 'user', content } : undefined,
    answers,
  }
}

/** An empty string is what protobuf sends for a field that is not set. */
function readId(message: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = message[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > maxIdChars)
    throw invalidParams(`'message.${name}' must be a string of at most ${maxIdChars} characters`)
  return value
}

function readPart(part: unknown, what: string): UserPart | CallAnswer {
  if (!isObject(part)) throw invalidParams(`${what} must be an object, not ${kindOf(part)}`)
  const { text, raw, url, data, mediaType, filename } = part as Record<string, unknown>
  const type = typeof mediaType === 'string' ? mediaType.toLowerCase() : ''
  const name = typeof filename === 'string' && filename ? { name: filename } : {}
  if (typeof text === 'string') return { type: 'text', text }
  if (typeof raw === 'string') return readFile(raw, { type, name, what })
  if (typeof url === 'string') {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw invalidParams(`${what}.url must be a URL with http:// or https://`)
    return type.startsWith('image/')
      ? { type: 'image', url }
      : { type: 'file', url, mediaType: type || 'application/octet-stream', ...name }
  }
  if (data !== undefined) return readData(data, what)
  throw invalidParams(`${what} needs one of text, raw, url and data`)
}

interface FileInfo {
  readonly type: string
  readonly name: { readonly name?: string }
  readonly what: string
}

function readFile(data: string, { type, name, what }: FileInfo): UserPart {
  if (!/^[\w+/-]*={0,2}$/.test(data)) throw invalidParams(`${what}.raw must be base64`)
  if (type === '')
    throw new RpcError('CONTENT_TYPE_NOT_SUPPORTED', `${what} needs a mediaType, such as 'image/png'`)
  if (type.startsWith('image/')) return { type: 'image', data, mediaType: type }
  // Every model reads text, but not every one reads files.
  if (type.startsWith('text/') || type === 'application/json') {
    const text = Buffer.from(data, 'base64').toString()
    return { type: 'text', text: name.name ? `${name.name}:\n${text}` : text }
  }
  return { type: 'file', data, mediaType: type, ...name }
}

function readData(data: unknown, what: string): UserPart | CallAnswer {
  if (!isObject(data) || typeof data.callId !== 'string') return { type: 'text', text: JSON.stringify(data) }
  const { callId, approved, reason, input, remember, output, isError } = data as Record<string, unknown>
  if (output !== undefined) return { callId: String(callId), output, isError: isError === true }
  if (typeof approved !== 'boolean') throw invalidParams(`${what}.data.approved must be true or false`)
  if (reason !== undefined && typeof reason !== 'string')
    throw invalidParams(`${what}.data.reason must be a string`)
  if (input !== undefined && !isObject(input)) throw invalidParams(`${what}.data.input must be an object`)
  if (remember !== undefined && remember !== 'thread' && remember !== 'always')
    throw invalidParams(`${what}.data.remember must be 'thread' or 'always'`)
  return { callId: String(callId), answer: { approved, reason, input, remember } }
}

/** The parts of a message as a client gets them. */
export function partsOf({ content }: UserMessage): Part[] {
  return typeof content === 'string' ? [{ text: content }] : content.map(partOf)
}

export function partOf(part: UserPart | ToolResultPart): Part {
  if (part.type === 'text') return { text: part.text }
  if (part.type === 'json') return { data: part.value }
  const mediaType = 'mediaType' in part ? { mediaType: part.mediaType } : { mediaType: 'image/*' }
  const filename = 'name' in part && part.name ? { filename: part.name } : {}
  return 'url' in part
    ? { url: part.url, ...mediaType, ...filename }
    : { raw: part.data, ...mediaType, ...filename }
}

/** Whether the client accepts an answer in this media type. An empty list accepts everything. */
export function accepts(modes: readonly string[], type: string): boolean {
  const [kind] = type.split('/')
  return modes.length === 0 || modes.some((mode) => [type, `${kind}/*`, '*/*'].includes(mode.toLowerCase()))
}

/** What is stored with a message for this protocol. */
export interface StoredRequest {
  readonly messageId: string
  readonly outputModes?: readonly string[]
}

export function storedRequest(metadata: JsonObject | undefined): Partial<StoredRequest> {
  const stored = metadata?.a2a
  return isObject(stored) ? (stored as Partial<StoredRequest>) : {}
}
