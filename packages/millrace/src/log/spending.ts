import type {
  OptionTable,
  Problem,
  SpendingKey,
  SpendingOptions,
  SpendingRow,
  ThreadEvent,
  ThreadInfo,
} from '../protocol/index.ts'
import { checkOptions, invalidInput, kindOf, nameOf, spendOf, toNanos, toUsd } from '../protocol/index.ts'
import type { BudgetUse } from './holds.ts'
import type { DayLimit, Hold } from './store.ts'

// How every store counts what was spent, and what requests hold.

/** What a row adds up, with the names of its columns in a database. */
export const sumColumns = {
  nanos: 'nanos',
  estimatedNanos: 'estimated_nanos',
  simulatedNanos: 'simulated_nanos',
  unknown: 'unknown',
  runs: 'runs',
  rounds: 'rounds',
  toolCalls: 'tool_calls',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  ms: 'ms',
} as const

/** What the total of a user or an agent on one day adds up, likewise. */
export const totalColumns = {
  nanos: 'nanos',
  tokens: 'tokens',
  rounds: 'rounds',
  toolCalls: 'tool_calls',
  ms: 'ms',
} as const

export type SpendingSums = Record<keyof typeof sumColumns, number>
export type DayTotal = Record<keyof typeof totalColumns, number>

const sumKeys = Object.keys(sumColumns) as (keyof SpendingSums)[]

/** What one event adds. */
export interface CountedSpend {
  readonly model: string | undefined
  readonly tool: string | undefined
  /** The sub-agents that spent it. */
  readonly agents: readonly string[]
  readonly sums: SpendingSums
}

/** Sums for one combination of keys. */
export interface SpentRow extends SpendingSums {
  /** Counted from 1970, in UTC. */
  readonly day?: number | undefined
  readonly agent?: string | undefined
  readonly user?: string | undefined
  readonly model?: string | undefined
  readonly tool?: string | undefined
}

/** A hold whose thread has a lease that expired longer ago than this is ignored. */
export const holdGraceMs = 60_000

const dayMs = 86_400_000

export function dayOf(time: number): number {
  return Math.floor(time / dayMs)
}

/** What the events of a batch add. Most batches have only deltas, which add nothing. */
export function spendsIn(events: readonly ThreadEvent[]): readonly CountedSpend[] {
  const spends: CountedSpend[] = []
  for (const event of events) {
    const spend = spendOf(event)
    if (!spend) continue
    const { usage, model, tool, agents } = spend
    const nanos = whole(spend.nanos)
    const sums: SpendingSums = {
      nanos,
      estimatedNanos: spend.estimated ? nanos : 0,
      simulatedNanos: spend.simulated ? nanos : 0,
      unknown: spend.unknown,
      runs: spend.runs,
      rounds: spend.rounds,
      toolCalls: spend.toolCalls,
      inputTokens: whole(usage.inputTokens),
      outputTokens: whole(usage.outputTokens),
      cacheReadTokens: whole(usage.cacheReadTokens),
      cacheWriteTokens: whole(usage.cacheWriteTokens),
      ms: whole(spend.ms),
    }
    if (sumKeys.some((key) => sums[key] !== 0)) spends.push({ model, tool, agents, sums })
  }
  return spends
}

/** A number that fits into any column: one that does not must not keep a log from being written. */
function whole(amount = 0): number {
  const most = Number.MAX_SAFE_INTEGER
  return Math.max(-most, Math.min(most, Math.round(amount))) || 0
}

function addSums(sums: SpendingSums, more: Readonly<SpendingSums>): void {
  for (const key of sumKeys) sums[key] += more[key]
}

/** Adds up what is spent on one day, so that each row is written once. */
export function spendingCounter() {
  const rows = new Map<string, SpentRow>()
  const totals = new Map<string, DayTotal & Pick<DayLimit, 'scope' | 'name'>>()

  function addTotal(scope: DayLimit['scope'], name: string, sums: SpendingSums) {
    const key = `${scope} ${name}`
    let total = totals.get(key)
    if (!total) {
      total = { scope, name, nanos: 0, tokens: 0, rounds: 0, toolCalls: 0, ms: 0 }
      totals.set(key, total)
    }
    total.nanos += sums.nanos
    total.tokens += sums.inputTokens + sums.outputTokens
    total.rounds += sums.rounds
    total.toolCalls += sums.toolCalls
    total.ms += sums.ms
  }

  return {
    rows,
    totals,
    add({ agent, user }: Pick<ThreadInfo, 'agent' | 'user'>, spends: readonly CountedSpend[]): void {
      for (const { model, tool, agents, sums } of spends) {
        const key = JSON.stringify([agent, user, model, tool])
        const row = rows.get(key)
        if (row) addSums(row, sums)
        else rows.set(key, { agent, user, model, tool, ...sums })
        addTotal('agent', agent, sums)
        for (const [index, name] of agents.entries())
          if (name !== agent && agents.indexOf(name) === index) addTotal('agent', name, sums)
        if (user !== undefined) addTotal('user', user, sums)
      }
    },
  }
}

