import type { AssistantPart, ImagePart, Message, ToolCallPart, UserPart } from '../../protocol/index.ts'
import { isObject, kindOf, nameOf, parseArguments } from '../../protocol/index.ts'
import { rejected } from './errors.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads the messages of a request. System messages become one text. `isPartial`: the client names a
 * thread, and may leave out what the thread has.
 */
export function readMessages(
  list: unknown,
  { isPartial }: { readonly isPartial: boolean },
): {
  readonly system: string
  readonly messages: readonly Message[]
} {
  if (!Array.isArray(list) || list.length === 0)
    throw rejected('messages', "'messages' must be an array with at least one message.")
  const system: string[] = []
  const messages: Message[] = []
  /** The names of all calls so far, since results do not repeat them. */
  const names = new Map<string, string>()
  for (const [index, message] of list.entries()) {
    const path = `messages[${index}]`
    if (!isObject(message)) throw rejected(path, `'${path}' must be an object, not ${kindOf(message)}.`)
    const { role, content } = message
    if (role === 'system' || role === 'developer') system.push(readText(content, path))
    else if (role === 'user') messages.push({ role, content: readUser(content, path) })
    else if (role === 'assistant') {
      const parts = readAssistant(message, path)
      for (const part of parts) if (part.type === 'tool-call') names.set(part.callId, part.name)
      if (parts.length > 0) messages.push({ role, content: parts })
    } else if (role === 'tool') {
      const callId = message.tool_call_id
      const name =
        typeof callId === 'string' ? (names.get(callId) ?? (isPartial ? callId : undefined)) : undefined
      if (typeof callId !== 'string' || name === undefined)
        throw rejected(
          `${path}.tool_call_id`,
          `'${path}.tool_call_id' must be the id of a call in an earlier message, not ${nameOf(callId)}.`,
        )
      messages.push({ role, callId, name, content: [{ type: 'text', text: readText(content, path) }] })
    } else {
      const roles = "'system', 'developer', 'user', 'assistant' or 'tool'"
      throw rejected(`${path}.role`, `'${path}.role' must be ${roles}, not ${nameOf(role)}.`)
    }
  }
  const last = messages.at(-1)?.role
  if (last !== 'user' && last !== 'tool')
    throw rejected('messages', "The last message must have the role 'user' or 'tool'.")
  return { system: system.filter(Boolean).join('\n\n'), messages }
}

/** The parts of a content that may also be a plain string. */
function readParts(content: unknown, path: string): readonly (readonly [part: Fields, path: string])[] {
  if (typeof content === 'string') return [[{ type: 'text', text: content }, `${path}.content`]]
  if (!Array.isArray(content))
    throw rejected(
      `${path}.content`,
      `'${path}.content' must be a string or an array of parts, not ${kindOf(content)}.`,
    )
  return content.map((part, index) => {
    const at = `${path}.content[${index}]`
    if (!isObject(part)) throw rejected(at, `'${at}' must be an object, not ${kindOf(part)}.`)
    return [part, at]
  })
}

function readText(content: unknown, path: string): string {
  return readParts(content, path)
    .map(([part, at]) => textOfPart(part, at))
    .join('')
}

function textOfPart({ type, text }: Fields, path: string): string {
  if (type !== 'text' || typeof text !== 'string')
    throw rejected(path, `'${path}' must be { type: 'text', text }: only text is supported here.`)
  return text
}

function readUser(content: unknown, path: string): string | readonly UserPart[] {
  if (typeof content === 'string') return content
  return readParts(content, path).map(([part, at]) => {
    if (part.type === 'image_url') return readImage(part.image_url, at)
    if (part.type === 'file') return readFile(part.file, at)
    if (part.type === 'text') return { type: 'text', text: textOfPart(part, at) }
    const types = "'text', 'image_url' and 'file'"
    throw rejected(`${at}.type`, `'${at}.type' is ${nameOf(part.type)}. Supported are ${types}.`)
  })
}

function readImage(image: unknown, path: string): ImagePart {
  const { url } = isObject(image) ? image : {}
  if (typeof url !== 'string' || url === '')
    throw rejected(`${path}.image_url`, `'${path}.image_url' must be { url }.`)
  const { mediaType, data } = dataUrl(url) ?? {}
  return mediaType !== undefined && data !== undefined
    ? { type: 'image', data, mediaType }
    : { type: 'image', url }
}

function readFile(file: unknown, path: string): UserPart {
  const { file_data: given, filename } = isObject(file) ? file : {}
  if (typeof given !== 'string' || given === '')
    throw rejected(
      `${path}.file`,
      `'${path}.file' must be { filename, file_data }: no files are stored here.`,
    )
  // OpenAI reads data without a media type as a PDF.
  const { mediaType = 'application/pdf', data = given } = dataUrl(given) ?? {}
  return { type: 'file', mediaType, data, ...(typeof filename === 'string' && { name: filename }) }
}

export function dataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  const [, mediaType, data] = /^data:([^;,]+)[^,]*;base64,(.*)$/is.exec(url) ?? []
  return mediaType !== undefined && data !== undefined ? { mediaType, data } : undefined
}

function readAssistant(message: Fields, path: string): readonly AssistantPart[] {
  const { content, refusal, tool_calls: calls, function_call: legacy } = message
  if (legacy) throw rejected(`${path}.function_call`, "'function_call' is not supported: use 'tool_calls'.")
  const texts = readParts(content ?? [], path).map(([part, at]) =>
    part.type === 'refusal' ? String(part.refusal ?? '') : textOfPart(part, at),
  )
  const text = texts.join('') + (typeof refusal === 'string' ? refusal : '')
  if (calls !== undefined && calls !== null && !Array.isArray(calls))
    throw rejected(`${path}.tool_calls`, `'${path}.tool_calls' must be an array, not ${kindOf(calls)}.`)
  const parts = (calls ?? []).map((call, index) => readCall(call, `${path}.tool_calls[${index}]`))
  return text ? [{ type: 'text', text }, ...parts] : parts
}

function readCall(call: unknown, path: string): ToolCallPart {
  const { id, function: called } = isObject(call) ? call : {}
  const { name, arguments: raw = '' } = isObject(called) ? called : {}
  if (typeof id !== 'string' || typeof name !== 'string' || typeof raw !== 'string' || !id || !name)
    throw rejected(path, `'${path}' must be { id, type: 'function', function: { name, arguments } }.`)
  const { input, problem } = parseArguments(raw)
  return { type: 'tool-call', callId: id, name, input, ...(problem !== undefined && { raw }) }
}
