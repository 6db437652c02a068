import { charactersOf, isSpecial } from './characters.ts'

/**
 * `*` matches any characters, or none. The pieces between are searched for in order, so no pattern or
 * text can make it slow, as with a regular expression.
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const pieces = ['']
  for (const character of charactersOf(pattern))
    if (isSpecial(character, '*')) pieces.push('')
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
