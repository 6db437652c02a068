import { isObject } from '../../protocol/index.ts'

type Fields = Record<string, unknown>

/**
 * OpenRouter's `reasoning_details` come in pieces like everything else, and must go back whole: the texts of one index are
 * joined, whatever else comes later (a signature, an id) is added.
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