export type SpendingCounter = ReturnType<typeof spendingCounter>

/** What a hold keeps of each of its limits. */
export type HeldAmounts = Pick<DayTotal, 'nanos' | 'tokens' | 'rounds'>

export function heldAmounts({ most: { usd = 0, tokens, rounds } }: Hold): HeldAmounts {
  return { nanos: whole(toNanos(usd)), tokens: whole(tokens), rounds: whole(rounds) }
}

/** A limit, with what a store has read about it. `holders` are other holds, `held` is their sum. */
export function budgetUse(
  { scope, limits }: DayLimit,
  { nanos, tokens, rounds, toolCalls, ms }: DayTotal,
  { held, holders }: { readonly held: HeldAmounts; readonly holders: number },
): BudgetUse {
  return {
    scope,
    limits,
    spent: { usd: toUsd(nanos), tokens, rounds, toolCalls, ms },
    held: { usd: toUsd(held.nanos), tokens: held.tokens, rounds: held.rounds },
    holders,
  }
}

const spendingKeys: readonly SpendingKey[] = ['day', 'agent', 'user', 'model', 'tool']

const optionTable: OptionTable<SpendingOptions> = {
  by(value) {
    if (!Array.isArray(value)) return `must be an array such as ['user', 'day'], not ${nameOf(value)}`
    const unknown = value.filter((key) => !spendingKeys.includes(key))
    return unknown.length > 0 && `cannot have ${nameOf(unknown[0])}: use ${spendingKeys.join(', ')}`
  },
  from: aDate,
  to: aDate,
  agent: aName,
  user: aName,
}

function aDate(value: unknown): Problem {
  const day = typeof value === 'string' ? dayOf(Date.parse(`${value}T00:00Z`)) : Number.NaN
  // A date such as February 30 would become another one.
  const isDate = Number.isFinite(day) && dateOf(day) === value
  return !isDate && `must be a date such as '2026-11-18', not ${nameOf(value)}`
}

function aName(value: unknown): Problem {
  return typeof value !== 'string' && `must be text, not ${kindOf(value)}`
}

/** What to add up, with the days as numbers. */
export interface SpendingFilter extends Pick<SpendingOptions, 'agent' | 'user'> {
  readonly by: readonly SpendingKey[]
  readonly from: number
  readonly to: number
}

/** Throws `invalid_input` if the options make no sense. */
export function spendingFilter(options: SpendingOptions): SpendingFilter {
  const op = 'store.spending'
  checkOptions(options, optionTable, { op, what: 'the option' })
  const { by = [], from, to, agent, user } = options
  if (from && to && from > to)
    throw invalidInput(op, `'from' (${from}) must not be later than 'to' (${to}): swap them`)
  return {
    by: [...new Set(by)],
    from: from ? dayOf(Date.parse(from)) : 0,
    to: to ? dayOf(Date.parse(to)) : 2 ** 31 - 1,
    agent,
    user,
  }
}

/** Groups rows by the keys, in their order. Rows may be grouped already. */
export function spendingRows(rows: Iterable<SpentRow>, by: readonly SpendingKey[]): SpendingRow[] {
  const groups = new Map<string, { readonly names: Names; readonly sums: SpendingSums }>()
  const groupOf = (names: Names) => {
    const key = JSON.stringify(names)
    const group = groups.get(key) ?? { names, sums: { ...noSums } }
    groups.set(key, group)
    return group
  }
  if (by.length === 0) groupOf([])
  for (const row of rows) {
    const names = by.map((key) => (key === 'day' ? dateOf(row.day ?? 0) : row[key]))
    addSums(groupOf(names).sums, row)
  }
  return [...groups.values()]
    .sort((one, other) => compareNames(one.names, other.names))
    .map(({ names, sums: { nanos, estimatedNanos, simulatedNanos, ...sums } }) => ({
      ...Object.fromEntries(
        by.flatMap((key, index) => (names[index] === undefined ? [] : [[key, names[index]]])),
      ),
      usd: toUsd(nanos),
      estimatedUsd: toUsd(estimatedNanos),
      simulatedUsd: toUsd(simulatedNanos),
      ...sums,
    }))
}

const noSums = Object.fromEntries(sumKeys.map((key) => [key, 0])) as SpendingSums

function dateOf(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

type Names = readonly (string | undefined)[]

/** In the order of code units, as no database does by default. What has no name comes first. */
function compareNames(one: Names, other: Names): number {
  for (const [index, name] of one.entries()) {
    const another = other[index]
    if (name === another) continue
    if (name === undefined || another === undefined) return name === undefined ? -1 : 1
    return name < another ? -1 : 1
  }
  return 0
}
