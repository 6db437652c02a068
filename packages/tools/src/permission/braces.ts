import type { Character } from './characters.ts'
import { isSign } from './characters.ts'

/** A few words as alternatives is what braces are for; a pattern of a hundred characters could spell billions. */
const mostAlternatives = 64

/** All that `{a,b}` spells. Throws the rest of a sentence if it cannot be used. */
export function expandBraces(characters: readonly Character[]): (readonly Character[])[] {
  const open = characters.findIndex((character) => isSign(character, '{') || isSign(character, '}'))
  if (open < 0) return [characters]
  const { options, end } = readBraces(characters, open)
  const heads = options.flatMap(expandBraces)
  const tails = expandBraces(characters.slice(end + 1))
  if (heads.length * tails.length > mostAlternatives)
    throw new Error(
      `spells more than ${mostAlternatives} alternatives with its braces: make several rules of it`,
    )
  const before = characters.slice(0, open)
  return heads.flatMap((head) => tails.map((tail) => [...before, ...head, ...tail]))
}

function readBraces(
  characters: readonly Character[],
  open: number,
): { options: (readonly Character[])[]; end: number } {
  const options: Character[][] = [[]]
  let depth = 0
  for (let at = open; at < characters.length; at++) {
    const character = characters[at] as Character
    if (isSign(character, '{')) depth++
    if (isSign(character, '}')) depth--
    if (depth < 0) break
    if (depth === 0) {
      if (options.length < 2)
        throw new Error('has braces without a comma: write {a,b}, or \\{ for the character')
      return { options, end: at }
    }
    if (depth === 1 && isSign(character, ',')) options.push([])
    else if (at > open) options.at(-1)?.push(character)
  }
  throw new Error('has { without }, or the other way round: write \\{ or \\} for the character')
}
