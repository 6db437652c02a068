import { charactersOf, isSpecial } from './characters.ts'
import { wildcard } from './wildcard.ts'

/** Throws the rest of a sentence if the pattern is invalid. */
export function commandPattern(pattern: string): (command: string) => boolean {
  const whole = wildcard(pattern)
  // `git diff *` also matches `git diff` without arguments, which is what people mean by it.
  if (!pattern.endsWith(' *') || charactersOf(pattern).length < 3) return whole
  const bare = wildcard(pattern.slice(0, -2))
  return (command) => whole(command) || bare(command)
}

/** The text of a pattern up to its first `*`. `whole` if it has no `*`. */
export function literalPrefix(pattern: string): { text: string; whole: boolean } {
  const characters = charactersOf(pattern)
  const wild = characters.findIndex((character) => isSpecial(character, '*'))
  const literal = wild < 0 ? characters : characters.slice(0, wild)
  return { text: literal.map(({ value }) => value).join(''), whole: wild < 0 }
}

/**
 * On case-insensitive file systems `RM` runs `rm`. Only the name is folded: `git branch -D` is not
 * `git branch -d`.
 */
export function foldName(command: string): string {
  return command.replace(/^\S+/, (name) => name.toLowerCase())
}
