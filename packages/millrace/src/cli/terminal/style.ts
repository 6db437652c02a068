/** Text styles, as bits. */
export const style = {
  plain: 0,
  bold: 1,
  dim: 2,
  italic: 4,
  underline: 8,
  strike: 16,
  red: 32,
  green: 64,
  yellow: 128,
  cyan: 256,
} as const

/** ECMA-48, 8.3.117: select graphic rendition. */
const codes: readonly (readonly [number, number])[] = [
  [style.bold, 1],
  [style.dim, 2],
  [style.italic, 3],
  [style.underline, 4],
  [style.strike, 9],
  [style.red, 31],
  [style.green, 32],
  [style.yellow, 33],
  [style.cyan, 36],
]

/** A piece of a line with one style. */
export interface Span {
  readonly text: string
  readonly style: number
}

/** Turns spans into a line with escape sequences. The styles are reset at its end. */
export type Paint = (spans: readonly Span[]) => string

const esc = String.fromCharCode(27)

export function painter(color: boolean): Paint {
  if (!color) return (spans) => spans.map(({ text }) => text).join('')
  return (spans) => {
    let line = ''
    let current: number = style.plain
    for (const span of spans) {
      if (!span.text) continue
      if (span.style !== current) line += (current ? `${esc}[0m` : '') + sequenceFor(span.style)
      current = span.style
      line += span.text
    }
    return current ? `${line}${esc}[0m` : line
  }
}

function sequenceFor(bits: number): string {
  const numbers = codes.filter(([bit]) => bits & bit).map(([, code]) => code)
  return numbers.length > 0 ? `${esc}[${numbers.join(';')}m` : ''
}
