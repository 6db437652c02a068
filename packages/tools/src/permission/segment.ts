import type { Character } from './characters.ts'
import { isSign } from './characters.ts'

/** Any number of what it stands among: characters in a name, folders in a path. */
export const many = Symbol('many')

export type Token = typeof many | ((character: string) => boolean)

/**
 * Whether a pattern fits the whole. Going back only to the last `many` is enough, as each other part takes exactly one item: never more
 * steps than pattern times items.
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

/** The pattern of one name. Throws the rest of a sentence if it cannot be used. */
export function segmentOf(characters: readonly Character[]): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as Character
    if (isSign(character, '*')) tokens.push(many)
    else if (isSign(character, '?')) tokens.push(() => true)
    else if (isSign(character, '[')) {
      const end = characters.findIndex((other, index) => index > at && isSign(other, ']'))
      if (end < 0) throw new Error('has a [ without a ]: write \\[ for the character')
      tokens.push(setOf(characters.slice(at + 1, end)))
      at = end
    } else tokens.push((other) => other === character.value)
  }
  return tokens
}

/** What stands between `[` and `]`. */
function setOf(characters: readonly Character[]): (character: string) => boolean {
  const negated = isSign(characters[0], '!') || isSign(characters[0], '^')
  const members = negated ? characters.slice(1) : characters
  if (members.length === 0) throw new Error('has nothing between [ and ]: write \\[ for the character')
  const ranges: [from: string, to: string][] = []
  for (let at = 0; at < members.length; at++) {
    const from = members[at] as Character
    const to = isSign(members[at + 1], '-') ? members[at + 2] : undefined
    ranges.push([from.value, (to ?? from).value])
    if (to) at += 2
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== negated
}
