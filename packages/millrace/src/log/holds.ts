import type { AmountKind, Amounts, BudgetScope, Limits, ReachedLimit } from '../protocol/index.ts'
import { amountKinds, toNanos } from '../protocol/index.ts'
import type { DayLimit, Hold, HoldResult } from './store.ts'

/** A budget, what was spent of it, and what other requests hold of it. */
export interface BudgetUse {
  readonly scope: BudgetScope
  readonly limits: Limits
  readonly spent: Amounts
  readonly held: Limits
  /** How many other requests hold something of it. */
  readonly holders: number
}

/** The budgets of a run. Its sub-agents spend them too. */
export interface SharedBudget {
  readonly meters: readonly Meter[]
  /** The limits per day, which the store keeps. */
  days(): readonly DayLimit[]
  readonly store: BudgetStore | undefined
  /** The ids of the holds that the store has. */
  readonly stored: Set<string>
  /** Resolves when a request has ended. */
  released(): Promise<void>
  release(id: string): void
}

/** What is spent and held of a budget that one process has to itself. */
export interface Meter {
  readonly scope: BudgetScope
  limits(): Limits
  spent(): Amounts
  readonly held: Map<string, Limits>
}

/** The part of a store that the budgets of one thread need. */
export interface BudgetStore {
  /** The names under which the thread's spending is counted. */
  readonly agent: string
  readonly user: string | undefined
  hold(hold: Hold): Promise<HoldResult>
  /** Ends a hold as soon as everything appended so far is durable. */
  free(id: string): void
}

/**
 * Decides whether a request may be sent. It may if all requests together stay below the limits
 * whatever they use, or if it is the only one and the limits are not reached: so a limit is never
 * exceeded by more than what one request uses. Every store decides with this function.
 */
export function decideHold(
  { least, most }: Pick<Hold, 'least' | 'most'>,
  budgets: readonly BudgetUse[],
): HoldResult {
  let waits = false
  let toolCalls: ReachedLimit | undefined
  for (const { scope, limits, spent, held, holders } of budgets)
    for (const kind of amountKinds) {
      const limit = limits[kind]
      if (limit === undefined) continue
      const reached = { scope, kind, limit, spent: spent[kind] }
      // A model may still answer when no more calls are left.
      if (kind === 'toolCalls') {
        if (!toolCalls || left(reached) < left(toolCalls)) toolCalls = reached
        continue
      }
      if (spent[kind] >= limit || exceeds(kind, limit, spent[kind] + of(least, kind)))
        return { type: 'reached', limit: reached }
      waits ||= holders > 0 && exceeds(kind, limit, spent[kind] + of(held, kind) + of(most, kind))
    }
  return waits ? { type: 'wait' } : { type: 'held', ...(toolCalls && { toolCalls }) }
}

/** Sums of dollars are not exact: 0.1 and 0.2 are more than 0.3. */
function exceeds(kind: AmountKind, limit: number, amount: number): boolean {
  return kind === 'usd' ? toNanos(amount) > toNanos(limit) : amount > limit
}

export function left({ limit, spent }: ReachedLimit): number {
  return Math.max(0, limit - spent)
}

/** The sum of what requests hold. */
export function sumOfHolds(holds: Iterable<Limits>): Limits {
  const sum = { usd: 0, tokens: 0, rounds: 0 }
  for (const hold of holds) {
    sum.usd += of(hold, 'usd')
    sum.tokens += of(hold, 'tokens')
    sum.rounds += of(hold, 'rounds')
  }
  return sum
}

function of(amounts: Limits, kind: AmountKind): number {
  return amounts[kind] ?? 0
}
