import type { Character } from './characters.ts'
import { isSpecial } from './characters.ts'

/** Matches any number of items: characters in a name, folders in a path. */
export const many = Symbol('many')

export type Token = typeof many | ((character: string) => boolean)

/**
 * Whether a pattern matches all items. Backtracking to the last `many` is enough, since every other
 * part matches exactly one item: at most pattern × items steps.
 */
export function fits<Part, Item>(
  pattern: readonly (Part | typeof many)[],
  items: readonly Item[],
  one: (part: Exclude<Part, typeof many>, item: Item) => boolean,
): boolean {
  let at = 0
  let item = 0
  let retry: { at: number; item: number } | undefined
  while (item < items.length) {
    const part = pattern[at]
    if (part === many) {
      at++
      retry = { at, item }
    } else if (at < pattern.length && one(part as Exclude<Part, typeof many>, items[item] as Item)) {
      at++
      item++
    } else if (retry) {
      retry.item++
      at = retry.at
      item = retry.item
    } else return false
  }
  while (pattern[at] === many) at++
  return at === pattern.length
}

/** Parses the pattern of one name. Throws the rest of a sentence if it is invalid. */
export function segmentOf(characters: readonly Character[]): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as Character
    if (isSpecial(character, '*')) tokens.push(many)
    else if (isSpecial(character, '?')) tokens.push(() => true)
    else if (isSpecial(character, '[')) {
      const end = characters.findIndex((other, index) => index > at && isSpecial(other, ']'))
      if (end < 0) throw new Error('has [ without ]: write \\[ for the character')
      tokens.push(setOf(characters.slice(at + 1, end)))
      at = end
    } else tokens.push((other) => other === character.value)
  }
  return tokens
}

/** A character set: the text between `[` and `]`. */
function setOf(characters: readonly Character[]): (character: string) => boolean {
  const negated = isSpecial(characters[0], '!') || isSpecial(characters[0], '^')
  const members = negated ? characters.slice(1) : characters
  if (members.length === 0) throw new Error('has an empty set []: write \\[ for the character')
  const ranges: [from: string, to: string][] = []
  for (let at = 0; at < members.length; at++) {
    const from = members[at] as Character
    const to = isSpecial(members[at + 1], '-') ? members[at + 2] : undefined
    ranges.push([from.value, (to ?? from).value])
    if (to) at += 2
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== negated
}
