import type { Growing } from '../log/types.ts'

export function whole({ pieces }: Growing): string {
  return pieces.join('')
}

/** The last `most` characters. Costs what those are long: a piece is never empty. */
export function tail({ pieces }: Growing, most: number): string {
  return pieces.slice(-most).join('').slice(-most)
}

/** The end of its last line that says something. */
export function lastLine(text: Growing, most = 120): string {
  return tail(text, most).trimEnd().split('\n').at(-1) ?? ''
}
