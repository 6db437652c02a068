import type { JsonObject, JsonValue } from 'millrace'
import {
  formatFlaw,
  missing,
  nameFlaw,
  refusal,
  tooLong,
  toolsFlaw,
  wrongType,
  wrongValue,
} from './check-openai.ts'
import type { Failure } from './failures.ts'
import { isJsonObject } from './json-object.ts'
import type { Ledger } from './ledger.ts'

const roles = ['assistant', 'system', 'developer', 'user']

/** Why Responses would not take this. */
export function responsesFlaw(body: JsonObject, known: Ledger): Failure | undefined {
  const { model, input } = body
  if (typeof model !== 'string' || model === '') return missing('model')
  if (body.background === true && body.store === false)
    return refusal('Background responses require `store` to be true.', 'store', 'invalid_value')
  const { format } = isJsonObject(body.text) ? body.text : {}
  const flaw =
    toolsFlaw(body, '') ?? formatFlaw(format, { param: 'text.format.schema', code: 'invalid_json_schema' })
  if (flaw) return flaw
  if (typeof input === 'string') return undefined
  // What a stored response or conversation goes on from may be all there is.
  if (input === undefined) return body.previous_response_id === undefined ? missing('input') : undefined
  if (!Array.isArray(input)) return wrongType('input', 'one of a string or array of input items', input)
  const items: JsonObject[] = []
  for (const [index, given] of input.entries()) {
    if (!isJsonObject(given)) return wrongType(`input[${index}]`, 'an object', given)
    const item: JsonObject | undefined = given.type === 'item_reference' ? recall(given, body, known) : given
    if (!item) return absent(given.id, body)
    const flaw = itemFlaw(item, `input[${index}]`, body, known)
    if (flaw) return flaw
    items.push(item)
  }
  return (
    thoughtFlaw(items, known) ?? (body.previous_response_id === undefined ? pairingFlaw(items) : undefined)
  )
}

/** What was stored can be named instead of sent. */
const recall = ({ id }: JsonObject, { store }: JsonObject, known: Ledger) =>
  store === false ? undefined : known.item(String(id))

function itemFlaw(item: JsonObject, at: string, body: JsonObject, known: Ledger): Failure | undefined {
  const { type = 'message' } = item
  switch (type) {
    case 'message':
      if (item.role === undefined) return missing(`${at}.role`)
      if (!roles.includes(String(item.role))) return wrongValue(`${at}.role`, item.role, roles)
      return item.content === undefined ? missing(`${at}.content`) : contentFlaw(item, `${at}.content`)
    case 'function_call':
      return callFlaw(item, at)
    case 'function_call_output':
      if (item.output === undefined) return missing(`${at}.output`)
      return typeof item.call_id === 'string'
        ? tooLong(`${at}.call_id`, item.call_id, 64)
        : missing(`${at}.call_id`)
    case 'reasoning':
      return reasoningFlaw(item, at, body, known)
    default:
      return typeof type === 'string' ? undefined : wrongType(`${at}.type`, 'a string', type)
  }
}

const partTypes: Record<string, readonly string[]> = {
  assistant: ['output_text', 'refusal'],
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
}

function contentFlaw({ role, content }: JsonObject, at: string): Failure | undefined {
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return wrongType(at, 'one of an array of objects or string', content ?? null)
  const types = partTypes[String(role)] ?? partTypes.user ?? []
  for (const [index, part] of content.entries()) {
    const type: JsonValue | undefined = isJsonObject(part) ? part.type : part
    if (!types.includes(String(type))) return wrongValue(`${at}[${index}].type`, type, types)
  }
  return undefined
}

function callFlaw(item: JsonObject, at: string): Failure | undefined {
  const { id, call_id: callId, name } = item
  if (typeof callId !== 'string') return missing(`${at}.call_id`)
  if (typeof name !== 'string') return missing(`${at}.name`)
  if (typeof item.arguments !== 'string') return missing(`${at}.arguments`)
  const flaw = tooLong(`${at}.call_id`, callId, 64) ?? nameFlaw(`${at}.name`, name)
  if (flaw) return flaw
  if (typeof id === 'string' && !id.startsWith('fc'))
    return refusal(
      `Invalid '${at}.id': '${id}'. Expected an ID that begins with 'fc'.`,
      `${at}.id`,
      'invalid_value',
    )
  return undefined
}

/** A thought comes back by its id while the provider keeps it, and else with its encrypted content, unchanged. */
function reasoningFlaw(item: JsonObject, at: string, body: JsonObject, known: Ledger): Failure | undefined {
  const { id, encrypted_content: encrypted, summary } = item
  if (!Array.isArray(summary)) return missing(`${at}.summary`)
  if (typeof encrypted === 'string') {
    const text = summary.map((part) => (isJsonObject(part) ? String(part.text) : '')).join('')
    if (known.encrypted({ ...(typeof id === 'string' && { id }), text, encrypted })) return undefined
    const shown = `${encrypted.slice(0, 4)}...${encrypted.slice(-4)}`
    const message = `The encrypted content ${shown} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
    return refusal(message, undefined, 'invalid_encrypted_content')
  }
  if (typeof id !== 'string') return missing(`${at}.id`)
  if (body.store !== false && known.reasoning(id)) return undefined
  return absent(id, body)
}

function absent(id: JsonValue | undefined, { store }: JsonObject): Failure {
  const hint =
    store === false
      ? ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.'
      : ''
  return { ...refusal(`Item with id '${id}' not found.${hint}`, 'input'), status: 404 }
}

/** A thought stands before what came of it, and what came of a thought (known by the item's id) does not stand alone. */
function thoughtFlaw(items: readonly JsonObject[], known: Ledger): Failure | undefined {
  for (const [index, { id, type }] of items.entries()) {
    const next = items[index + 1]
    const followed = next && next.role !== 'user' && next.type !== 'function_call_output'
    if (type === 'reasoning' && !followed)
      return refusal(
        `Item '${id}' of type 'reasoning' was provided without its required following item.`,
        'input',
      )
    const thought = type === 'function_call' && typeof id === 'string' ? known.reasonBefore(id) : undefined
    if (thought && !items.some((item) => item.type === 'reasoning' && item.id === thought))
      return refusal(
        `Item '${id}' of type 'function_call' was provided without its required 'reasoning' item: '${thought}'.`,
        'input',
      )
  }
  return undefined
}

/** Every call has its output and every output its call, in this order; what is named twice is refused. */
function pairingFlaw(items: readonly JsonObject[]): Failure | undefined {
  const open = new Set<string>()
  for (const { type, call_id: callId } of items) {
    const id = String(callId)
    if (type === 'function_call') {
      if (open.has(id)) return refusal(`Duplicate item found with id ${id}.`, 'input')
      open.add(id)
    }
    if (type === 'function_call_output' && !open.delete(id))
      return refusal(`No tool call found for function call output with call_id ${id}.`, 'input')
  }
  const [unanswered] = open
  return unanswered === undefined
    ? undefined
    : refusal(`No tool output found for function call ${unanswered}.`, 'input')
}
