import type { JsonObject, JsonValue } from 'millrace'
import {
  badRequest,
  formatError,
  missing,
  nameError,
  tooLong,
  toolsError,
  wrongType,
  wrongValue,
} from './check-openai.ts'
import type { Failure } from './failures.ts'
import { isJsonObject } from './json-object.ts'

const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

/** The error of Chat Completions for this request, if any. */
export function chatError(body: JsonObject): Failure | undefined {
  if (typeof body.model !== 'string' || body.model === '')
    return badRequest('you must provide a model parameter')
  const { messages } = body
  if (messages === undefined) return missing('messages')
  if (!Array.isArray(messages)) return wrongType('messages', 'an array of objects', messages)
  if (messages.length === 0)
    return badRequest(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      'messages',
      'empty_array',
    )
  const { json_schema: format } = isJsonObject(body.response_format) ? body.response_format : {}
  return (
    toolsError(body, '.function') ??
    formatError(format, { param: 'response_format' }) ??
    messagesError(messages)
  )
}

function messagesError(messages: readonly JsonValue[]): Failure | undefined {
  /** Tool calls without results, and the index of their message. */
  let due = new Set<string>()
  let callIndex = 0
  const unanswered = () =>
    badRequest(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...due].join(', ')}`,
      `messages.[${callIndex + 1}].role`,
    )

  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (!isJsonObject(message)) return wrongType(at, 'an object', message)
    const { role, content } = message
    if (role === undefined) return missing(`${at}.role`)
    if (typeof role !== 'string' || !roles.includes(role)) return wrongValue(`${at}.role`, role, roles)
    if (role === 'tool') {
      const { tool_call_id: id } = message
      if (typeof id !== 'string') return missing(`${at}.tool_call_id`)
      if (!due.delete(id)) return unexpectedResult(index)
      continue
    }
    if (due.size > 0) return unanswered()
    const error = contentError(message, at)
    if (error) return error
    if (role !== 'assistant' || message.tool_calls === undefined) {
      if (content === undefined) return missing(`${at}.content`)
      continue
    }
    const calls = callIds(message.tool_calls, `${at}.tool_calls`)
    if (!Array.isArray(calls)) return calls
    due = new Set(calls)
    callIndex = index
    if (due.size < calls.length)
      return badRequest(`Duplicate value for 'tool_call_id' in message ${index}`, at)
  }
  return due.size > 0 ? unanswered() : undefined
}

const unexpectedResult = (index: number) =>
  badRequest(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    `messages.[${index}].role`,
  )

function contentError({ role, content, tool_calls: calls }: JsonObject, at: string): Failure | undefined {
  if (content === null) {
    if (role === 'assistant' && calls !== undefined) return undefined
    // A refusal or a legacy function call may have no content either, but clients do not send
    // those.
    return badRequest(`Invalid value for 'content': expected a string, got null.`, `${at}.content`)
  }
  if (content === undefined || typeof content === 'string') return undefined
  if (!Array.isArray(content))
    return wrongType(`${at}.content`, 'one of a string or array of objects', content)
  const types = ['text', 'image_url', 'input_audio', 'refusal', 'audio', 'file']
  const wrong = content.findIndex((part) => !isJsonObject(part) || !types.includes(String(part.type)))
  const part = content[wrong]
  return wrong < 0
    ? undefined
    : wrongValue(`${at}.content[${wrong}].type`, isJsonObject(part) ? part.type : part, types)
}

function callIds(calls: JsonValue, at: string): string[] | Failure {
  if (!Array.isArray(calls)) return wrongType(at, 'an array of objects', calls)
  if (calls.length === 0)
    return badRequest(
      `Invalid '${at}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      at,
      'empty_array',
    )
  const ids: string[] = []
  for (const [index, call] of calls.entries()) {
    const { id, function: fn, type } = isJsonObject(call) ? call : {}
    if (typeof id !== 'string') return missing(`${at}[${index}].id`)
    if (type === undefined) return missing(`${at}[${index}].type`)
    const long = tooLong(`${at}[${index}].id`, id, 40)
    if (long) return long
    if (!isJsonObject(fn) || typeof fn.name !== 'string') return missing(`${at}[${index}].function.name`)
    const error = nameError(`${at}[${index}].function.name`, fn.name)
    if (error) return error
    if (typeof fn.arguments !== 'string')
      return wrongType(`${at}[${index}].function.arguments`, 'a string', fn.arguments)
    ids.push(id)
  }
  return ids
}
