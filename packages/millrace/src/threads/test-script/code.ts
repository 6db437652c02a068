// Source text, laid out as the formatter of this project does it: what fits in a line stands in a line.

const lineWidth = 110

/** A piece of source: as it stands, or a bracket with items in it. */
export type Code = string | Bracket

interface Bracket {
  /** Of a call, its name too: `agent(`. */
  readonly open: string
  readonly close: ']' | '}' | ')' | ''
  readonly items: readonly Item[]
}

interface Item {
  readonly key?: string
  readonly value: Code
  readonly comment?: string | undefined
}

/** Each value has the comment of the same place above it, if there is one. */
export function list(values: readonly Code[], comments: readonly (string | undefined)[] = []): Code {
  const items = values.map((value, index) => ({ value, comment: comments[index] }))
  return { open: '[', close: ']', items }
}

/** Without the fields that are undefined. One that is named like the variable in it is written once. */
export function fields(object: Readonly<Record<string, Code | undefined>>): Code {
  const items = Object.entries(object).flatMap(([key, value]): Item[] => {
    if (value === undefined) return []
    return [value === key ? { value } : { key, value }]
  })
  return { open: '{', close: '}', items }
}

export function call(callee: string, ...args: readonly Code[]): Code {
  return { open: `${callee}(`, close: ')', items: args.map((value) => ({ value })) }
}

/** Plain JSON as a literal. What is undefined is left out, as JSON does it. */
export function literal(value: unknown): Code {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return list(value.map(literal))
  if (typeof value !== 'object' || value === null)
    return (JSON.stringify(value) ?? 'undefined').replace('e+', 'e')
  const given = Object.entries(value).filter(([, one]) => one !== undefined)
  const items = given.map(([key, one]) => ({ key: keyText(key), value: literal(one) }))
  return { open: '{', close: '}', items }
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
  const { open, close, items } = code
  const last = items.at(-1)?.value
  // The last argument of a call begins on the line of the call if it is an array or an object and what is before it fits.
  if (close === ')' && last !== undefined && isLiteral(last)) {
    const before = inOneLine({ open, close: '', items: items.slice(0, -1) }, lineWidth - column)
    const head = items.length > 1 ? before && `${before}, ` : open
    if (head) return `${head}${layOut(last, { indent, column: column + head.length, behind: 1 })})`
  }
  return `${open}${items.map((item) => layOutItem(item, indent + 2)).join('')}\n${' '.repeat(indent)}${close}`
}

function layOutItem({ key, value, comment }: Item, indent: number): string {
  const line = `\n${' '.repeat(indent)}`
  const before = comment === undefined ? '' : `${line}// ${comment}`
  if (key === undefined) return `${before}${line}${layOut(value, { indent, behind: 1 })},`
  const column = indent + key.length + 2
  const text = layOut(value, { indent, column, behind: 1 })
  // A text too long for the line gets one of its own, unless its key is so short that this gains nothing.
  const moves = /^['"]/.test(text) && key.length > 4 && column + text.length + 1 > lineWidth
  return `${before}${line}${key}:${moves ? `${line}  ` : ' '}${text},`
}

/** Undefined if it takes more room, or may not be in one line at all. Looks no further than the room goes. */
function inOneLine(code: Code, room: number): string | undefined {
  if (typeof code === 'string') return code.length <= room ? code : undefined
  if (isSpread(code)) return undefined
  const pad = code.open === '{' && code.items.length > 0 ? ' ' : ''
  const close = pad + code.close
  let text = code.open + pad
  for (const [index, { key, value, comment }] of code.items.entries()) {
    if (comment !== undefined) return undefined
    text += `${index > 0 ? ', ' : ''}${key === undefined ? '' : `${key}: `}`
    const one = inOneLine(value, room - text.length - close.length)
    if (one === undefined) return undefined
    text += one
  }
  text += close
  return text.length <= room ? text : undefined
}

/** Several objects, or several arrays, of more than one item each have a line each. */
function isSpread({ open, items }: Bracket): boolean {
  const [first] = items
  if (open !== '[' || items.length < 2 || !first || !isLiteral(first.value)) return false
  const kind = first.value.open
  return items.every(({ value }) => isLiteral(value) && value.open === kind && value.items.length > 1)
}

/** An array or an object. */
function isLiteral(code: Code): code is Bracket {
  return typeof code === 'object' && code.close !== ')'
}

function keyText(key: string): string {
  // Only so is it a field like any other.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)
}

// What an editor would change or hide and JSON lets pass: control characters, line separators, what makes text run backwards.
const unsafe = /[\u2028\u2029\ufeff]|\p{Cc}|\p{Bidi_Control}/gu

/** A text as a literal: the same string whatever is in it, also where the source is put into a page. */
export function quote(text: string): string {
  const count = (mark: string) => text.split(mark).length
  const mark = count("'") > count('"') ? '"' : "'"
  const safe = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replaceAll(mark, `\\${mark}`)
    .replace(/<(?=\/script|!--)|\$(?=\{)/gi, (char) => (char === '<' ? '\\x3c' : '\\x24'))
  return `${mark}${safe}${mark}`
}
