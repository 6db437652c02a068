import { isObject } from '../../protocol/index.ts'

type Fields = Record<string, unknown>

/**
 * OpenRouter's `reasoning_details` come in pieces like everything else, and must go back whole: the texts of one index are
 * joined, whatever else comes later (a signature, an id) is added.
 */
export function mergeDetails(details: readonly Fields[], more: readonly unknown[]): Fields[] {
  const merged = [...details]
  for (const piece of more) {
    if (!isObject(piece)) continue
    const at = merged.findIndex(({ index, type }) => index === piece.index && type === piece.type)
    const before = merged[at]
    if (!before || piece.index === undefined) merged.push(piece)
    else merged[at] = join(before, piece)
  }
  return merged
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
