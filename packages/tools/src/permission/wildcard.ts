import { charactersOf, isSign } from './characters.ts'

/**
 * Text in which `*` stands for any characters, also none. The pieces between are looked for one after the other, so that no pattern
 * and no text makes it slow, as a regular expression can be.
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const pieces = ['']
  for (const character of charactersOf(pattern))
    if (isSign(character, '*')) pieces.push('')
    else pieces[pieces.length - 1] += character.value
  const [first = '', ...rest] = pieces
  const last = rest.pop()
  if (last === undefined) return (text) => text === first
  return (text) => {
    if (!text.startsWith(first) || !text.endsWith(last)) return false
    let at = first.length
    for (const piece of rest) {
      const found = text.indexOf(piece, at)
      if (found < 0) return false
      at = found + piece.length
    }
    return at + last.length <= text.length
  }
}
