import type { PlainRedirect, PlainWord } from './plain-line.ts'

/** A word and its source text. */
export interface WordToken {
  readonly type: 'word'
  readonly word: PlainWord
  readonly source: string
  /** The character after it; empty at the end of the line. */
  readonly next: string
}

export type Token =
  | WordToken
  | { readonly type: 'operator'; readonly operator: string }
  | { readonly type: 'redirect'; readonly redirect: PlainRedirect }

/** Shells disagree on the meaning of control characters. */
const controlCharacters = /[^\t\n\x20-\x7e\u0080-\u{10ffff}]/u

const blank = /(?:[\t ]|(?<=[\t ])\\\n(?=[\t \w./-]))+/y
const comment = /#[^\n]*/y
const operator = /&&|\|\||[;|\n]/y
const heredoc = /<<(['"])([A-Za-z_]\w*)\1(?=[\t\n ;|])/y
const copy = /([0-9])?([<>]&)([0-9]|-)(?=[\t\n ;|]|$)/y
const redirect = /([0-9])?(<>|>>|>\||<(?![<&(])|>(?![>&|(]))[\t ]*/y
const bare = /[\w@%+=:,./^!\]-]+/y
const escaped = /\\([ -~])/y
const single = /'([^']*)'/y
// A `$` that cannot start an expansion is literal. In some encodings a non-ASCII byte consumes the
// backslash after it.
const double = /"((?:[^"\\$`]|(?<=[\t\n -~])\\[ -~]|\$(?=[" )|]))*)"/y
const sharp = /#/y
const braces = /\{[\w-]*\}(?![<>])/y
const tilde = /~/y
const wild = /[*?]|\[(?:[\w.,^!-]+\])?/y

/**
 * The tokens of a line that all shells read the same way, without expansions except globs and `~/`.
 * Undefined if it contains anything else.
 */
export function tokensOf(line: string): readonly Token[] | undefined {
  if (controlCharacters.test(line)) return undefined
  const tokens: Token[] = []
  let at = 0
  /** A here-document that starts at the next line break. */
  let document: { readonly delimiter: string; readonly target: { value: string } } | undefined

  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(line)
    if (found) at = pattern.lastIndex
    return found ?? undefined
  }

  /** A literal part of a word, without quotes. */
  const literal = () =>
    take(bare)?.[0] ??
    take(escaped)?.[1] ??
    take(single)?.[1] ??
    // In double quotes, a backslash before other characters is literal.
    take(double)?.[1]?.replace(/\\([$`"\\])/g, '$1') ??
    take(braces)?.[0]

  function word(): WordToken | undefined {
    const start = at
    let value = ''
    let glob = ''
    let isGlob = false
    for (let before = at; ; before = at) {
      const isFirst = before === start
      const text = literal() ?? take(tilde)?.[0] ?? (isFirst ? undefined : take(sharp)?.[0])
      if (text === '~' && line[before] === '~' && !isPlainTilde(before, isFirst)) return undefined
      const sign = text === undefined ? take(wild)?.[0] : undefined
      if (text === undefined && sign === undefined) break
      // On its own, `[` is the name of a program.
      if (sign === '[' && !(isFirst && /[\t\n ]/.test(line[at] ?? ''))) return undefined
      isGlob ||= sign !== undefined && sign !== '['
      value += text ?? sign
      glob += text?.replace(/[^\p{L}\p{N}]/gu, String.raw`\$&`) ?? sign
    }
    const source = line.slice(start, at)
    if (source === '' || (document && source.includes('\n'))) return undefined
    const home = source.startsWith('~')
    return {
      type: 'word',
      word: { value, ...(isGlob && { glob }), ...(home && { home }) },
      source,
      next: line[at] ?? '',
    }
  }

  /** At the start, `~` and `~/` are the home folder. After `=` and `:` it may be expanded too. */
  function isPlainTilde(before: number, isFirst: boolean): boolean {
    return isFirst ? /[\t\n /;|]/.test(line[at] ?? ' ') : !/[=:]/.test(line[before - 1] ?? '')
  }

  function readDocument(): boolean {
    if (!document) return true
    const { delimiter, target } = document
    const end = `\n${line.slice(at)}\n`.indexOf(`\n${delimiter}\n`)
    target.value = line.slice(at, at + end)
    at += end + delimiter.length
    document = undefined
    return end >= 0
  }

  while (at < line.length) {
    const space = take(blank)?.[0] ?? take(comment)?.[0]
    if (document && space?.includes('\n')) return undefined
    if (space !== undefined) continue
    const sign = take(operator)?.[0]
    if (sign === '\n' && !readDocument()) return undefined
    if (sign !== undefined) {
      tokens.push({ type: 'operator', operator: sign })
      continue
    }
    const opened = take(heredoc)
    if (opened) {
      if (document) return undefined
      const target = { value: '' }
      document = { delimiter: opened[2] ?? '', target }
      tokens.push({ type: 'redirect', redirect: { descriptor: undefined, operator: '<<', target } })
      continue
    }
    const [, digit, direction = '', copied] = take(copy) ?? take(redirect) ?? []
    const found = copied === undefined ? word() : undefined
    const target = copied === undefined ? found?.word : { value: copied }
    if (!target) return undefined
    const descriptor = digit === undefined ? undefined : Number(digit)
    if (!direction) tokens.push(found as WordToken)
    else if (target.glob !== undefined) return undefined
    else tokens.push({ type: 'redirect', redirect: { descriptor, operator: direction, target } })
  }
  return document ? undefined : tokens
}
