// Source text, laid out as the formatter of this project does it: what fits in a line stands in a line.

const lineWidth = 110

/** A piece of source: as it stands, a text to be quoted, a bracket with items in it, or a call. */
export type Code =
  | string
  | { readonly quoted: string }
  | { readonly bracket: '[' | '{'; readonly items: readonly Item[] }
  | { readonly callee: string; readonly args: readonly Code[] }

interface Item {
  readonly key?: string
  readonly value: Code
  readonly comment?: string
}

type Bracket = Extract<Code, { readonly bracket: string }>

export function list(values: readonly Code[]): Code {
  return { bracket: '[', items: values.map((value) => ({ value })) }
}

/** Without the fields that are undefined. One that is named like the variable in it is written once. */
export function fields(object: Readonly<Record<string, Code | undefined>>): Code {
  const items = Object.entries(object).flatMap(([key, value]): Item[] => {
    if (value === undefined) return []
    return [value === key ? { value } : { key, value }]
  })
  return { bracket: '{', items }
}

export function call(callee: string, ...args: readonly Code[]): Code {
  return { callee, args }
}

/** Plain JSON as a literal. What is undefined is left out, as JSON does it. */
export function literal(value: unknown): Code {
  if (typeof value === 'string') return { quoted: value }
  if (Array.isArray(value)) return list(value.map(literal))
  if (typeof value !== 'object' || value === null)
    return (JSON.stringify(value) ?? 'undefined').replace('e+', 'e')
  const given = Object.entries(value).filter(([, one]) => one !== undefined)
  return { bracket: '{', items: given.map(([key, one]) => ({ key: keyText(key), value: literal(one) })) }
}

interface Place {
  readonly indent: number
  readonly column?: number
  readonly behind?: number
}

/** The text of a piece that begins at this column of a line with this indent, with so many characters behind it. */
export function layOut(code: Code, { indent, column = indent, behind = 0 }: Place): string {
  const flat = inOneLine(code, lineWidth - column - behind)
  if (flat !== undefined) return flat
  if (typeof code === 'string') return code
  if ('quoted' in code) return quote(code.quoted)
  if ('callee' in code) return layOutCall(code.callee, code.args, { indent, column })
  const inner = indent + 2
  const [open, close] = code.bracket === '[' ? '[]' : '{}'
  const body = code.items.map((item) => layOutItem(item, inner)).join('')
  return `${open}${body}\n${' '.repeat(indent)}${close}`
}

function layOutItem({ key, value, comment }: Item, indent: number): string {
  const line = `\n${' '.repeat(indent)}`
  const before = comment === undefined ? '' : `${line}// ${comment}`
  if (key === undefined) return `${before}${line}${layOut(value, { indent, behind: 1 })},`
  const column = indent + key.length + 2
  const text = layOut(value, { indent, column, behind: 1 })
  // A text too long for the line gets one of its own, unless its key is so short that this gains nothing.
  const moves = isQuoted(value) && key.length > 4 && column + text.length + 1 > lineWidth
  return `${before}${line}${key}:${moves ? `${line}  ` : ' '}${text},`
}

/** The last argument may begin on the line of the call, if it is a bracket and those before it fit; otherwise each has a line. */
function layOutCall(callee: string, args: readonly Code[], { indent, column = indent }: Place): string {
  const last = args.at(-1)
  let head: string | undefined = `${callee}(`
  for (const arg of args.slice(0, -1)) {
    const flat: string | undefined = head && inOneLine(arg, lineWidth - column - head.length)
    head = flat && `${head}${flat}, `
  }
  if (head !== undefined && last !== undefined && isBracket(last))
    return `${head}${layOut(last, { indent, column: column + head.length, behind: 1 })})`
  const lines = args.map((arg) => layOutItem({ value: arg }, indent + 2))
  return `${callee}(${lines.join('')}\n${' '.repeat(indent)})`
}

/** Undefined if it takes more room, or may not be in one line at all. Looks no further than the room goes. */
function inOneLine(code: Code, room: number): string | undefined {
  if (typeof code === 'string') return code.length <= room ? code : undefined
  if ('quoted' in code) {
    const text = code.quoted.length + 2 <= room ? quote(code.quoted) : undefined
    return text !== undefined && text.length <= room ? text : undefined
  }
  const isCall = 'callee' in code
  if (!isCall && isSpread(code)) return undefined
  const items: readonly Item[] = isCall ? code.args.map((value) => ({ value })) : code.items
  const [open, close] = isCall ? [`${code.callee}(`, ')'] : ends(code)
  let text = open
  for (const [index, { key, value, comment }] of items.entries()) {
    if (comment !== undefined) return undefined
    text += `${index > 0 ? ', ' : ''}${key === undefined ? '' : `${key}: `}`
    const one = inOneLine(value, room - text.length - close.length)
    if (one === undefined) return undefined
    text += one
  }
  text += close
  return text.length <= room ? text : undefined
}

function ends({ bracket, items }: Bracket): readonly [string, string] {
  if (bracket === '[') return ['[', ']']
  return items.length === 0 ? ['{', '}'] : ['{ ', ' }']
}

/** Several objects, or several arrays, of more than one item each have a line each. */
function isSpread({ bracket, items }: Bracket): boolean {
  const [first] = items
  if (bracket !== '[' || items.length < 2 || !first || !isBracket(first.value)) return false
  const kind = first.value.bracket
  return items.every(({ value }) => isBracket(value) && value.bracket === kind && value.items.length > 1)
}

function isBracket(code: Code): code is Bracket {
  return typeof code === 'object' && 'bracket' in code
}

function isQuoted(code: Code): boolean {
  return typeof code === 'object' && 'quoted' in code
}

function keyText(key: string): string {
  // Only so is it a field like any other.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)
}

const short: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
}

// Control characters, line separators, what makes text run backwards, halves of pairs: what an editor would change or hide.
const unsafe = /[\\\u2028\u2029\ufeff\ud800-\udfff]|\p{Cc}|\p{Bidi_Control}/gu

/** A text as a literal: the same string whatever is in it, also where the source is put into a page. */
export function quote(text: string): string {
  const count = (mark: string) => text.split(mark).length
  const mark = count("'") > count('"') ? '"' : "'"
  const safe = text
    .replace(unsafe, (char) => short[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replaceAll(mark, `\\${mark}`)
    .replace(/<(?=\/script|!--)|\$(?=\{)/gi, (char) => (char === '<' ? '\\x3c' : '\\x24'))
  return `${mark}${safe}${mark}`
}
