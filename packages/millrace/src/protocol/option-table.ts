import { closest } from './closest.ts'
import { invalidInput } from './errors.ts'
import { isObject, kindOf, nameOf } from './json.ts'

/** What is wrong with a value, as the rest of a sentence; falsy if it is valid. */
export type Problem = string | false | undefined

/** A check for each option. Keys that are not in the table are unknown options. */
export type OptionTable<Options> = Record<keyof Options, (value: unknown) => Problem>

/**
 * Throws `invalid_input` for the first option that is unknown or has an invalid value. `what`
 * starts the message; a path at its end, such as `the option retry.`, is shown as part of the
 * option's name.
 */
export function checkOptions(
  options: object,
  table: Record<string, (value: unknown) => Problem>,
  { op, what }: { op: string; what: string },
): void {
  if (!isObject(options)) throw invalidInput(op, `the options must be an object, not ${kindOf(options)}`)
  const [, lead = what, path = ''] = /^(.*) (\S+\.)$/.exec(what) ?? []
  for (const [key, value] of Object.entries(options)) {
    const check = Object.hasOwn(table, key) ? table[key] : undefined
    if (!check) throw invalidInput(op, `${lead} '${path}${key}' does not exist${hintFor(key, table)}`)
    const problem = value !== undefined && check(value)
    if (problem) throw invalidInput(op, `${lead} '${path}${key}' ${problem}`)
  }
}

/** A longer list of names is left out of the message. */
const maxListLength = 200

/** The rest of a message about an unknown name: a suggestion, and the available names. */
function hintFor(key: string, table: object): string {
  const names = Object.keys(table)
  // An abbreviation such as `delta` for `deltaChars` is too far off for `closest`.
  const like = closest(key, names) ?? names.find((name) => key.length > 2 && name.startsWith(key))
  const list = names.join(', ')
  const all = list.length > maxListLength ? '' : ` (available: ${list})`
  return like ? `: did you mean '${like}'?${all}` : all
}

/** The problem with the first key of `options` that is not in the table. */
export function unknownField(options: object, table: object): Problem {
  const key = Object.keys(options).find((name) => !Object.hasOwn(table, name))
  return key !== undefined && `has no '${key}'${hintFor(key, table)}`
}

export const anything = (): Problem => undefined

export function wholeNumber(least: number) {
  return (value: unknown): Problem =>
    !(Number.isInteger(value) && Number(value) >= least) &&
    `must be a whole number of at least ${least}, not ${nameOf(value)}`
}

/** A position in the log of a thread: after a number, or after the current end. */
export function logPosition(value: unknown): Problem {
  return (
    value !== 'now' &&
    wholeNumber(0)(value) &&
    `must be a whole number of at least 0, or 'now', not ${nameOf(value)}`
  )
}

export function duration(value: unknown): Problem {
  return (
    !(typeof value === 'number' && value > 0) &&
    `must be a positive number of milliseconds, or Infinity, not ${nameOf(value)}`
  )
}

export function someText(value: unknown): Problem {
  return (
    (typeof value !== 'string' || !value.trim()) &&
    `must be text, not ${value === '' ? 'empty' : kindOf(value)}`
  )
}

export function yesOrNo(value: unknown): Problem {
  return typeof value !== 'boolean' && `must be true or false, not ${kindOf(value)}`
}

export function anObject(value: unknown): Problem {
  return !isObject(value) && `must be an object, not ${kindOf(value)}`
}

export function aFunction(value: unknown): Problem {
  return typeof value !== 'function' && `must be a function, not ${kindOf(value)}`
}

export function oneOf(...values: readonly string[]) {
  return (value: unknown): Problem =>
    !values.includes(value as string) && `must be ${values.map((value) => `'${value}'`).join(' or ')}`
}
