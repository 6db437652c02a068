import type { GrowingText } from 'millrace/view'

export function whole({ pieces }: GrowingText): string {
  return pieces.join('')
}

/** What stands from a character on, shortened. */
export function excerpt(text: GrowingText, from: number, most = 80): string {
  const rest = whole(text).slice(from).trim()
  return rest.length > most ? `${rest.slice(0, most)} …` : rest
}

/** The last `most` characters. Costs what those are long: a piece is never empty. */
export function tail({ pieces }: GrowingText, most: number): string {
  return pieces.slice(-most).join('').slice(-most)
}

/** The end of its last line that says something. */
export function lastLine(text: GrowingText, most = 120): string {
  return tail(text, most).trimEnd().split('\n').at(-1) ?? ''
}
