export interface Import {
  readonly specifier: string
  /** `import type …` or `export type … from`: nothing of it is left at run time. */
  readonly typeOnly: boolean
  /** `export * from` or `export * as name from`. */
  readonly star: boolean
  /** `import('…')`, of a module or of its types. */
  readonly dynamic: boolean
}

interface Token {
  readonly kind: 'word' | 'string' | 'other'
  readonly text: string
}

const skipped = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const word = /[\w$]+/y
const string = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y
const regex = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*(`|\$\{)/y

/** After one of these words a slash opens a regular expression; after any other word it divides. */
const beforeRegex = new Set('return typeof case in of delete void throw new else do yield await'.split(' '))

/**
 * Every module that TypeScript source names in an `import` or `export … from`, in order. Comments
 * and text don't count.
 */
export function importsOf(source: string): Import[] {
  const tokens = tokensOf(source)
  const found: Import[] = []
  tokens.forEach((token, at) => {
    if (token.kind !== 'word' || tokens[at - 1]?.text === '.') return
    const read = token.text === 'import' ? readImport : token.text === 'export' ? readExport : undefined
    const one = read?.(tokens, at + 1)
    if (one) found.push(one)
  })
  return found
}

function readImport(tokens: readonly Token[], start: number): Import | undefined {
  const first = tokens[start]
  if (first?.kind === 'string') return { specifier: first.text, typeOnly: false, star: false, dynamic: false }
  if (first?.text === '(') {
    const argument = tokens[start + 1]
    return argument?.kind === 'string'
      ? { specifier: argument.text, typeOnly: false, star: false, dynamic: true }
      : undefined
  }
  const second = tokens[start + 1]
  // `import type from './x.ts'` imports a value that is called `type`.
  const typeOnly = first?.text === 'type' && second?.text !== 'from' && second?.text !== ','
  const specifier = readFrom(tokens, start)
  return specifier === undefined ? undefined : { specifier, typeOnly, star: false, dynamic: false }
}

function readExport(tokens: readonly Token[], start: number): Import | undefined {
  const typeOnly = tokens[start]?.text === 'type'
  const at = typeOnly ? start + 1 : start
  const opening = tokens[at]?.text
  if (opening !== '{' && opening !== '*') return undefined
  const specifier = readFrom(tokens, at)
  return specifier === undefined ? undefined : { specifier, typeOnly, star: opening === '*', dynamic: false }
}

/**
 * Reads a clause of names up to `from '…'`; undefined if something else comes, as in `export { a }`
 * with no `from`.
 */
function readFrom(tokens: readonly Token[], start: number): string | undefined {
  let closed = false
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at]
    const next = tokens[at + 1]
    if (token?.text === 'from' && next?.kind === 'string') return next.text
    if (token?.kind === 'other' && !'{},*'.includes(token.text)) return undefined
    if (closed) return undefined
    closed = token?.text === '}'
  }
  return undefined
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  // One entry per open brace: whether it is the `${` of a template, whose text continues after the
  // closing brace.
  const braces: boolean[] = []
  let at = 0

  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match) at += match[0].length
    return match
  }
  const takeTemplateText = () => {
    if (take(templateText)?.[1] === '${') braces.push(true)
  }

  while (at < source.length) {
    if (take(skipped)) continue
    const name = take(word)
    if (name) {
      tokens.push({ kind: 'word', text: name[0] })
      continue
    }
    const quoted = take(string)
    if (quoted) {
      tokens.push({ kind: 'string', text: quoted[0].slice(1, -1) })
      continue
    }
    if (source[at] === '/' && regexMayStart(tokens.at(-1)) && take(regex)) {
      tokens.push({ kind: 'other', text: '/' })
      continue
    }
    const text = source[at++] as string
    if (text === '{') braces.push(false)
    if (text === '`' || (text === '}' && braces.pop())) {
      takeTemplateText()
      tokens.push({ kind: 'other', text: '`' })
    } else {
      tokens.push({ kind: 'other', text })
    }
  }
  return tokens
}

function regexMayStart(previous: Token | undefined): boolean {
  if (!previous) return true
  if (previous.kind === 'word') return beforeRegex.has(previous.text)
  return previous.kind === 'other' && !')]}`/'.includes(previous.text)
}
