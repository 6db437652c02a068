import type { GrowingText } from 'millrace/view'

export function fullText({ pieces }: GrowingText): string {
  return pieces.join('')
}

/** The text from a character on, cut to `most` characters. */
export function excerpt(text: GrowingText, from: number, most = 80): string {
  const rest = fullText(text).slice(from).trim()
  return rest.length > most ? `${rest.slice(0, most)} …` : rest
}

/** The last `most` characters. Reads only that many pieces, since no piece is empty. */
export function tail({ pieces }: GrowingText, most: number): string {
  return pieces.slice(-most).join('').slice(-most)
}

/** The end of the last line that is not blank. */
export function lastLine(text: GrowingText, most = 120): string {
  return tail(text, most).trimEnd().split('\n').at(-1) ?? ''
}
