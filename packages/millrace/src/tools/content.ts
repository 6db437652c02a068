import type { ToolResultPart } from '../protocol/index.ts'
import { checkMessages, contentParts, messageOf, toJson } from '../protocol/index.ts'

/** Converts a tool's return value to parts. Throws if it is not text, JSON or `toolContent()`. */
export function toParts(value: unknown): readonly ToolResultPart[] {
  // Some providers reject an empty result.
  if (value === undefined || value === '') return [{ type: 'text', text: '(no output)' }]
  if (typeof value === 'string') return [{ type: 'text', text: value }]
  const content = contentParts(value)
  if (content) {
    const [checked] = checkMessages([{ role: 'tool', callId: '', name: '', content }], 'tool.run')
    return checked?.content as readonly ToolResultPart[]
  }
  if (!hasJson(value))
    throw new TypeError(
      `the tool returned ${describe(value)}, which has no JSON form: return text, plain data or toolContent(…)`,
    )
  try {
    return [{ type: 'json', value: toJson(value) }]
  } catch (error) {
    throw new TypeError(`the tool returned something that cannot be serialized as JSON: ${messageOf(error)}`)
  }
}

/**
 * False for values that JSON.stringify silently empties (a Map, an Error, a function) or bloats
 * (bytes).
 */
function hasJson(value: unknown): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true
  if (ArrayBuffer.isView(value) || Symbol.asyncIterator in value) return false
  if ('toJSON' in value) return true
  if (value instanceof Error) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.keys(value).length > 0
}

function describe(value: unknown): string {
  const name = typeof value === 'object' && value?.constructor?.name
  return name ? `a value of class ${name}` : `a ${typeof value}`
}

/**
 * Truncates parts for a model: text and JSON share `limit` characters, each cut in the middle.
 * Returns the same array if nothing is cut.
 */
export function cutParts(parts: readonly ToolResultPart[], limit: number): readonly ToolResultPart[] {
  const written = parts.map((part) =>
    part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : undefined,
  )
  const lengths = written.map((text) => text?.length ?? 0)
  if (lengths.reduce((sum, length) => sum + length, 0) <= limit) return parts
  const share = fairShare(
    lengths.filter((length) => length > 0),
    limit,
  )
  return parts.map((part, index) => {
    const text = written[index]
    if (text === undefined || text.length <= share) return part
    // Opaque data must go back to the provider unchanged.
    const opaque = part.type === 'text' && part.opaque ? { opaque: part.opaque } : undefined
    return { type: 'text', text: cutMiddle(text, share), ...opaque }
  })
}

/**
 * The maximum length of each part, so that all parts together fit the limit and short ones are not
 * cut.
 */
function fairShare(lengths: readonly number[], limit: number): number {
  let [left, count] = [limit, lengths.length]
  for (const length of lengths.toSorted((a, b) => a - b)) {
    if (length > left / count) break
    left -= length
    count--
  }
  return Math.floor(left / Math.max(1, count))
}

function cutMiddle(text: string, limit: number): string {
  const half = Math.floor(limit / 2)
  // A cut never falls between the two halves of a surrogate pair.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '')
  const tail = half > 0 ? text.slice(-half).replace(/^[\uDC00-\uDFFF]/, '') : ''
  const left = text.length - head.length - tail.length
  const cut = `${head}\n[… ${left} of ${text.length} characters left out here …]\n${tail}`
  // Flattens the string: V8 keeps slices as references into the whole text, which would stay in
  // memory.
  cut.charCodeAt(0)
  return cut
}
