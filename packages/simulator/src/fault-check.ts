import { invalidInput, isObject, kindOf, nameOf } from 'millrace/internal'
import { finishes, roundProblem } from 'millrace/internal/testing'
import type { Fault, FaultKind } from './faults.ts'

/** Returns what a field must be, or undefined if it is valid. */
type Check = (value: unknown) => string | undefined

const must =
  (test: (value: unknown) => boolean, what: string): Check =>
  (value) =>
    test(value) ? undefined : what

const wholeNumber = (min: number): Check =>
  must((value) => Number.isInteger(value) && Number(value) >= min, `a whole number of at least ${min}`)
const number: Check = must((value) => Number.isFinite(value) && Number(value) >= 0, 'a number of at least 0')
const event: Check = must(Number.isInteger, 'the index of an event: 0 is the first, -1 the last')
const text: Check = must((value) => typeof value === 'string' && value !== '', 'a non-empty string')
const flag: Check = must((value) => typeof value === 'boolean', 'true or false')
const oneOf = (...values: readonly string[]): Check =>
  must((value) => values.includes(value as string), values.map((value) => `'${value}'`).join(' or '))
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)

const isPoint = (value: unknown) =>
  isObject(value) &&
  onlyKeys(value, 'event', 'byte') &&
  Number.isInteger(value.event) &&
  (value.byte === undefined ||
    Number.isInteger(value.byte) ||
    value.byte === 'utf8' ||
    value.byte === 'escape')
const onlyKeys = (value: object, ...keys: readonly string[]) =>
  Object.keys(value).every((key) => keys.includes(key))

const point = "{ event, byte? } with whole numbers, or byte: 'utf8' or 'escape'"
const inside = must((value) => value === 'after-headers' || isPoint(value), `'after-headers' or ${point}`)
const anywhere = must(
  (value) => value === 'before-headers' || value === 'after-headers' || isPoint(value),
  `'before-headers', 'after-headers' or ${point}`,
)
const isSize = (value: unknown) => Number.isInteger(value) && Number(value) >= 1
const sizes = must(
  (value) =>
    value === 'all' || isSize(value) || (Array.isArray(value) && value.length > 0 && value.every(isSize)),
  "a whole number of at least 1, a list of them, or 'all'",
)
const retryAfter = must(
  (value) =>
    isObject(value) &&
    Object.keys(value).length === 1 &&
    onlyKeys(value, 'seconds', 'date', 'ms') &&
    Object.values(value).every(Number.isFinite),
  '{ seconds }, { date } or { ms }',
)

const fields: { readonly [Kind in FaultKind['kind']]: Readonly<Record<string, Check>> } = {
  refuse: {},
  reset: { at: anywhere },
  stall: { at: anywhere },
  end: { at: inside },
  pings: { at: inside, everyMs: optional(number) },
  chunks: { bytes: sizes },
  duplicate: { event },
  reorder: { event },
  'unknown-event': { event },
  'unknown-fields': {},
  'unknown-block': {},
  oversize: { event, bytes: wholeNumber(1) },
  malformed: { event, data: optional(text) },
  'error-frame': { event, status: optional(wholeNumber(400)) },
  status: { status: wholeNumber(400), retryAfter: optional(retryAfter) },
  html: {},
  'content-type': { type: text },
  arguments: { call: wholeNumber(0), how: oneOf('malformed', 'truncated', 'empty', 'double-encoded') },
  'same-call-ids': {},
  'length-cut': { call: wholeNumber(0) },
  'no-usage': {},
  'unclosed-call': { call: wholeNumber(0) },
  empty: { finish: optional(oneOf(...Object.keys(finishes))) },
  // Checked by `roundProblem`, which names the invalid step.
  splice: { event, round: () => undefined, start: optional(flag) },
  'content-in-start': {},
  'custom-provider-calls': {},
  'no-item-done': { item: wholeNumber(0) },
  expired: {},
  sse: {
    newline: optional(oneOf('crlf', 'cr')),
    bom: optional(flag),
    comments: optional(flag),
    dataLines: optional(flag),
    fields: optional(flag),
    finalBlank: optional(flag),
    done: optional(flag),
  },
}

/** Throws `invalid_input` with the invalid fault and field, and what the field must be. */
export function checkFaults(plan: unknown, op: string): asserts plan is readonly Fault[] {
  if (!Array.isArray(plan)) throw invalidInput(op, `faults must be an array of faults, not ${kindOf(plan)}`)
  plan.forEach((fault: unknown, index) => {
    const problem = problemOf(fault)
    if (problem) throw invalidInput(op, `faults[${index}]${problem}`)
  })
}

function problemOf(fault: unknown): string | undefined {
  if (!isObject(fault))
    return ` must be a fault such as { kind: 'status', status: 429 }, not ${kindOf(fault)}`
  const { kind, ...rest } = fault
  if (typeof kind !== 'string' || !Object.hasOwn(fields, kind))
    return `.kind must be one of ${Object.keys(fields).join(', ')}, not ${nameOf(kind)}`
  const checks: Readonly<Record<string, Check>> = {
    request: optional(wholeNumber(0)),
    ...fields[kind as FaultKind['kind']],
  }
  for (const name of Object.keys(rest)) {
    if (!Object.hasOwn(checks, name))
      return `.${name} is not a field of '${kind}', which has ${Object.keys(checks).join(', ')}`
  }
  for (const [name, check] of Object.entries(checks)) {
    const wanted = check(rest[name])
    if (wanted) return `.${name} must be ${wanted}, not ${nameOf(rest[name])}`
  }
  return rest.round === undefined ? undefined : roundProblem(rest.round, '.round')
}
