// Source text, formatted as this project's formatter does: what fits on a line is put on one line.

const lineWidth = 110

/** A piece of source: text, or a bracket with items. */
export type Code = string | Bracket

interface Bracket {
  /** Includes the name of a call: `agent(`. */
  readonly open: string
  readonly close: ']' | '}' | ')' | ''
  readonly items: readonly Item[]
}

interface Item {
  readonly key?: string
  readonly value: Code
  readonly comment?: string | undefined
}

/** An array literal. Each value has the comment at the same index above it, if there is one. */
export function list(values: readonly Code[], comments: readonly (string | undefined)[] = []): Code {
  const items = values.map((value, index) => ({ value, comment: comments[index] }))
  return { open: '[', close: ']', items }
}

/**
 * An object literal, without undefined fields. A field with the same name as its variable is
 * written in shorthand.
 */
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

/** Plain JSON as a literal. Undefined fields are left out, as in JSON. */
export function literal(value: unknown): Code {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return list(value.map(literal))
  if (typeof value !== 'object' || value === null)
    return (JSON.stringify(value) ?? 'undefined').replace('e+', 'e')
  const given = Object.entries(value).filter(([, one]) => one !== undefined)
  const items = given.map(([key, one]) => ({ key: keyText(key), value: literal(one) }))
  return { open: '{', close: '}', items }
}

interface Position {
  readonly indent: number
  readonly column?: number
  readonly followedBy?: number
}

/**
 * Formats a piece that starts at `column` of a line with this indent and is followed by `behind`
 * characters.
 */
export function format(code: Code, { indent, column = indent, followedBy = 0 }: Position): string {
  const flat = onOneLine(code, lineWidth - column - followedBy)
  if (flat !== undefined) return flat
  if (typeof code === 'string') return code
  const { open, close, items } = code
  const last = items.at(-1)?.value
  // The last argument of a call starts on the same line if it is an array or an object and the
  // arguments before it fit.
  if (close === ')' && last !== undefined && isLiteral(last)) {
    const before = onOneLine({ open, close: '', items: items.slice(0, -1) }, lineWidth - column)
    const head = items.length > 1 ? before && `${before}, ` : open
    if (head) return `${head}${format(last, { indent, column: column + head.length, followedBy: 1 })})`
  }
  return `${open}${items.map((item) => formatItem(item, indent + 2)).join('')}\n${' '.repeat(indent)}${close}`
}

function formatItem({ key, value, comment }: Item, indent: number): string {
  const line = `\n${' '.repeat(indent)}`
  const before = comment === undefined ? '' : `${line}// ${comment}`
  if (key === undefined) return `${before}${line}${format(value, { indent, followedBy: 1 })},`
  const column = indent + key.length + 2
  const text = format(value, { indent, column, followedBy: 1 })
  // A string too long for the line gets its own line, unless its key is so short that this gains
  // nothing.
  const moves = /^['"]/.test(text) && key.length > 4 && column + text.length + 1 > lineWidth
  return `${before}${line}${key}:${moves ? `${line}  ` : ' '}${text},`
}

/** Returns undefined if it does not fit, or must not be on one line. Stops as soon as it knows. */
function onOneLine(code: Code, room: number): string | undefined {
  if (typeof code === 'string') return code.length <= room ? code : undefined
  if (isSpread(code)) return undefined
  const pad = code.open === '{' && code.items.length > 0 ? ' ' : ''
  const close = pad + code.close
  let text = code.open + pad
  for (const [index, { key, value, comment }] of code.items.entries()) {
    if (comment !== undefined) return undefined
    text += `${index > 0 ? ', ' : ''}${key === undefined ? '' : `${key}: `}`
    const one = onOneLine(value, room - text.length - close.length)
    if (one === undefined) return undefined
    text += one
  }
  text += close
  return text.length <= room ? text : undefined
}

/**
 * Whether items get a line each: several objects, or several arrays, with more than one item each.
 */
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
  // The computed form makes it an ordinary field.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)
}

// Characters that JSON allows but that an editor would change or hide: control characters, line
// separators, bidi controls.
const unsafe = /[\u2028\u2029\ufeff]|\p{Cc}|\p{Bidi_Control}/gu

/** A string literal with exactly this value, safe even if the source is embedded in a page. */
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
