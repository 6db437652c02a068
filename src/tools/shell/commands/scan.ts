import type { PlainCommand, PlainLine, PlainRedirect, PlainWord } from './plain-line.ts'

/** Control characters mean different things to different shells. */
const strange = /[^\t\n\x20-\x7e\u0080-\u{10ffff}]/u

const blank = /(?:[\t ]|(?<=[\t ])\\\n(?=[\t \w./-]))+/y
const comment = /#[^\n]*/y
const operator = /&&|\|\||[;|\n]/y
const heredoc = /<<(['"])([A-Za-z_]\w*)\1(?=[\t\n ;|])/y
const copy = /([0-9])?([<>]&)([0-9]|-)(?=[\t\n ;|]|$)/y
const redirect = /([0-9])?(<>|>>|>\||<(?![<&(])|>(?![>&|(]))[\t ]*/y
// What a shell hands on as it stands. No `$` but where double quotes hold it and nothing can follow it.
const bare = /[\w@%+=:,./^!\]-]+/y
const escaped = /\\([ -~])/y
const single = /'([^']*)'/y
// In some encodings a byte that is not ASCII takes the backslash behind it along.
const double = /"((?:[^"\\$`]|(?<=[\t\n -~])\\[ -~]|\$(?=[" )|]))*)"/y
const sharp = /#/y
const braces = /\{[\w-]*\}(?![<>])/y
const tilde = /~/y
const wild = /[*?]|\[(?:[\w.,^!-]+\])?/y

const keywords = new Set(
  '! if then else elif fi do done case esac while until for select function time coproc in { } [[ ]]'.split(
    ' ',
  ),
)

interface Scanned extends PlainWord {
  /** As it stands in the line. */
  readonly source: string
}

/**
 * Reads a line that a shell would take literally: programs with their words, joined by `&&`, `||`, `;`, `|` and line breaks, redirections,
 * variables in front, comments, globs in arguments, `~/` and documents between quoted words. Undefined if anything else is in it.
 * What it reads means the same to bash, dash and busybox.
 */
export function scan(line: string): PlainLine | undefined {
  if (strange.test(line)) return undefined
  let at = 0
  let document: { readonly delimiter: string; readonly target: { value: string } } | undefined

  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(line)
    if (!found) return undefined
    at = pattern.lastIndex
    return found
  }

  const word = (): Scanned | undefined => {
    const start = at
    let value = ''
    let glob = ''
    let isGlob = false
    let home = false
    const put = (text: string) => {
      value += text
      glob += text.replace(/[^\p{L}\p{N}]/gu, String.raw`\$&`)
    }
    for (;;) {
      const before = at
      const text =
        take(bare)?.[0] ??
        take(escaped)?.[1] ??
        take(single)?.[1] ??
        doubled(take(double)?.[1]) ??
        take(braces)?.[0]
      if (text !== undefined) put(text)
      else if (take(tilde)) {
        home ||= before === start
        // Behind `=` and `:` it may be a folder, too.
        if (before === start ? !/[\t\n /;|]/.test(line[at] ?? ' ') : /[=:]/.test(line[before - 1] ?? ''))
          return undefined
        put('~')
      } else if (before > start && take(sharp)) put('#')
      else {
        const sign = take(wild)?.[0]
        if (sign === undefined) break
        // Alone it is the name of a program.
        if (sign === '[' && (before > start || !/[\t\n ]/.test(line[at] ?? ''))) return undefined
        isGlob ||= sign !== '['
        value += sign
        glob += sign
      }
      // The document begins at the next line break, wherever that stands.
      if (document && line.slice(before, at).includes('\n')) return undefined
    }
    if (at === start) return undefined
    return {
      value,
      ...(isGlob && { glob }),
      ...(home && { home }),
      source: line.slice(start, at),
    }
  }

  const commands: PlainCommand[] = []
  const operators: string[] = []
  let assignments: [string, string][] = []
  let words: PlainWord[] = []
  let redirects: PlainRedirect[] = []

  /** Whether the command that ends here is a whole one. */
  const close = (): boolean => {
    const [name] = words
    if (!name) return false
    commands.push({ assignments, words, redirects })
    assignments = []
    words = []
    redirects = []
    return true
  }
  const isEmpty = () => assignments.length + words.length + redirects.length === 0

  while (at < line.length) {
    const space = take(blank)?.[0] ?? take(comment)?.[0]
    if (space !== undefined) {
      if (document && space.includes('\n')) return undefined
      continue
    }
    const sign = take(operator)?.[0]
    if (sign !== undefined) {
      const joined = sign === '\n' ? ';' : sign
      if (isEmpty()) {
        if (sign !== '\n') return undefined
      } else if (close()) operators.push(joined)
      else return undefined
      if (sign !== '\n' || !document) continue
      const { delimiter, target } = document
      const end = `\n${line.slice(at)}\n`.indexOf(`\n${delimiter}\n`)
      if (end < 0) return undefined
      target.value = line.slice(at, at + end)
      at += end + delimiter.length
      document = undefined
      continue
    }
    const begun = take(heredoc)
    if (begun) {
      if (document) return undefined
      const target = { value: '' }
      redirects.push({ descriptor: undefined, operator: '<<', target })
      document = { delimiter: begun[2] ?? '', target }
      continue
    }
    const copied = take(copy)
    if (copied) {
      redirects.push({
        descriptor: number(copied[1]),
        operator: copied[2] ?? '',
        target: { value: copied[3] ?? '' },
      })
      continue
    }
    const directed = take(redirect)
    const found = word()
    if (!found) return undefined
    const { source, ...plain } = found
    if (directed) {
      if (plain.glob !== undefined) return undefined
      redirects.push({ descriptor: number(directed[1]), operator: directed[2] ?? '', target: plain })
      continue
    }
    // A number before `<` or `>` is a descriptor, or a word, by its length and the shell.
    if (/^\d+$/.test(source) && /[<>]/.test(line[at] ?? '')) return undefined
    if (words.length > 0) words.push(plain)
    else if (source === 'time' && isEmpty() && operators.at(-1) !== '|') {
      if (!/[\t ]/.test(line[at] ?? '')) return undefined
    } else if (/^[A-Za-z_]\w*=/.test(source)) {
      if (plain.glob !== undefined || /(?<!\\)~/.test(source)) return undefined
      const split = plain.value.indexOf('=')
      assignments.push([plain.value.slice(0, split), plain.value.slice(split + 1)])
    } else if (!isName(plain.value) || source !== plain.value) return undefined
    else words.push(plain)
  }
  if (document) return undefined
  if (isEmpty()) return commands.length > 0 && operators.pop() === ';' ? { commands, operators } : undefined
  return close() ? { commands, operators } : undefined
}

/** Whether it can be the name of a program and of nothing else. */
export function isName(value: string): boolean {
  return value === '[' || (/^[\w./][\w.+@:/-]*$/.test(value) && !keywords.has(value))
}

/** Inside double quotes a backslash stays where it means nothing. */
function doubled(text: string | undefined): string | undefined {
  return text?.replace(/\\([$`"\\])/g, '$1')
}

function number(digit: string | undefined): number | undefined {
  return digit === undefined ? undefined : Number(digit)
}
