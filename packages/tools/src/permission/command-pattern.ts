import { charactersOf, isSign } from './characters.ts'
import { wildcard } from './wildcard.ts'

/** Throws the rest of a sentence if it cannot be used. */
export function commandPattern(pattern: string): (command: string) => boolean {
  const whole = wildcard(pattern)
  // `git diff *` is what people write for `git diff` with any words, also none.
  if (!pattern.endsWith(' *') || charactersOf(pattern).length < 3) return whole
  const bare = wildcard(pattern.slice(0, -2))
  return (command) => whole(command) || bare(command)
}

/** The text of a pattern up to its first `*`, and whether that is all of it. */
export function namedBy(pattern: string): { text: string; whole: boolean } {
  const characters = charactersOf(pattern)
  const wild = characters.findIndex((character) => isSign(character, '*'))
  const literal = wild < 0 ? characters : characters.slice(0, wild)
  return { text: literal.map(({ value }) => value).join(''), whole: wild < 0 }
}

/** For file systems that do not mind case, `RM` is `rm`. Only its name: `git branch -D` is not `git branch -d`. */
export function foldName(command: string): string {
  return command.replace(/^\S+/, (name) => name.toLowerCase())
}
