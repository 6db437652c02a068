import type { JsonObject } from '../../protocol/index.ts'
import { isMillraceError, isObject } from '../../protocol/index.ts'
import { rejected } from './errors.ts'
import type { ResponsePlace } from './response-ids.ts'
import { readItemId } from './response-ids.ts'

/** What a conversation is recognized by. The log has everything else. */
const isNeeded = /^(msg|fc)_/

/**
 * The body of a request with the items that its `input` refers to: the AI SDK sends references for
 * everything that the server has stored. Throws 400 for an item that does not exist.
 */
export async function withReferences(
  body: unknown,
  outputOf: (place: ResponsePlace) => Promise<readonly JsonObject[]>,
): Promise<unknown> {
  if (!isObject(body) || !Array.isArray(body.input)) return body
  const outputs = new Map<string, readonly JsonObject[]>()

  async function find(id: string, param: string): Promise<JsonObject> {
    const place = readItemId(id)
    const key = place ? `${place.threadId} ${place.start}` : ''
    const output = outputs.get(key) ?? (place ? await outputOf(place).catch(noOutput) : [])
    outputs.set(key, output)
    const item = output.find((item) => item.id === id)
    if (!item) throw rejected(param, `Item with id '${id}' not found.`)
    return item
  }

  const input: unknown[] = []
  for (const [index, item] of body.input.entries()) {
    const { type, id } = isObject(item) ? item : {}
    const isReference = type === 'item_reference' && typeof id === 'string' && isNeeded.test(id)
    input.push(isReference ? await find(id, `input[${index}].id`) : item)
  }
  return { ...body, input }
}

function noOutput(error: unknown): readonly JsonObject[] {
  if (isMillraceError(error) && error.code === 'not_found') return []
  throw error
}
