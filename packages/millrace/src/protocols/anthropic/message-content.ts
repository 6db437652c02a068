import type {
  AssistantPart,
  FilePart,
  ImagePart,
  Message,
  MillraceError,
  ToolMessage,
  ToolResultPart,
  UserPart,
} from '../../protocol/index.ts'
import { isJsonObject, isObject, kindOf, nameOf } from '../../protocol/index.ts'
import { httpError } from '../http-error.ts'

export type Fields = Readonly<Record<string, unknown>>

/** An error about one field of a request, in the words of Anthropic: `max_tokens: must be …`. */
export function rejected(param: string, problem: string): MillraceError {
  return httpError(400, 'invalid_input', param ? `${param}: ${problem}` : problem, { param })
}

/** The blocks of a content that may also be a plain string, each with its path. */
export function readBlocks(
  content: unknown,
  path: string,
): readonly (readonly [block: Fields, path: string])[] {
  if (typeof content === 'string') return [[{ type: 'text', text: content }, path]]
  if (!Array.isArray(content))
    throw rejected(path, `must be a string or an array of content blocks, not ${kindOf(content)}`)
  return content.map((block, index) => {
    const at = `${path}.${index}`
    if (!isObject(block)) throw rejected(at, `must be an object, not ${kindOf(block)}`)
    return [block, at]
  })
}

export function readText({ text }: Fields, path: string): string {
  if (typeof text !== 'string') throw rejected(`${path}.text`, `must be a string, not ${kindOf(text)}`)
  return text
}

/**
 * A user message: first the results in it, then everything else as a message of the user. `toolName`
 * finds the name of a tool by the id of the call, since results do not repeat it.
 */
export function readUser(
  content: unknown,
  path: string,
  toolName: (callId: string, path: string) => string,
): Message[] {
  const results: ToolMessage[] = []
  const parts: UserPart[] = []
  for (const [block, at] of readBlocks(content, path)) {
    if (block.type !== 'tool_result') {
      parts.push(...readUserBlock(block, at))
      continue
    }
    const { tool_use_id: callId, is_error: isError } = block
    if (typeof callId !== 'string' || !callId)
      throw rejected(`${at}.tool_use_id`, `must be the id of a call, not ${nameOf(callId)}`)
    const read = block.content == null ? [] : readBlocks(block.content, `${at}.content`)
    const output = read.flatMap(([one, place]) => readUserBlock(one, place))
    results.push({
      role: 'tool',
      callId,
      name: toolName(callId, at),
      content: output.filter(isResultPart),
      ...(isError === true && { isError }),
    })
    // A result has no files. The model gets them in a message after it.
    parts.push(...output.filter((part) => part.type === 'file'))
  }
  const [first] = parts
  if (first?.type === 'text' && parts.length === 1) return [...results, { role: 'user', content: first.text }]
  if (parts.length > 0) return [...results, { role: 'user', content: parts }]
  if (results.length === 0) throw rejected(path, 'user messages must have non-empty content')
  return results
}

function isResultPart(part: UserPart): part is Exclude<UserPart, FilePart> & ToolResultPart {
  return part.type !== 'file'
}

function readUserBlock(block: Fields, path: string): UserPart[] {
  switch (block.type) {
    case 'text': {
      const text = readText(block, path)
      return text ? [{ type: 'text', text }] : []
    }
    case 'image':
      return [readImage(block, path)]
    case 'document':
      return readDocument(block, path)
    case 'search_result': {
      const texts = readBlocks(block.content, `${path}.content`).map(([one, at]) => readText(one, at))
      return [{ type: 'text', text: [block.title, block.source, ...texts].filter(Boolean).join('\n') }]
    }
    // Names a tool that the client's tool search has found. The tools themselves are in the request.
    case 'tool_reference':
      return []
  }
  throw rejected(
    `${path}.type`,
    `must be 'text', 'image', 'document', 'search_result' or 'tool_result', not ${nameOf(block.type)}`,
  )
}

function readImage({ source }: Fields, path: string): ImagePart {
  const { type, url, data, media_type: mediaType } = isObject(source) ? source : {}
  if (type === 'url' && typeof url === 'string') return { type: 'image', url }
  if (type === 'base64' && typeof data === 'string' && typeof mediaType === 'string')
    return { type: 'image', data, mediaType }
  throw rejected(`${path}.source`, 'must be { type: "base64", media_type, data } or { type: "url", url }')
}

function readDocument({ source, title }: Fields, path: string): UserPart[] {
  const { type, url, data, content, media_type: given } = isObject(source) ? source : {}
  if (type === 'content')
    return readBlocks(content, `${path}.source.content`).flatMap(([one, at]) => readUserBlock(one, at))
  const named = typeof title === 'string' && title ? { name: title } : {}
  const mediaType = typeof given === 'string' ? given : type === 'text' ? 'text/plain' : 'application/pdf'
  if (type === 'url' && typeof url === 'string') return [{ type: 'file', mediaType, url, ...named }]
  if (type === 'base64' && typeof data === 'string') return [{ type: 'file', mediaType, data, ...named }]
  if (type === 'text' && typeof data === 'string')
    return [{ type: 'file', mediaType, data: Buffer.from(data).toString('base64'), ...named }]
  const forms = 'type: "base64", "url", "text" or "content"'
  throw rejected(`${path}.source`, `must have ${forms}: no files are stored here`)
}

/** Thinking, and what the server's tools did, is in the log. */
export function readAssistant(content: unknown, path: string): AssistantPart[] {
  return readBlocks(content, path).flatMap(([block, at]): AssistantPart[] => {
    if (block.type === 'text') {
      const text = readText(block, at)
      return text ? [{ type: 'text', text }] : []
    }
    if (block.type !== 'tool_use') return []
    const { id, name, input } = block
    if (typeof id !== 'string' || !id || typeof name !== 'string' || !name)
      throw rejected(at, "must be { type: 'tool_use', id, name, input }")
    return [
      { type: 'tool-call', callId: id, name, input: isJsonObject(input as never) ? (input as never) : {} },
    ]
  })
}
