import type { Character } from './characters.ts'
import { isSpecial } from './characters.ts'

/** A pattern of a hundred characters could otherwise expand to billions of alternatives. */
const maxAlternatives = 64

/** Expands `{a,b}`. Throws the rest of a sentence ("the rule … has …") if a pattern is invalid. */
export function expandBraces(characters: readonly Character[]): (readonly Character[])[] {
  const open = characters.findIndex((character) => isSpecial(character, '{') || isSpecial(character, '}'))
  if (open < 0) return [characters]
  const { options, end } = readBraces(characters, open)
  const heads = options.flatMap(expandBraces)
  const tails = expandBraces(characters.slice(end + 1))
  if (heads.length * tails.length > maxAlternatives)
    throw new Error(`expands to more than ${maxAlternatives} alternatives: split it into several rules`)
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
    if (isSpecial(character, '{')) depth++
    if (isSpecial(character, '}')) depth--
    if (depth < 0) break
    if (depth === 0) {
      if (options.length < 2)
        throw new Error('has braces without a comma: write {a,b}, or \\{ for the character')
      return { options, end: at }
    }
    if (depth === 1 && isSpecial(character, ',')) options.push([])
    else if (at > open) options.at(-1)?.push(character)
  }
  throw new Error('has unbalanced braces: write \\{ or \\} for the character')
}
