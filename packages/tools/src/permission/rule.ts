import type { Access } from 'millrace'
import { kindOf, messageOf } from 'millrace/internal'
import { charactersOf, isSpecial } from './characters.ts'
import { commandPattern } from './command-pattern.ts'
import { hostPattern } from './host-pattern.ts'
import { pathPattern } from './path-pattern.ts'

export type Kind = Access['kind']

/** `head`, `head(pattern)` or `head#fingerprint`. */
export interface Rule {
  readonly text: string
  /** A kind of access, or a tool name, in which `*` matches any characters. */
  readonly head: string
  /** Limits the rule to one description of the tool. */
  readonly fingerprint: string | undefined
  readonly pattern: string | undefined
}

/** Generous, since a remembered command may be long. */
const maxRuleChars = 4096

const patterns: Readonly<Record<Kind, (pattern: string) => unknown>> = {
  run: commandPattern,
  read: pathPattern,
  write: pathPattern,
  fetch: hostPattern,
}

export function kindNamed(head: string): Kind | undefined {
  return Object.hasOwn(patterns, head) ? (head as Kind) : undefined
}

/** What is wrong with a rule, as a sentence without its final period; undefined if it is valid. */
export function ruleProblem(text: unknown): string | undefined {
  const { problem } = readRule(text)
  return problem
}

/** Never throws. */
export function readRule(
  text: unknown,
): { rule: Rule; problem?: undefined } | { rule?: undefined; problem: string } {
  if (typeof text !== 'string')
    return { problem: `a rule must be a string such as 'run(git diff *)', not ${kindOf(text)}` }
  const named = `the rule '${text.length > 100 ? `${text.slice(0, 100)}…` : text}'`
  if (text.length > maxRuleChars) return { problem: `${named} is longer than ${maxRuleChars} characters` }
  try {
    return { rule: parse(text) }
  } catch (thrown) {
    return { problem: `${named} ${messageOf(thrown)}` }
  }
}

function parse(text: string): Rule {
  const open = text.indexOf('(')
  // The tool names that every provider accepts, plus `*`.
  const [, head, fingerprint] =
    /^([\w*-]{1,64})(?:#([\w-]{22}))?$/.exec(open < 0 ? text : text.slice(0, open)) ?? []
  if (head === undefined)
    throw new Error(
      `${text === '' ? 'is empty' : 'can never match'}: a rule starts with run, read, write, fetch or a tool name, optionally followed by a pattern in parentheses`,
    )
  if (open < 0) return { text, head, fingerprint, pattern: undefined }
  const pattern = insideParentheses(text, open)
  if (pattern === '') throw new Error(`has an empty pattern: write '${head}' to match everything`)
  if (/^\s/.test(pattern) || /(?<!\\)\s$/.test(pattern))
    throw new Error('has leading or trailing white space in its pattern: remove it')
  // Case-insensitive, since deny and ask rules match kinds in any case.
  const kind = kindNamed(head.toLowerCase())
  if (kind) patterns[kind](pattern)
  else charactersOf(pattern)
  return { text, head, fingerprint, pattern }
}

/** The text between the first parenthesis and its match, which must be the last character. */
function insideParentheses(text: string, open: number): string {
  const inside = text.slice(open + 1, -1)
  let depth = 1
  for (const character of charactersOf(inside)) {
    if (isSpecial(character, '(')) depth++
    if (isSpecial(character, ')')) depth--
    if (depth === 0) break
  }
  if (depth !== 1 || !text.endsWith(')'))
    throw new Error('has unbalanced parentheses: write \\( or \\) for the characters')
  return inside
}
