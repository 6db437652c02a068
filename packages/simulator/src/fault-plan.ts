import type { FinishReason } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { anything, closest, invalidInput, kindOf, nameOf } from 'millrace/internal'
import { checkKitOptions } from 'millrace/internal/testing'
import type { Fault, FaultKind, FaultPoint, RetryAfter } from './faults.ts'

export interface FaultPlanOptions {
  /** Faults affect the first this many requests. Default: 3. */
  readonly requests?: number
  /** The number of faults. Default: one to three. */
  readonly count?: number
  /** Only these kinds. */
  readonly kinds?: readonly FaultKind['kind'][]
  /** Faults affect the first this many events. Default: 16. */
  readonly events?: number
}

const table: OptionTable<FaultPlanOptions> = {
  requests: anything,
  count: anything,
  kinds: (value) => !Array.isArray(value) && `must be a list of kinds, not ${nameOf(value)}`,
  events: anything,
}

/** Returns a whole number from 0 to n - 1. */
type Random = (n: number) => number

/**
 * A random fault plan. The same seed and options return the same plan, on every machine. Print it
 * with `printFaults` when a test fails.
 */
export function faultPlan(seed: number | string, options: FaultPlanOptions = {}): Fault[] {
  if (typeof seed !== 'number' && typeof seed !== 'string')
    throw invalidInput('faultPlan', `the seed must be a number or a string, not ${kindOf(seed)}`)
  checkKitOptions(options, table, 'faultPlan')
  const { requests = 3, count, kinds = allKinds, events = 16 } = options
  const unknown = kinds.findIndex((kind) => !Object.hasOwn(makeFault, kind))
  if (unknown >= 0) {
    const like = closest(String(kinds[unknown]), allKinds)
    const hint = like ? `: did you mean '${like}'?` : ''
    throw invalidInput('faultPlan', `unknown fault kind '${kinds[unknown]}'${hint}`)
  }
  if (kinds.length === 0) throw invalidInput('faultPlan', 'kinds must not be empty')
  for (const [name, value] of Object.entries({ requests, events, count: count ?? 1 }))
    if (!Number.isInteger(value) || value < 1)
      throw invalidInput('faultPlan', `${name} must be a whole number of at least 1, not ${nameOf(value)}`)
  const random = seededRandom(String(seed))
  return Array.from({ length: count ?? 1 + random(3) }, () => {
    const request = random(requests)
    return { ...makeFault[pick(random, kinds)](random, events), request }
  })
}

const makeFault: {
  readonly [Kind in FaultKind['kind']]: (random: Random, events: number) => Extract<FaultKind, { kind: Kind }>
} = {
  refuse: () => ({ kind: 'refuse' }),
  reset: (random, events) => ({ kind: 'reset', at: randomPoint(random, events) }),
  stall: (random, events) => ({ kind: 'stall', at: randomPoint(random, events) }),
  end: (random, events) => ({ kind: 'end', at: { event: random(events) } }),
  pings: (random, events) => ({ kind: 'pings', at: { event: random(events) } }),
  chunks: (random) => ({
    kind: 'chunks',
    bytes: pick<number | number[] | 'all'>(random, [
      1,
      'all',
      7,
      [1 + random(9), 1 + random(99), 1 + random(999)],
    ]),
  }),
  duplicate: (random, events) => ({ kind: 'duplicate', event: random(events) }),
  reorder: (random, events) => ({ kind: 'reorder', event: random(events) }),
  'unknown-event': (random, events) => ({ kind: 'unknown-event', event: random(events) }),
  'unknown-fields': () => ({ kind: 'unknown-fields' }),
  'unknown-block': () => ({ kind: 'unknown-block' }),
  oversize: (random, events) => ({ kind: 'oversize', event: random(events), bytes: 10 ** (3 + random(4)) }),
  malformed: (random, events) => ({ kind: 'malformed', event: random(events) }),
  'error-frame': (random, events) => ({
    kind: 'error-frame',
    event: random(events),
    status: pick(random, [429, 500, 529]),
  }),
  status: (random) => {
    const retryAfter = pick<RetryAfter | undefined>(random, retryAfters)
    const status = pick(random, [408, 409, 413, 429, 500, 502, 503, 529])
    return { kind: 'status', status, ...(retryAfter && { retryAfter }) }
  },
  html: () => ({ kind: 'html' }),
  'content-type': (random) => ({
    kind: 'content-type',
    type: pick(random, ['text/plain', 'application/octet-stream', 'text/html']),
  }),
  arguments: (random) => ({
    kind: 'arguments',
    call: random(3),
    how: pick(random, ['malformed', 'truncated', 'empty', 'double-encoded'] as const),
  }),
  'same-call-ids': () => ({ kind: 'same-call-ids' }),
  'length-cut': (random) => ({ kind: 'length-cut', call: random(3) }),
  'no-usage': () => ({ kind: 'no-usage' }),
  'unclosed-call': (random) => ({ kind: 'unclosed-call', call: random(3) }),
  empty: (random) => {
    const finish = pick<FinishReason | undefined>(random, [undefined, 'stop', 'tool-calls', 'length'])
    return { kind: 'empty', ...(finish && { finish }) }
  },
  splice: (random, events) => ({
    kind: 'splice',
    event: random(events),
    ...(random(3) === 0 && { round: 'Something else.' }),
    ...(random(2) === 0 && { start: false }),
  }),
  'content-in-start': () => ({ kind: 'content-in-start' }),
  'custom-provider-calls': () => ({ kind: 'custom-provider-calls' }),
  'no-item-done': (random) => ({ kind: 'no-item-done', item: random(3) }),
  expired: () => ({ kind: 'expired' }),
  sse: (random) => ({
    kind: 'sse',
    ...(random(2) === 0 && { newline: pick(random, ['crlf', 'cr'] as const) }),
    ...(random(2) === 0 && { bom: true }),
    ...(random(2) === 0 && { comments: true }),
    ...(random(2) === 0 && { dataLines: true }),
    ...(random(2) === 0 && { fields: true }),
    ...(random(2) === 0 && { finalBlank: false }),
  }),
}

const allKinds = Object.keys(makeFault) as FaultKind['kind'][]

/** None, at once, soon, in the past, or in a very long time. */
const retryAfters: readonly (RetryAfter | undefined)[] = [
  undefined,
  { seconds: 0 },
  { seconds: 1 },
  { ms: 20 },
  { date: 1 },
  { date: -60 },
  { seconds: 2_000_000_000 },
]

function randomPoint(random: Random, events: number): FaultPoint {
  const byte = pick<number | 'utf8' | 'escape' | undefined>(random, [
    undefined,
    1 + random(80),
    'utf8',
    'escape',
    -1,
  ])
  const point = { event: random(events), ...(byte !== undefined && { byte }) }
  return pick<FaultPoint>(random, ['before-headers', 'after-headers', point, point, point])
}

function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[random(values.length)] as Value
}

/**
 * Hashes the seed (FNV-1a) for a generator (mulberry32). Integer arithmetic only, so it is the same
 * everywhere.
 */
function seededRandom(seed: string): Random {
  let state = 0x811c9dc5
  for (const byte of new TextEncoder().encode(seed)) state = Math.imul(state ^ byte, 0x01000193)
  return (n) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n
  }
}
