import type { FinishReason, Problem } from '../protocol/index.ts'
import { closest, invalidInput, isObject, kindOf, messageOf, nameOf } from '../protocol/index.ts'

type Check = (value: unknown) => Problem

const text: Check = (value) => typeof value !== 'string' && `must be a string, not ${kindOf(value)}`
const name: Check = (value) =>
  (typeof value !== 'string' || value === '') && `must be the name of a tool, not ${nameOf(value)}`
const flag: Check = (value) => typeof value !== 'boolean' && `must be true or false, not ${kindOf(value)}`
const always: Check = (value) => value !== true && `must be true, not ${nameOf(value)}`
const fields: Check = (value) => !isObject(value) && `must be an object, not ${kindOf(value)}`
const plain: Check = (value) => {
  try {
    return JSON.stringify(value) === undefined && `must be plain JSON, not ${kindOf(value)}`
  } catch (error) {
    return `must be plain JSON: ${messageOf(error)}`
  }
}
const opaque: Check = (value) =>
  !(isObject(value) && typeof value.provider === 'string') && 'must be { provider, data }'

export const finishes: Record<FinishReason, true> = {
  stop: true,
  'tool-calls': true,
  length: true,
  'content-filter': true,
  refusal: true,
  other: true,
}

/** The kinds of steps: how the value of each is checked, and which other fields it may have. */
const steps: Readonly<
  Record<string, { readonly is: Check; readonly also?: Readonly<Record<string, Check>> }>
> = {
  text: { is: text },
  reasoning: { is: text, also: { opaque } },
  call: {
    is: name,
    also: { input: (value) => fields(value) || plain(value), raw: text, cut: flag, id: text, opaque },
  },
  providerTool: { is: name, also: { input: plain, output: plain, isError: flag, opaque } },
  pause: {
    is: (value) =>
      !(typeof value === 'number' && value >= 0) && `must be a number of milliseconds, not ${nameOf(value)}`,
  },
  error: {
    is: (value) =>
      typeof value !== 'string' &&
      !isObject(value) &&
      `must be a message or the fields of an error, not ${kindOf(value)}`,
  },
  hang: { is: always },
  end: { is: always },
  usage: { is: fields },
  finish: {
    is: (value) =>
      !(typeof value === 'string' && Object.hasOwn(finishes, value)) &&
      `must be one of ${Object.keys(finishes).join(', ')}, not ${nameOf(value)}`,
  },
}

/** Throws `invalid_input` with the position (`rounds[0][1]`) and what belongs there. */
export function checkScript(script: unknown, op: string): void {
  if (typeof script === 'function') return
  if (!Array.isArray(script))
    throw invalidInput(
      op,
      `${op}() needs a script: a list of rounds such as ['Hello.'], or a function that returns them, not ${kindOf(script)}`,
    )
  // By index, since a hole in a list is not a round either.
  for (let index = 0; index < script.length; index++) {
    const problem = roundProblem(script[index], `rounds[${index}]`)
    if (problem) throw invalidInput(op, problem)
  }
}

/**
 * Why there is no round to play: the script has no more, or its function returned something else.
 */
export function missingRound(script: unknown, round: unknown, index: number): string | undefined {
  if (Array.isArray(script) && index >= script.length)
    return `the script has ${script.length} rounds, but round ${index + 1} was requested: add it to the script`
  if (round === undefined) return `the script returned nothing for round ${index + 1}`
  const problem = roundProblem(round, `rounds[${index}]`)
  return problem && `the script returned an invalid round: ${problem}`
}

/** What is wrong with the round at position `at`. */
export function roundProblem(round: unknown, at: string): string | undefined {
  if (typeof round === 'string') return undefined
  if (!Array.isArray(round))
    return `${at} must be text or a list of steps such as [{ text: '…' }], not ${round instanceof Promise ? 'a promise' : kindOf(round)}`
  for (let index = 0; index < round.length; index++) {
    const problem = stepProblem(round[index], `${at}[${index}]`)
    if (problem) return problem
  }
  return undefined
}

function stepProblem(step: unknown, at: string): string | undefined {
  if (!isObject(step)) return `${at} must be a step such as { text: '…' }, not ${kindOf(step)}`
  const given = Object.keys(step).filter((key) => step[key] !== undefined)
  const kinds = given.filter((key) => Object.hasOwn(steps, key))
  const [kind] = kinds
  if (kind === undefined) {
    const like = given.map((key) => closest(key, Object.keys(steps))).find(Boolean)
    return `${at} must be a step with one of ${Object.keys(steps).join(', ')}, not { ${given.join(', ')} }${like ? `: did you mean '${like}'?` : ''}`
  }
  if (kinds.length > 1) return `${at} has both ${kinds.join(' and ')}: make each a separate step`
  const { is, also = {} } = steps[kind] as (typeof steps)[string]
  const checks: Readonly<Record<string, Check>> = { [kind]: is, ...also }
  for (const key of given) {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined
    if (!check) {
      const like = closest(key, Object.keys(checks))
      return `${at}.${key} does not exist in a step with ${kind}${like ? `: did you mean '${like}'?` : ''}`
    }
    const problem = check(step[key])
    if (problem) return `${at}.${key} ${problem}`
  }
  return undefined
}
