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
import type { IssuedTokens } from './issued-tokens.ts'
import { isJsonObject } from './json-object.ts'

const roles = ['assistant', 'system', 'developer', 'user']

/** The error of Responses for this request, if any. */
export function responsesError(body: JsonObject, issued: IssuedTokens): Failure | undefined {
  const { model, input } = body
  if (typeof model !== 'string' || model === '') return missing('model')
  if (body.background === true && body.store === false)
    return badRequest('Background responses require `store` to be true.', 'store', 'invalid_value')
  const { format } = isJsonObject(body.text) ? body.text : {}
  const error =
    toolsError(body, '') ?? formatError(format, { param: 'text.format.schema', code: 'invalid_json_schema' })
  if (error) return error
  if (typeof input === 'string') return undefined
  // With `previous_response_id`, input is optional.
  if (input === undefined) return body.previous_response_id === undefined ? missing('input') : undefined
  if (!Array.isArray(input)) return wrongType('input', 'one of a string or array of input items', input)
  const items: JsonObject[] = []
  for (const [index, entry] of input.entries()) {
    if (!isJsonObject(entry)) return wrongType(`input[${index}]`, 'an object', entry)
    const item: JsonObject | undefined =
      entry.type === 'item_reference' ? referencedItem(entry, body, issued) : entry
    if (!item) return itemNotFound(entry.id, body)
    const error = itemError(item, `input[${index}]`, body, issued)
    if (error) return error
    items.push(item)
  }
  return (
    reasoningOrderError(items, issued) ??
    (body.previous_response_id === undefined ? pairingError(items) : undefined)
  )
}

/** A stored item can be referenced by its id. */
const referencedItem = ({ id }: JsonObject, { store }: JsonObject, issued: IssuedTokens) =>
  store === false ? undefined : issued.item(String(id))

function itemError(
  item: JsonObject,
  at: string,
  body: JsonObject,
  issued: IssuedTokens,
): Failure | undefined {
  const { type = 'message' } = item
  switch (type) {
    case 'message':
      if (item.role === undefined) return missing(`${at}.role`)
      if (!roles.includes(String(item.role))) return wrongValue(`${at}.role`, item.role, roles)
      return item.content === undefined ? missing(`${at}.content`) : contentError(item, `${at}.content`)
    case 'function_call':
      return callError(item, at)
    case 'function_call_output':
      if (item.output === undefined) return missing(`${at}.output`)
      return typeof item.call_id === 'string'
        ? tooLong(`${at}.call_id`, item.call_id, 64)
        : missing(`${at}.call_id`)
    case 'reasoning':
      return reasoningError(item, at, body, issued)
    default:
      return typeof type === 'string' ? undefined : wrongType(`${at}.type`, 'a string', type)
  }
}

const partTypes: Record<string, readonly string[]> = {
  assistant: ['output_text', 'refusal'],
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
}

function contentError({ role, content }: JsonObject, at: string): Failure | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(at, 'one of an array of objects or string', content ?? null)
  const types = partTypes[String(role)] ?? partTypes.user ?? []
  for (const [index, part] of content.entries()) {
    const type: JsonValue | undefined = isJsonObject(part) ? part.type : part
    if (!types.includes(String(type))) return wrongValue(`${at}[${index}].type`, type, types)
  }
  return undefined
}

function callError(item: JsonObject, at: string): Failure | undefined {
  const { id, call_id: callId, name } = item
  if (typeof callId !== 'string') return missing(`${at}.call_id`)
  if (typeof name !== 'string') return missing(`${at}.name`)
  if (typeof item.arguments !== 'string') return missing(`${at}.arguments`)
  const error = tooLong(`${at}.call_id`, callId, 64) ?? nameError(`${at}.name`, name)
  if (error) return error
  if (typeof id === 'string' && !id.startsWith('fc'))
    return badRequest(
      `Invalid '${at}.id': '${id}'. Expected an ID that begins with 'fc'.`,
      `${at}.id`,
      'invalid_value',
    )
  return undefined
}

/** Reasoning is sent back by id if it is stored, or else with its encrypted content unchanged. */
function reasoningError(
  item: JsonObject,
  at: string,
  body: JsonObject,
  issued: IssuedTokens,
): Failure | undefined {
  const { id, encrypted_content: encrypted, summary } = item
  if (!Array.isArray(summary)) return missing(`${at}.summary`)
  if (typeof encrypted === 'string') {
    const text = summary.map((part) => (isJsonObject(part) ? String(part.text) : '')).join('')
    if (issued.encrypted({ ...(typeof id === 'string' && { id }), text, encrypted })) return undefined
    const shown = `${encrypted.slice(0, 4)}...${encrypted.slice(-4)}`
    const message = `The encrypted content ${shown} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
    return badRequest(message, undefined, 'invalid_encrypted_content')
  }
  if (typeof id !== 'string') return missing(`${at}.id`)
  if (body.store !== false && issued.reasoning(id)) return undefined
  return itemNotFound(id, body)
}

function itemNotFound(id: JsonValue | undefined, { store }: JsonObject): Failure {
  const hint =
    store === false
      ? ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.'
      : ''
  return { ...badRequest(`Item with id '${id}' not found.${hint}`, 'input'), status: 404 }
}

/**
 * Reasoning must be followed by its output, and a tool call with an item id must follow its
 * reasoning.
 */
function reasoningOrderError(items: readonly JsonObject[], issued: IssuedTokens): Failure | undefined {
  for (const [index, { id, type }] of items.entries()) {
    const next = items[index + 1]
    const followed = next && next.role !== 'user' && next.type !== 'function_call_output'
    if (type === 'reasoning' && !followed)
      return badRequest(
        `Item '${id}' of type 'reasoning' was provided without its required following item.`,
        'input',
      )
    const reasoningId =
      type === 'function_call' && typeof id === 'string' ? issued.reasoningBefore(id) : undefined
    if (reasoningId && !items.some((item) => item.type === 'reasoning' && item.id === reasoningId))
      return badRequest(
        `Item '${id}' of type 'function_call' was provided without its required 'reasoning' item: '${reasoningId}'.`,
        'input',
      )
  }
  return undefined
}

/**
 * Every tool call needs an output after it, every output a call before it, and ids must be unique.
 */
function pairingError(items: readonly JsonObject[]): Failure | undefined {
  const open = new Set<string>()
  for (const { type, call_id: callId } of items) {
    const id = String(callId)
    if (type === 'function_call') {
      if (open.has(id)) return badRequest(`Duplicate item found with id ${id}.`, 'input')
      open.add(id)
    }
    if (type === 'function_call_output' && !open.delete(id))
      return badRequest(`No tool call found for function call output with call_id ${id}.`, 'input')
  }
  const [unanswered] = open
  return unanswered === undefined
    ? undefined
    : badRequest(`No tool output found for function call ${unanswered}.`, 'input')
}
