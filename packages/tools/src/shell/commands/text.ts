import { replaceUnseen } from 'millrace/internal'
import type { PlainWord } from './plain-line.ts'

// Not at the beginning: `~` (a home) and `#` (a comment). `{}` stands for itself.
const needsNoQuotes = /^(?:(?:[\w@%+=:,./^\]!-]|\{\})(?:[\w@%+=:,./^\]!~#-]|\{\})*|\[)$/

/** Words as rules and people read them: with a space between, each without the quotes it does not need. */
export function textOf(words: readonly PlainWord[]): string {
  return words.map(({ value, glob, home }) => (glob === undefined && !home ? quoted(value) : value)).join(' ')
}

export function quoted(value: string): string {
  if (needsNoQuotes.test(value)) return value
  const shown = replaceUnseen(value.replace(/[\\']/g, String.raw`\$&`), escapeOf)
  const hasUnseen = replaceUnseen(value, () => '') !== value
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
