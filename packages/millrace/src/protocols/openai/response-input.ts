import type {
  AssistantPart,
  ImagePart,
  Message,
  TextPart,
  ToolMessage,
  ToolResultPart,
  UserPart,
} from '../../protocol/index.ts'
import { isObject, kindOf, nameOf, parseArguments } from '../../protocol/index.ts'
import type { ModelRequest } from '../model-api/index.ts'
import { dataUrl } from './chat-messages.ts'
import { rejected } from './errors.ts'
import { readApprovalId } from './response-ids.ts'

type Fields = Readonly<Record<string, unknown>>

export interface ReadItems {
  readonly messages: readonly Message[]
  /** The text of developer and system messages. */
  readonly developer: string
  /** The decisions since the last message of the assistant. */
  readonly decisions: NonNullable<ModelRequest['decisions']>
  /** The ids of the approval requests that they answer. */
  readonly approvalIds: readonly string[]
  /** What comes with the decisions: results before them, and everything after them. */
  readonly newMessages: readonly Message[]
}

/**
 * Reads `input`. Reasoning and everything that the server did itself is in the log, so it is
 * ignored: clients send whole outputs back.
 */
export function readItems(input: unknown, param: string): ReadItems {
  if (typeof input === 'string') return readItems([{ role: 'user', content: input }], param)
  if (!Array.isArray(input) || input.length === 0)
    throw rejected(param, `'${param}' must be a string or an array with at least one item.`)
  const messages: Message[] = []
  const developer: string[] = []
  const decisions = new Map<string, { approved: boolean; reason?: string }>()
  const approvalIds: string[] = []
  /** How many messages come before the first decision. */
  let before = 0
  /** The names of all calls so far, since results do not repeat them. */
  const names = new Map<string, string>()
  /** The parts of the assistant's message at the end, if it is the last one. */
  let parts: AssistantPart[] | undefined

  function add(message: Message) {
    parts = undefined
    messages.push(message)
  }

  function addPart(part: AssistantPart) {
    // What was decided before has been answered.
    decisions.clear()
    approvalIds.length = 0
    if (!parts) {
      const content: AssistantPart[] = []
      add({ role: 'assistant', content })
      parts = content
    }
    parts.push(part)
  }

  function readMessage({ role, content }: Fields, path: string) {
    if (role === 'system' || role === 'developer') developer.push(textOf(content, path))
    else if (role === 'user') add({ role, content: readUser(content, path) })
    else if (role === 'assistant') {
      const text = textOf(content, path)
      if (text) addPart({ type: 'text', text })
    } else {
      const roles = "'user', 'assistant', 'system' or 'developer'"
      throw rejected(`${path}.role`, `'${path}.role' must be ${roles}, not ${nameOf(role)}.`)
    }
  }

  function readCall(item: Fields, path: string) {
    const callId = stringIn(item, 'call_id', path)
    const name = stringIn(item, 'name', path)
    const raw = typeof item.arguments === 'string' ? item.arguments : ''
    const { input, problem } = parseArguments(raw)
    names.set(callId, name)
    addPart({ type: 'tool-call', callId, name, input, ...(problem !== undefined && { raw }) })
  }

  function readOutput(item: Fields, path: string): ToolMessage {
    const callId = stringIn(item, 'call_id', path)
    // A client that names the response it continues sends no call.
    const name = names.get(callId) ?? callId
    return { role: 'tool', callId, name, content: readResult(item.output, `${path}.output`) }
  }

  function readDecision(item: Fields, path: string) {
    const id = stringIn(item, 'approval_request_id', path)
    if (typeof item.approve !== 'boolean')
      throw rejected(`${path}.approve`, `'${path}.approve' must be a boolean.`)
    const { reason } = item
    if (decisions.size === 0) before = messages.length
    approvalIds.push(id)
    decisions.set(readApprovalId(id)?.callId ?? id, {
      approved: item.approve,
      ...(typeof reason === 'string' && reason && { reason }),
    })
  }

  for (const [index, item] of input.entries()) {
    const path = `${param}[${index}]`
    if (!isObject(item)) throw rejected(path, `'${path}' must be an object, not ${kindOf(item)}.`)
    const { type = 'message' } = item
    if (type === 'message') readMessage(item, path)
    else if (type === 'function_call') readCall(item, path)
    else if (type === 'function_call_output') add(readOutput(item, path))
    else if (type === 'mcp_approval_response') readDecision(item, path)
  }
  const results = messages.slice(0, before)
  return {
    messages,
    developer: developer.filter(Boolean).join('\n\n'),
    decisions,
    approvalIds,
    newMessages: messages.slice(results.findLastIndex(({ role }) => role !== 'tool') + 1),
  }
}

function stringIn(item: Fields, name: string, path: string): string {
  const value = item[name]
  if (typeof value !== 'string' || value === '')
    throw rejected(`${path}.${name}`, `'${path}.${name}' must be a string, not ${nameOf(value)}.`)
  return value
}

function partsOf(content: unknown, path: string): readonly (readonly [part: Fields, path: string])[] {
  if (!Array.isArray(content))
    throw rejected(path, `'${path}' must be a string or an array of parts, not ${kindOf(content)}.`)
  return content.map((part, index) => {
    const at = `${path}[${index}]`
    if (!isObject(part)) throw rejected(at, `'${at}' must be an object, not ${kindOf(part)}.`)
    return [part, at]
  })
}

function textOf(content: unknown, path: string): string {
  if (typeof content === 'string') return content
  return partsOf(content, `${path}.content`)
    .map(([part, at]) => readText(part, at).text)
    .join('')
}

function readText({ type, text, refusal }: Fields, path: string): TextPart {
  const value = type === 'refusal' ? refusal : text
  if (typeof value !== 'string')
    throw rejected(path, `'${path}' must be a part with 'text': only text is supported here.`)
  return { type: 'text', text: value }
}

function readUser(content: unknown, path: string): string | readonly UserPart[] {
  if (typeof content === 'string') return content
  return partsOf(content, `${path}.content`).map(([part, at]) => {
    if (part.type === 'input_image') return readImage(part, at)
    if (part.type === 'input_file') return readFile(part, at)
    return readText(part, at)
  })
}

function readResult(output: unknown, path: string): readonly ToolResultPart[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  return partsOf(output, path).map(([part, at]) =>
    part.type === 'input_image' ? readImage(part, at) : readText(part, at),
  )
}

function readImage({ image_url: url }: Fields, path: string): ImagePart {
  if (typeof url !== 'string' || url === '')
    throw rejected(`${path}.image_url`, `'${path}.image_url' must be a URL: no files are stored here.`)
  const inline = dataUrl(url)
  return inline ? { type: 'image', ...inline } : { type: 'image', url }
}

function readFile({ file_data: given, file_url: url, filename }: Fields, path: string): UserPart {
  const name = typeof filename === 'string' && filename ? { name: filename } : {}
  // OpenAI reads a file without a media type as a PDF.
  const pdf = 'application/pdf'
  if (typeof url === 'string' && url) return { type: 'file', mediaType: pdf, url, ...name }
  if (typeof given !== 'string' || given === '')
    throw rejected(path, `'${path}' needs 'file_data' or 'file_url': no files are stored here.`)
  const { mediaType = pdf, data = given } = dataUrl(given) ?? {}
  return { type: 'file', mediaType, data, ...name }
}
