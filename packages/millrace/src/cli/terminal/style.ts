/** How text looks: any of these, added up. */
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

/** A piece of a line that looks the same throughout. */
export interface Span {
  readonly text: string
  readonly style: number
}

/** Writes a line. It ends as it began, without colours. */
export type Paint = (spans: readonly Span[]) => string

const esc = String.fromCharCode(27)

export function painter(colour: boolean): Paint {
  if (!colour) return (spans) => spans.map(({ text }) => text).join('')
  return (spans) => {
    let line = ''
    let current: number = style.plain
    for (const span of spans) {
      if (!span.text) continue
      if (span.style !== current) line += (current ? `${esc}[0m` : '') + orderFor(span.style)
      current = span.style
      line += span.text
    }
    return current ? `${line}${esc}[0m` : line
  }
}

function orderFor(wanted: number): string {
  const numbers = codes.filter(([bit]) => wanted & bit).map(([, code]) => code)
  return numbers.length > 0 ? `${esc}[${numbers.join(';')}m` : ''
}
