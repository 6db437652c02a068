import { invalidInput } from './errors.ts'
import { isObject, kindOf, nameOf, toJson } from './json.ts'
import type { AssistantMessage, Message, SystemMessage, ToolMessage } from './messages.ts'
import { PROTOCOL_VERSION } from './messages.ts'
import { upgradeMessage } from './upgrade.ts'

// What callers may pass: bytes where the protocol has base64, plain text where it has parts.

export type InputImagePart =
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'image'; readonly data: string | Uint8Array; readonly mediaType: string }

type InputFilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
} & ({ readonly url: string } | { readonly data: string | Uint8Array })

export type InputUserMessage = {
  readonly role: 'user'
  readonly content:
    | string
    | readonly ({ readonly type: 'text'; readonly text: string } | InputImagePart | InputFilePart)[]
}

export type InputMessage =
  | SystemMessage
  | InputUserMessage
  | (Omit<AssistantMessage, 'content'> & { readonly content: string | AssistantMessage['content'] })
  | (Omit<ToolMessage, 'content'> & { readonly content: string | ToolMessage['content'] })

type Fields = Record<string, unknown>
type Fail = (path: string, problem: string) => never

const partTypes: Record<Message['role'], readonly string[]> = {
  system: [],
  user: ['text', 'image', 'file'],
  assistant: ['text', 'reasoning', 'tool-call', 'provider-tool'],
  tool: ['text', 'json', 'image'],
}

/**
 * Checks a list of messages and returns it as plain JSON: bytes become base64, unknown fields are
 * dropped. Throws `invalid_input` that names the path (`messages[3].content[0].url`) and what is
 * expected there.
 */
export function checkMessages(value: unknown, op: string): Message[] {
  const fail: Fail = (path, problem) => {
    throw invalidInput(op, `${path} ${problem}`)
  }
  if (!Array.isArray(value)) fail('messages', `must be an array, not ${kindOf(value)}`)
  return (value as unknown[]).map((message, index) => checkMessage(message, `messages[${index}]`, fail))
}

/** A conversation as stored in a file or a database: messages with their protocol version. */
export interface Transcript {
  readonly version: number
  readonly messages: readonly Message[]
}

export function writeTranscript(messages: readonly Message[]): Transcript {
  return { version: PROTOCOL_VERSION, messages }
}

/**
 * Reads the output of `writeTranscript`, as an object or as JSON text. Throws `invalid_input` on
 * anything else.
 */
export function readTranscript(value: unknown): Message[] {
  const op = 'readTranscript'
  let parsed = value
  if (typeof value === 'string') {
    try {
      parsed = JSON.parse(value)
    } catch (cause) {
      throw invalidInput(op, 'the transcript is not valid JSON', cause)
    }
  }
  if (!isObject(parsed) || typeof parsed.version !== 'number')
    throw invalidInput(
      op,
      'a transcript must be { version, messages }: create it with writeTranscript(messages)',
    )
  checkVersion(parsed.version, op)
  const { messages } = parsed
  const isOld = parsed.version < PROTOCOL_VERSION && Array.isArray(messages)
  return checkMessages(isOld ? messages.map(upgradeMessage) : messages, op)
}

export function checkVersion(version: number, op: string): void {
  if (!Number.isInteger(version) || version < 1)
    throw invalidInput(op, `${version} is not a protocol version`)
  if (version > PROTOCOL_VERSION)
    throw invalidInput(
      op,
      `this was written with protocol version ${version}, but this package reads up to ${PROTOCOL_VERSION}: update millrace`,
    )
}

function checkMessage(message: unknown, path: string, fail: Fail): Message {
  if (!isObject(message))
    return fail(path, `must be a message such as { role: 'user', content: '…' }, not ${kindOf(message)}`)
  const { role, content } = message
  switch (role) {
    case 'system':
      return { role, content: text(message, 'content', path, fail) }
    case 'user':
      if (typeof content === 'string') return { role, content }
      return { role, content: parts(content, role, path, fail) as never }
    case 'assistant':
      // Other libraries accept a plain string here too.
      if (typeof content === 'string')
        return { role, content: content ? [{ type: 'text', text: content }] : [] }
      return { role, content: parts(content, role, path, fail) as never }
    case 'tool': {
      const { isError } = message
      if (isError !== undefined && typeof isError !== 'boolean')
        fail(`${path}.isError`, 'must be true or false')
      return {
        role,
        callId: text(message, 'callId', path, fail),
        name: text(message, 'name', path, fail),
        content:
          typeof content === 'string'
            ? [{ type: 'text', text: content }]
            : (parts(content, role, path, fail) as never),
        ...(isError === true && { isError }),
      }
    }
    default:
      return fail(`${path}.role`, `must be 'system', 'user', 'assistant' or 'tool', not ${nameOf(role)}`)
  }
}

