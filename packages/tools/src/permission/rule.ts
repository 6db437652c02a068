import type { Access } from 'millrace'
import { kindOf, messageOf } from 'millrace/internal'
import { charactersOf, isSign } from './characters.ts'
import { commandPattern } from './command-pattern.ts'
import { hostPattern } from './host-pattern.ts'
import { pathPattern } from './path-pattern.ts'

export type Kind = Access['kind']

/** `head`, `head(pattern)` or `head#fingerprint`. */
export interface Rule {
  readonly text: string
  /** A kind of access, or the name of tools, in which `*` is any characters. */
  readonly head: string
  /** Of the one description of a tool that is meant. */
  readonly fingerprint: string | undefined
  readonly pattern: string | undefined
}

/** Far more than anybody writes; a remembered command may be long. */
const longest = 4096

const patterns: Readonly<Record<Kind, (pattern: string) => unknown>> = {
  run: commandPattern,
  read: pathPattern,
  write: pathPattern,
  fetch: hostPattern,
}

export function kindNamed(head: string): Kind | undefined {
  return Object.hasOwn(patterns, head) ? (head as Kind) : undefined
}

/** What is wrong with the text of a rule, as a sentence without its last stop; undefined if it is one. */
export function ruleProblem(text: unknown): string | undefined {
  const { problem } = readRule(text)
  return problem
}

/** Never throws. */
export function readRule(
  text: unknown,
): { rule: Rule; problem?: undefined } | { rule?: undefined; problem: string } {
  if (typeof text !== 'string')
    return { problem: `a rule is text such as 'run(git diff *)', not ${kindOf(text)}` }
  const named = `the rule '${text.length > 100 ? `${text.slice(0, 100)}…` : text}'`
  if (text.length > longest) return { problem: `${named} is longer than ${longest} characters` }
  try {
    return { rule: parse(text) }
  } catch (thrown) {
    return { problem: `${named} ${messageOf(thrown)}` }
  }
}

function parse(text: string): Rule {
  const open = text.indexOf('(')
  // Every provider accepts only such names, and a `*` stands for some of them.
  const [, head, fingerprint] =
    /^([\w*-]{1,64})(?:#([\w-]{22}))?$/.exec(open < 0 ? text : text.slice(0, open)) ?? []
  if (head === undefined)
    throw new Error(
      `${text === '' ? 'is empty' : 'can never match'}: it begins with run, read, write, fetch or the name of a tool, and a pattern for it may follow in parentheses`,
    )
  if (open < 0) return { text, head, fingerprint, pattern: undefined }
  const pattern = between(text, open)
  if (pattern === '') throw new Error(`has an empty pattern: write '${head}' if you mean all of it`)
  if (/^\s/.test(pattern) || /(?<!\\)\s$/.test(pattern))
    throw new Error('has white space at an end of its pattern: leave it out')
  // In whatever case: a rule that denies takes it for the kind.
  const kind = kindNamed(head.toLowerCase())
  if (kind) patterns[kind](pattern)
  else charactersOf(pattern)
  return { text, head, fingerprint, pattern }
}

/** What stands between the first parenthesis and its partner, which must be the last character. */
function between(text: string, open: number): string {
  const inside = text.slice(open + 1, -1)
  let depth = 1
  for (const character of charactersOf(inside)) {
    if (isSign(character, '(')) depth++
    if (isSign(character, ')')) depth--
    if (depth === 0) break
  }
  if (depth !== 1 || !text.endsWith(')'))
    throw new Error('has parentheses that do not pair up: write \\( or \\) for the characters')
  return inside
}
