import { charactersOf } from './characters.ts'
import { wildcard } from './wildcard.ts'

/** Throws the rest of a sentence if it cannot be used. */
export function commandPattern(pattern: string): (command: string) => boolean {
  const whole = wildcard(pattern)
  // `git diff *` is what people write for `git diff` with any words, also none.
  if (!pattern.endsWith(' *') || charactersOf(pattern).length < 3) return whole
  const bare = wildcard(pattern.slice(0, -2))
  return (command) => whole(command) || bare(command)
}

/** For file systems that do not mind case, `RM` is `rm`. Only its name: `git branch -D` is not `git branch -d`. */
export function foldName(command: string): string {
  return command.replace(/^\S+/, (name) => name.toLowerCase())
}