function parts(content: unknown, role: Message['role'], path: string, fail: Fail): unknown[] {
  const allowed = partTypes[role]
  if (!Array.isArray(content))
    return fail(`${path}.content`, `must be a string or an array of parts, not ${kindOf(content)}`)
  return content.map((part: unknown, index) => {
    const at = `${path}.content[${index}]`
    if (!isObject(part))
      return fail(at, `must be a part such as { type: 'text', text: '…' }, not ${kindOf(part)}`)
    if (!allowed.includes(part.type as string))
      return fail(
        `${at}.type`,
        `must be one of ${allowed.join(', ')} in a message of role '${role}', not ${nameOf(part.type)}`,
      )
    return checkPart(part, at, fail)
  })
}

function checkPart(part: Fields, at: string, fail: Fail): unknown {
  const opaque =
    part.opaque === undefined ? undefined : { opaque: checkOpaque(part.opaque, `${at}.opaque`, fail) }
  switch (part.type) {
    case 'text': {
      const unplayed =
        part.unplayed === undefined ? undefined : { unplayed: text(part, 'unplayed', at, fail) }
      return { type: 'text', text: text(part, 'text', at, fail), ...unplayed, ...opaque }
    }
    case 'reasoning':
      return { type: 'reasoning', text: text(part, 'text', at, fail), ...opaque }
    case 'json':
      return { type: 'json', value: json(part.value, `${at}.value`, fail) }
    case 'tool-call': {
      if (!isObject(part.input)) return fail(`${at}.input`, `must be an object, not ${kindOf(part.input)}`)
      return {
        type: 'tool-call',
        callId: text(part, 'callId', at, fail),
        name: text(part, 'name', at, fail),
        input: json(part.input, `${at}.input`, fail),
        ...(part.raw !== undefined && { raw: text(part, 'raw', at, fail) }),
        ...opaque,
      }
    }
    case 'provider-tool':
      return {
        type: 'provider-tool',
        callId: text(part, 'callId', at, fail),
        name: text(part, 'name', at, fail),
        ...(part.input !== undefined && { input: json(part.input, `${at}.input`, fail) }),
        ...(part.output !== undefined && { output: json(part.output, `${at}.output`, fail) }),
        ...(part.isError === true && { isError: true }),
        opaque: checkOpaque(part.opaque, `${at}.opaque`, fail),
      }
    default:
      return checkMedia(part, at, fail)
  }
}

function checkMedia(part: Fields, at: string, fail: Fail): unknown {
  const { type, url, data } = part
  if (url === undefined && data === undefined)
    fail(at, 'needs a url or data (base64 or bytes), but has neither')
  if (url !== undefined && data !== undefined) fail(at, 'has both a url and data: keep one of them')
  if (url !== undefined && (typeof url !== 'string' || !URL.canParse(url)))
    fail(`${at}.url`, `must be a URL, not ${nameOf(url)}`)
  const source = url !== undefined ? { url } : { data: checkData(data, `${at}.data`, fail) }
  // Only an image by URL can omit it: the provider fetches the image and detects the type.
  const mediaType = type === 'image' && url !== undefined ? undefined : text(part, 'mediaType', at, fail)
  const name = type === 'file' && part.name !== undefined ? text(part, 'name', at, fail) : undefined
  return {
    type,
    ...source,
    // Media types are case-insensitive: normalize, so that readers can compare them.
    ...(mediaType !== undefined && { mediaType: mediaType.toLowerCase() }),
    ...(name !== undefined && { name }),
  }
}

function checkData(data: unknown, at: string, fail: Fail): string {
  const base64 = data instanceof Uint8Array ? toBase64(data) : data
  const isBase64 =
    typeof base64 === 'string' &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(base64) &&
    base64.replace(/=+$/, '').length % 4 !== 1
  return isBase64 ? base64 : fail(at, 'must be base64 text or a Uint8Array, and must not be empty')
}

function checkOpaque(value: unknown, at: string, fail: Fail): unknown {
  if (!isObject(value) || typeof value.provider !== 'string') return fail(at, 'must be { provider, data }')
  return { provider: value.provider, data: json(value.data, `${at}.data`, fail) }
}

function text(fields: Fields, key: string, path: string, fail: Fail): string {
  const value = fields[key]
  return typeof value === 'string' ? value : fail(`${path}.${key}`, `must be a string, not ${kindOf(value)}`)
}

function json(value: unknown, at: string, fail: Fail): unknown {
  try {
    return toJson(value)
  } catch (cause) {
    return fail(at, `cannot be serialized as JSON (${(cause as Error).message})`)
  }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  // In slices: the number of arguments is limited, and one character at a time is slow.
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}
