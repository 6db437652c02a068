import type { PlainLine } from './plain-line.ts'
import { scan } from './scan.ts'
import { plainTree } from './tree.ts'

/** More than a person reads before approving. */
const maxLineChars = 8_192
const maxCommands = 100

/**
 * Parses a plain line with two independent readers: a scanner of characters and the tree of a parser.
 * If either does not understand the line, or if they differ, the line is opaque (undefined).
 */
export function readPlain(line: string): PlainLine | undefined {
  if (line.length > maxLineChars) return undefined
  const scanned = scan(line)
  if (!scanned || scanned.commands.length > maxCommands) return undefined
  try {
    const parsed = plainTree(line)
    return parsed && comparable(parsed) === comparable(scanned) ? scanned : undefined
  } catch {
    // The parser may overflow its stack.
    return undefined
  }
}

function comparable({ commands, operators }: PlainLine): string {
  return JSON.stringify([
    operators,
    commands.map(({ assignments, words, redirects }) => [
      assignments,
      words.map(({ value, glob }) => [value, glob !== undefined]),
      redirects.map(({ descriptor, operator, target }) => [descriptor ?? null, operator, target.value]),
    ]),
  ])
}
