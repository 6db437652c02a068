import type { FinishReason } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { anything, closest, invalidInput, kindOf, nameOf } from 'millrace/internal'
import { checkKitOptions } from 'millrace/internal/testing'
import type { Fault, FaultKind, Place, RetryAfter } from './faults.ts'

export interface FaultPlanOptions {
  /** Faults befall the first so many requests; 3 if absent. */
  readonly requests?: number
  /** How many faults; one to three if absent. */
  readonly count?: number
  /** Of these kinds only. */
  readonly kinds?: readonly FaultKind['kind'][]
  /** Places are among the first so many events; 16 if absent. */
  readonly events?: number
}

const table: OptionTable<FaultPlanOptions> = {
  requests: anything,
  count: anything,
  kinds: (value) => !Array.isArray(value) && `must be a list of kinds, not ${nameOf(value)}`,
  events: anything,
}

/** Whole numbers from 0 to below n. */
type Dice = (n: number) => number

/**
 * A plan by chance: the same seed and options give the same plan, on every machine and in every run. Print it with
 * `printFaults` where a test fails.
 */
export function faultPlan(seed: number | string, options: FaultPlanOptions = {}): Fault[] {
  if (typeof seed !== 'number' && typeof seed !== 'string')
    throw invalidInput('faultPlan', `the seed must be a number or a text, not ${kindOf(seed)}`)
  checkKitOptions(options, table, 'faultPlan')
  const { requests = 3, count, kinds = allKinds, events = 16 } = options
  const unknown = kinds.findIndex((kind) => !Object.hasOwn(draw, kind))
  if (unknown >= 0) {
    const like = closest(String(kinds[unknown]), allKinds)
    const hint = like ? `: did you mean '${like}'?` : ''
    throw invalidInput('faultPlan', `there is no fault of kind '${kinds[unknown]}'${hint}`)
  }
  if (kinds.length === 0) throw invalidInput('faultPlan', 'kinds must not be empty')
  for (const [name, value] of Object.entries({ requests, events, count: count ?? 1 }))
    if (!Number.isInteger(value) || value < 1)
      throw invalidInput('faultPlan', `${name} must be a whole number from 1 on, not ${nameOf(value)}`)
  const dice = diceOf(String(seed))
  return Array.from({ length: count ?? 1 + dice(3) }, () => {
    const request = dice(requests)
    return { ...draw[pick(dice, kinds)](dice, events), request }
  })
}

const draw: {
  readonly [Kind in FaultKind['kind']]: (dice: Dice, events: number) => Extract<FaultKind, { kind: Kind }>
} = {
  refuse: () => ({ kind: 'refuse' }),
  reset: (dice, events) => ({ kind: 'reset', at: place(dice, events) }),
  stall: (dice, events) => ({ kind: 'stall', at: place(dice, events) }),
  end: (dice, events) => ({ kind: 'end', at: { event: dice(events) } }),
  pings: (dice, events) => ({ kind: 'pings', at: { event: dice(events) } }),
  chunks: (dice) => ({
    kind: 'chunks',
    bytes: pick<number | number[] | 'all'>(dice, [1, 'all', 7, [1 + dice(9), 1 + dice(99), 1 + dice(999)]]),
  }),
  duplicate: (dice, events) => ({ kind: 'duplicate', event: dice(events) }),
  reorder: (dice, events) => ({ kind: 'reorder', event: dice(events) }),
  'unknown-event': (dice, events) => ({ kind: 'unknown-event', event: dice(events) }),
  'unknown-fields': () => ({ kind: 'unknown-fields' }),
  'unknown-block': () => ({ kind: 'unknown-block' }),
  oversize: (dice, events) => ({ kind: 'oversize', event: dice(events), bytes: 10 ** (3 + dice(4)) }),
  malformed: (dice, events) => ({ kind: 'malformed', event: dice(events) }),
  'error-frame': (dice, events) => ({
    kind: 'error-frame',
    event: dice(events),
    status: pick(dice, [429, 500, 529]),
  }),
  status: (dice) => {
    const retryAfter = pick<RetryAfter | undefined>(dice, retryAfters)
    const status = pick(dice, [408, 409, 413, 429, 500, 502, 503, 529])
    return { kind: 'status', status, ...(retryAfter && { retryAfter }) }
  },
  html: () => ({ kind: 'html' }),
  'content-type': (dice) => ({
    kind: 'content-type',
    type: pick(dice, ['text/plain', 'application/octet-stream', 'text/html']),
  }),
  arguments: (dice) => ({
    kind: 'arguments',
    call: dice(3),
    how: pick(dice, ['malformed', 'truncated', 'empty', 'double-encoded'] as const),
  }),
  'same-call-ids': () => ({ kind: 'same-call-ids' }),
  'length-cut': (dice) => ({ kind: 'length-cut', call: dice(3) }),
  'no-usage': () => ({ kind: 'no-usage' }),
  'unclosed-call': (dice) => ({ kind: 'unclosed-call', call: dice(3) }),
  empty: (dice) => {
    const finish = pick<FinishReason | undefined>(dice, [undefined, 'stop', 'tool-calls', 'length'])
    return { kind: 'empty', ...(finish && { finish }) }
  },
  splice: (dice, events) => ({
    kind: 'splice',
    event: dice(events),
    ...(dice(3) === 0 && { round: 'Something else.' }),
    ...(dice(2) === 0 && { start: false }),
  }),
  'content-in-start': () => ({ kind: 'content-in-start' }),
  'custom-provider-calls': () => ({ kind: 'custom-provider-calls' }),
  'no-item-done': (dice) => ({ kind: 'no-item-done', item: dice(3) }),
  expired: () => ({ kind: 'expired' }),
  sse: (dice) => ({
    kind: 'sse',
    ...(dice(2) === 0 && { newline: pick(dice, ['crlf', 'cr'] as const) }),
    ...(dice(2) === 0 && { bom: true }),
    ...(dice(2) === 0 && { comments: true }),
    ...(dice(2) === 0 && { dataLines: true }),
    ...(dice(2) === 0 && { fields: true }),
    ...(dice(2) === 0 && { finalBlank: false }),
  }),
}

const allKinds = Object.keys(draw) as FaultKind['kind'][]

/** At once, soon, in the past, in a lifetime, or left open. */
const retryAfters: readonly (RetryAfter | undefined)[] = [
  undefined,
  { seconds: 0 },
  { seconds: 1 },
  { ms: 20 },
  { date: 1 },
  { date: -60 },
  { seconds: 2_000_000_000 },
]

function place(dice: Dice, events: number): Place {
  const byte = pick<number | 'utf8' | 'escape' | undefined>(dice, [
    undefined,
    1 + dice(80),
    'utf8',
    'escape',
    -1,
  ])
  const point = { event: dice(events), ...(byte !== undefined && { byte }) }
  return pick<Place>(dice, ['before-headers', 'after-headers', point, point, point])
}

function pick<Value>(dice: Dice, values: readonly Value[]): Value {
  return values[dice(values.length)] as Value
}

/** A text becomes 32 bits (FNV-1a), and these a sequence (mulberry32): integer arithmetic, the same everywhere. */
function diceOf(seed: string): Dice {
  let state = 0x811c9dc5
  for (const byte of new TextEncoder().encode(seed)) state = Math.imul(state ^ byte, 0x01000193)
  return (n) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n
  }
}
