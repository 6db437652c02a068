import type { PlainLine } from './plain-line.ts'
import { scan } from './scan.ts'
import { plainTree } from './tree.ts'

/** More than a person reads before they agree. */
const longestLine = 8_192
const mostCommands = 100

/**
 * A line that says what it does, as it is read in two ways that know nothing of each other: by its characters and by the tree of a parser. If
 * one of them does not know it, or they differ in anything, the line is opaque.
 */
export function readPlain(line: string): PlainLine | undefined {
  if (line.length > longestLine) return undefined
  const scanned = scan(line)
  if (!scanned || scanned.commands.length > mostCommands) return undefined
  try {
    const parsed = plainTree(line)
    return parsed && alike(parsed) === alike(scanned) ? scanned : undefined
  } catch {
    // The parser's own stack has an end, too.
    return undefined
  }
}

function alike({ commands, operators }: PlainLine): string {
  return JSON.stringify([
    operators,
    commands.map(({ assignments, words, redirects }) => [
      assignments,
      words.map(({ value, glob }) => [value, glob !== undefined]),
      redirects.map(({ descriptor, operator, target }) => [descriptor ?? null, operator, target.value]),
    ]),
  ])
}
