import { isObject } from '../../protocol/index.ts'

type Fields = Record<string, unknown>

/**
 * OpenRouter streams `reasoning_details` in pieces, which must be sent back whole: texts with the
 * same index are joined, and later fields (a signature, an id) are added.
 */
export function mergeDetails(details: Fields[], more: readonly unknown[]): void {
  for (const piece of more) {
    if (!isObject(piece)) continue
    const known = (one: Fields) => one.index === piece.index && one.type === piece.type
    const at = piece.index === undefined ? -1 : details.findIndex(known)
    const before = details[at]
    if (before) details[at] = join(before, piece)
    else details.push(piece)
  }
}

function join(before: Fields, piece: Fields): Fields {
  const joined: Fields = { ...before }
  for (const [key, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue
    const grows = key === 'text' || key === 'summary' || key === 'data'
    joined[key] = grows && typeof joined[key] === 'string' ? `${joined[key]}${value}` : value
  }
  return joined
}
