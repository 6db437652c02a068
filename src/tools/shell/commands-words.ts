import type { Word, WordPart } from 'unbash'

/** One word of a command, as far as it can be known before it runs. */
export interface ShellWord {
  /** For rules and people: without needless quotes, or as written if it has an expansion. */
  readonly text: string
  /** What the command gets; undefined if that is known only when it runs. */
  readonly value: string | undefined
  /** The part at its beginning that is known. */
  readonly start: string
  /** May become several words, or none, that begin in any way: `$x` without quotes. */
  readonly splits: boolean
  /** May become several words, or none, all with the same beginning: `a*`, `{a,b}`; or any that splits. */
  readonly many: boolean
  /** What it comes to is not in the line: `"$x"`, not `a*`, which is what it says. */
  readonly varies?: boolean
  /** What follows the `~` of one's own home, if the rest is known. */
  readonly home?: string
  /** What the shell looks for on the disk: `*`, `?` and `{a,b}`, with a `\\` before what means itself. */
  readonly glob?: string
}

export function literalWord(value: string): ShellWord {
  return { text: quoted(value), value, start: value, splits: false, many: false }
}

/** A word that another program fills in: `{}` of find, the lines that xargs reads. */
export function filledWord(text: string, splits: boolean): ShellWord {
  return { text, value: undefined, start: '', splits, many: splits, varies: true }
}

/** Whether it cannot turn out to be an option that is not seen here. */
export function showsOptions(word: ShellWord): boolean {
  return word.value !== undefined || (!word.splits && word.start !== '' && !word.start.startsWith('-'))
}

/** The words that a program may take for options: those before `--`. */
export function beforeDashes(words: readonly ShellWord[]): readonly ShellWord[] {
  const end = words.findIndex(({ value }) => value === '--')
  return end < 0 ? words : words.slice(0, end)
}

export function textOf(words: readonly ShellWord[]): string {
  return words.map(({ text }) => text).join(' ')
}

/** The words' values, or undefined if one is not known. */
export function valuesOf(words: readonly ShellWord[]): readonly string[] | undefined {
  const values = words.flatMap(({ value }) => (value === undefined ? [] : [value]))
  return values.length === words.length ? values : undefined
}

export function readWord(word: Word): ShellWord {
  const parts = word.parts ?? [{ type: 'Literal', value: word.value, text: word.text }]
  let start = ''
  let known = true
  let splits = false
  let many = false
  let varies = false
  for (const part of parts) {
    const value = knownValue(part)
    if (value === undefined) {
      known = false
      splits ||= partSplits(part)
      const listed = part.type === 'Glob' || part.type === 'BraceExpansion' || part.type === 'ExtendedGlob'
      many ||= listed
      varies ||= !listed || /[$`]/.test(part.text)
    } else if (known) start += value
  }
  many ||= splits
  if (!word.text.startsWith('~')) {
    if (known) return literalWord(start)
    const glob = globOf(parts)
    return {
      text: asWritten(word.text),
      value: undefined,
      start,
      splits,
      many,
      varies,
      ...(glob !== undefined && { glob }),
    }
  }
  // A tilde is a folder of this machine, and `~+` or HOME=x make it any text at all.
  const home = known && (start === '~' || start.startsWith('~/')) ? { home: start.slice(1) } : undefined
  return { text: asWritten(word.text), value: undefined, start: '', splits, many, varies, ...home }
}

type Part = WordPart | { readonly type: 'Literal'; readonly value: string; readonly text: string }

function knownValue(part: Part): string | undefined {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value
    case 'DoubleQuoted': {
      const values = part.parts.map((child) => (child.type === 'Literal' ? child.value : undefined))
      return values.includes(undefined) ? undefined : values.join('')
    }
    default:
      return undefined
  }
}

/** Sets such as `[a-c]` mean something else in every locale. */
function globOf(parts: readonly Part[]): string | undefined {
  const pieces = parts.map((part) => {
    if (part.type === 'Glob') return part.kind === 'bracket' ? undefined : part.text
    if (part.type === 'BraceExpansion') return /^[\w.,/*?{}@%+-]+$/.test(part.text) ? part.text : undefined
    return knownValue(part)?.replace(/[^\p{L}\p{N}]/gu, String.raw`\$&`)
  })
  return pieces.includes(undefined) ? undefined : pieces.join('')
}

function partSplits(part: Part): boolean {
  switch (part.type) {
    case 'SimpleExpansion':
    case 'ParameterExpansion':
    case 'CommandExpansion':
    case 'ArithmeticExpansion':
      return true
    case 'DoubleQuoted':
    case 'LocaleString':
      // "$@" and "${a[@]}" are several words for all their quotes.
      return part.parts.some((child) => child.type !== 'Literal' && child.text.includes('@'))
    default:
      return part.type === 'BraceExpansion' && /[$`]/.test(part.text)
  }
}

// Not at the beginning: `~` (a home) and `#` (a comment). `{}` stands for itself.
const needsNoQuotes = /^(?:(?:[\w@%+=:,./^\]!-]|\{\})(?:[\w@%+=:,./^\]!~#-]|\{\})*|\[)$/
// What a terminal or a page would hide, turn around or show as a plain space.
const unseen = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u
const allUnseen = new RegExp(unseen, 'gu')

function quoted(value: string): string {
  if (needsNoQuotes.test(value)) return value
  if (!unseen.test(value)) return `'${value.replaceAll("'", String.raw`'\''`)}'`
  const escaped = value.replace(/[\\']/g, String.raw`\$&`).replace(allUnseen, escapeOf)
  return `$'${escaped}'`
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return (
    shortEscapes[character] ?? (code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`)
  )
}

function asWritten(text: string): string {
  return text
    .replaceAll('\\\n', '')
    .replace(allUnseen, (character) => (character === '\n' ? character : escapeOf(character)))
}
