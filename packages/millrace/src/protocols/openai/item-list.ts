import type { JsonObject } from '../../protocol/index.ts'
import { rejected } from './errors.ts'

const defaultLimit = 20
const maxLimit = 100

/** A page of items, as the query of a request asks for it. The newest come first unless `order=asc`. */
export function listItems(items: readonly JsonObject[], { url }: Request) {
  const query = new URL(url).searchParams
  const limit = Number(query.get('limit') ?? defaultLimit)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw rejected('limit', `'limit' must be an integer from 1 to ${maxLimit}.`)
  const ordered = query.get('order') === 'asc' ? items : items.toReversed()
  const after = query.get('after')
  const at = after === null ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== null && at < 0) throw rejected('after', `There is no item with the id '${after}'.`)
  const data = ordered.slice(at + 1, at + 1 + limit)
  return {
    object: 'list',
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: at + 1 + limit < ordered.length,
  }
}
