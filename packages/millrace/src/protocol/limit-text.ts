import type { AmountKind, BudgetScope, ReachedLimit } from './cost.ts'
import type { JsonObject } from './json.ts'

// How costs and budgets are written wherever people read them.

/** Two decimals from ten cents on, otherwise up to four. */
export function formatUsd(usd: number): string {
  if (usd > 0 && usd < 0.0001) return '<$0.0001'
  const maximumFractionDigits = usd < 0.1 ? 4 : 2
  return `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits })}`
}

/** `1 round`, `12,345 tokens`. */
export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

const formats: { readonly [Kind in AmountKind]: (amount: number) => string } = {
  usd: formatUsd,
  tokens: (count) => formatCount(count, 'token'),
  rounds: (count) => formatCount(count, 'round'),
  toolCalls: (count) => formatCount(count, 'tool call'),
  ms: (ms) => (ms < 120_000 ? `${Number((ms / 1000).toFixed(1))} s` : `${Math.round(ms / 60_000)} min`),
}

export function formatAmount(kind: AmountKind, amount: number): string {
  return formats[kind](amount)
}

const scopes: { readonly [Scope in BudgetScope]: string } = {
  run: 'for this run',
  thread: 'for this thread',
  user: 'per user and day',
  agent: 'per day for this agent',
}

function budgetText({ scope, kind, limit }: ReachedLimit) {
  return `The budget of ${formatAmount(kind, limit)} ${scopes[scope]}`
}

/** Which limit was reached, as a sentence. */
export function limitText(limit: ReachedLimit): string {
  const { kind, spent } = limit
  // A request is not sent either if its input alone would exceed the limit.
  if (spent < limit.limit)
    return `${budgetText(limit)} is too small for the next request (${formatAmount(kind, spent)} spent).`
  return `${budgetText(limit)} is spent.`
}

/** What a person is asked when a limit is reached. `input` says how much more it would be. */
export function budgetQuestion(limit: ReachedLimit, input: JsonObject): string {
  const { kind, spent } = limit
  const isSpent = spent >= limit.limit
  const happened = isSpent
    ? `${budgetText(limit)} is spent (${formatAmount(kind, spent)}).`
    : limitText(limit)
  const more = formatAmount(kind, Number(input[kind]))
  return `${happened} ${kind === 'usd' ? `Spend ${more} more?` : `Allow another ${more}?`}`
}
