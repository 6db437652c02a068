import { homedir } from 'node:os'
import { commandPattern, foldName, literalPrefix } from './command-pattern.ts'
import { hostPattern } from './host-pattern.ts'
import { pathPattern } from './path-pattern.ts'
import type { Kind, Rule } from './rule.ts'
import { kindNamed } from './rule.ts'
import type { Subject } from './subject.ts'
import { wildcard } from './wildcard.ts'

/** A parsed rule, ready to match. */
export interface Matcher {
  readonly text: string
  readonly kind: Kind | undefined
  readonly hasPattern: boolean
  /** Whether the rule is just this tool's name. */
  readonly names: (tool: string) => boolean
  readonly matches: (tool: string, subject: Subject) => boolean
  /** Whether the rule has a pattern that an unclear subject might match. */
  readonly mayMatch: (tool: string, subject: Subject) => boolean
}

/**
 * Allow rules match exactly. Ask and deny rules (`strict`) match broadly on purpose: case-insensitively,
 * and also other spellings of the same command or path.
 */
export function matcherOf({ text, head, pattern }: Rule, { strict }: { strict: boolean }): Matcher {
  const kind = kindNamed(strict ? head.toLowerCase() : head)
  const isTool = toolNamed(head, strict)
  const applies = (tool: string, { access }: Subject) => (kind ? access?.kind === kind : isTool(tool))
  const names = (tool: string) => pattern === undefined && !kind && head === tool
  if (pattern === undefined) {
    // A tool may be named `read`. Denying `read` denies that tool too; allowing `read` does not
    // allow it.
    const matches = (tool: string, subject: Subject) =>
      subject.implied
        ? kind !== undefined && applies(tool, subject)
        : applies(tool, subject) || (strict && isTool(tool))
    return { text, kind, hasPattern: false, names, matches, mayMatch: () => false }
  }
  const fits = patternOf(pattern, { strict, kind })
  const named = !kind || kind === 'run' ? literalPrefix(pattern) : undefined
  /** A rule allows an unclear subject only if it names it whole, or starts with its `form`. */
  const allows = (subject: Subject): boolean => {
    if (named?.whole && subject.exact.includes(named.text)) return true
    if (!subject.unclear) return fits(subject)
    return subject.form !== undefined && named?.text.startsWith(`${subject.form} `) === true && fits(subject)
  }
  return {
    text,
    kind,
    hasPattern: true,
    names,
    matches: (tool, subject) => applies(tool, subject) && (strict ? fits(subject) : allows(subject)),
    // An unclear command may open any file. A tool's pattern is most likely about its commands.
    mayMatch: (tool, subject) =>
      subject.unclear &&
      (kind
        ? subject.access?.kind === 'run' || applies(tool, subject)
        : applies(tool, subject) && !subject.implied),
  }
}

function toolNamed(head: string, strict: boolean): (tool: string) => boolean {
  if (!strict) return wildcard(head)
  const folded = wildcard(head.toLowerCase())
  return (tool) => folded(tool.toLowerCase())
}

/**
 * After a tool's name, a pattern is parsed once for each kind of access. For kinds where it is invalid
 * it matches nothing.
 */
function patternOf(
  pattern: string,
  { strict, kind }: { strict: boolean; kind: Kind | undefined },
): (subject: Subject) => boolean {
  const isCommand = someOf(kind, ['run'], () =>
    (strict ? [pattern, foldName(pattern)] : [pattern]).map(commandPattern),
  )
  const home = homedir().replaceAll('\\', '/')
  const isPath = someOf(kind, ['read', 'write'], () =>
    (strict ? [false, true] : [false]).map((fold) => pathPattern(pattern, { below: strict, fold, home })),
  )
  const isHost = someOf(kind, ['fetch'], () => [hostPattern(pattern)])
  return ({ commands, paths, host }) =>
    (strict ? commands : commands.slice(0, 1)).some(isCommand) ||
    (strict ? paths : paths.slice(0, 1)).some(isPath) ||
    (host !== undefined && isHost(host))
}

function someOf<Item>(
  kind: Kind | undefined,
  kinds: readonly Kind[],
  make: () => ((item: Item) => boolean)[],
): (item: Item) => boolean {
  if (kind && !kinds.includes(kind)) return () => false
  try {
    const tests = make()
    return (item) => tests.some((test) => test(item))
  } catch (error) {
    if (kind) throw error
    return () => false
  }
}
