import { homedir } from 'node:os'
import { commandPattern, foldName, namedBy } from './command-pattern.ts'
import { hostPattern } from './host-pattern.ts'
import { pathPattern } from './path-pattern.ts'
import type { Kind, Rule } from './rule.ts'
import { kindNamed } from './rule.ts'
import type { Subject } from './subject.ts'
import { wildcard } from './wildcard.ts'

/** A rule, ready to be asked. */
export interface Matcher {
  readonly text: string
  readonly kind: Kind | undefined
  readonly hasPattern: boolean
  /** Names one tool and nothing else. */
  readonly names: (tool: string) => boolean
  readonly matches: (tool: string, subject: Subject) => boolean
  /** It has a pattern for such things, and whether this is one of them cannot be told. */
  readonly mayMatch: (tool: string, subject: Subject) => boolean
}

/**
 * A rule that allows is taken exactly. A strict one, which asks or denies, rather matches too much: in any case of letters, and the same
 * said in other words.
 */
export function matcherOf({ text, head, pattern }: Rule, { strict }: { strict: boolean }): Matcher {
  const kind = kindNamed(strict ? head.toLowerCase() : head)
  const isTool = toolNamed(head, strict)
  const concerns = (tool: string, { access }: Subject) => (kind ? access?.kind === kind : isTool(tool))
  const names = (tool: string) => pattern === undefined && !kind && head === tool
  if (pattern === undefined) {
    // A tool may be called `read`. A rule that denies `read` denies it too; none that allows `read` allows it.
    const matches = (tool: string, subject: Subject) =>
      subject.implied
        ? kind !== undefined && concerns(tool, subject)
        : concerns(tool, subject) || (strict && isTool(tool))
    return { text, kind, hasPattern: false, names, matches, mayMatch: () => false }
  }
  const fits = patternOf(pattern, { strict, kind })
  const named = !kind || kind === 'run' ? namedBy(pattern) : undefined
  /** Of what cannot be told from its words a rule has to name more than a part. */
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
    matches: (tool, subject) => concerns(tool, subject) && (strict ? fits(subject) : allows(subject)),
    // A command may open any file. Of a tool the pattern is most likely one for its commands.
    mayMatch: (tool, subject) =>
      subject.unclear &&
      (kind
        ? subject.access?.kind === 'run' || concerns(tool, subject)
        : concerns(tool, subject) && !subject.implied),
  }
}

function toolNamed(head: string, strict: boolean): (tool: string) => boolean {
  if (!strict) return wildcard(head)
  const folded = wildcard(head.toLowerCase())
  return (tool) => folded(tool.toLowerCase())
}

/** Behind the name of a tool a pattern is read as each kind of access wants it, and where it makes no sense it matches nothing. */
function patternOf(
  pattern: string,
  { strict, kind }: { strict: boolean; kind: Kind | undefined },
): (subject: Subject) => boolean {
  const isCommand = someOf(kind, ['run'], () =>
    (strict ? [pattern, foldName(pattern)] : [pattern]).map(commandPattern),
  )
  const home = homedir().replaceAll('\\', '/')
  const isPlace = someOf(kind, ['read', 'write'], () =>
    (strict ? [false, true] : [false]).map((fold) => pathPattern(pattern, { below: strict, fold, home })),
  )
  const isHost = someOf(kind, ['fetch'], () => [hostPattern(pattern)])
  return ({ commands, places, host }) =>
    (strict ? commands : commands.slice(0, 1)).some(isCommand) ||
    (strict ? places : places.slice(0, 1)).some(isPlace) ||
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
