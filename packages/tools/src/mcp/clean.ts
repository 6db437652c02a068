import { createHash } from 'node:crypto'
import { isObject, replaceUnseen } from 'millrace/internal'
import type { ServerTool } from './sdk.ts'

/**
 * What a server says, without the characters that people do not see and a model reads all the same: tags, zero width characters,
 * marks that turn the direction of text. `onRemoved` is called with them, if there were any.
 */
export function cleaned<T>(value: T, onRemoved: (characters: readonly string[]) => void): T {
  const removed: string[] = []
  const clean = (text: string) =>
    replaceUnseen(text, (character) => {
      if (/[\t\n\r\p{Zs}]/u.test(character)) return character
      removed.push(character)
      return ''
    })
  const result = mapTexts(value, clean) as T
  if (removed.length > 0) onRemoved(removed)
  return result
}

/** In keys too: a model reads the names of properties. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [map(key), mapTexts(item, map)]))
}

/** `12 invisible characters (U+200B, U+E0041)`: each code once, and of many the first. */
export function counted(characters: readonly string[]): string {
  const codes = [...new Set(characters)].map(
    (character) => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`,
  )
  const listed = codes.length > 8 ? `${codes.slice(0, 8).join(', ')} …` : codes.join(', ')
  return `${characters.length} invisible characters (${listed})`
}

/**
 * The same for every tool that is described in the same way, in whatever order its keys are. It has 132 bits, since a server could
 * look for two descriptions with the same one.
 */
export function fingerprintOf({ name, title, description, annotations, inputSchema }: ServerTool): string {
  const text = JSON.stringify([name, title, description, annotations, inputSchema], (_, value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  )
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
