import { replaceInvisible } from 'millrace/internal'
import type { PlainWord } from './plain-line.ts'

// `~` (home) and `#` (comment) need quotes at the start. `{}` is literal.
const needsNoQuotes = /^(?:(?:[\w@%+=:,./^\]!-]|\{\})(?:[\w@%+=:,./^\]!~#-]|\{\})*|\[)$/

/** Words as rules and people read them: separated by spaces, quoted only where needed. */
export function textOf(words: readonly PlainWord[]): string {
  return words.map(({ value, glob, home }) => (glob === undefined && !home ? quoted(value) : value)).join(' ')
}

export function quoted(value: string): string {
  if (needsNoQuotes.test(value)) return value
  const shown = replaceInvisible(value.replace(/[\\']/g, String.raw`\$&`), escapeOf)
  const hasUnseen = replaceInvisible(value, () => '') !== value
  return hasUnseen ? `$'${shown}'` : `'${value.replaceAll("'", String.raw`'\''`)}'`
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return (
    shortEscapes[character] ?? (code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`)
  )
}
