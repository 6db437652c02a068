import { createHash } from 'node:crypto'
import { isObject, replaceInvisible } from 'millrace/internal'
import type { ServerTool } from './sdk.ts'

/**
 * Removes characters that people cannot see but models read: Unicode tags, zero-width characters,
 * direction marks. Calls `onRemoved` with them, if there are any.
 */
export function cleaned<T>(value: T, onRemoved: (characters: readonly string[]) => void): T {
  const removed: string[] = []
  const clean = (text: string) =>
    replaceInvisible(text, (character) => {
      if (/[\t\n\r\p{Zs}]/u.test(character)) return character
      removed.push(character)
      return ''
    })
  const result = mapTexts(value, clean) as T
  if (removed.length > 0) onRemoved(removed)
  return result
}

/** Includes keys: a model reads property names too. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [map(key), mapTexts(item, map)]))
}

/** `12 invisible characters (U+200B, U+E0041)`: each code once, at most eight. */
export function describeCharacters(characters: readonly string[]): string {
  const codes = [...new Set(characters)].map(
    (character) => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`,
  )
  const listed = codes.length > 8 ? `${codes.slice(0, 8).join(', ')} …` : codes.join(', ')
  return `${characters.length} invisible characters (${listed})`
}

/**
 * Identifies a tool by its description, independent of key order. 132 bits, since a server could search
 * for two descriptions with the same fingerprint.
 */
export function fingerprintOf({ name, title, description, annotations, inputSchema }: ServerTool): string {
  const text = JSON.stringify([name, title, description, annotations, inputSchema], (_, value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  )
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
