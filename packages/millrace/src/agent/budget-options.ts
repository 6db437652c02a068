import type { Limits, Model, OptionTable, Problem } from '../protocol/index.ts'
import { anObject, checkOptions, isObject, nameOf } from '../protocol/index.ts'
import { definedOptions, modelProblem } from './option-checks.ts'

/**
 * What a run may spend, with its sub-agents, summaries and failed requests. It is checked before
 * each request to a model; `toolCalls` also before each call, and `ms` while a request is running.
 */
export interface Budget extends Limits {
  /** For all runs of a thread together. */
  readonly thread?: Limits | undefined
  /** For each user and day in UTC, with all agents. Threads without a user are not limited. */
  readonly userPerDay?: Limits | undefined
  /** For all runs of the agent on a day in UTC. */
  readonly agentPerDay?: Limits | undefined
  /**
   * What happens when a limit is reached:
   * - `end` (the default): the run ends with the outcome `budget` and what there is
   * - `ask`: the run is suspended until a person allows as much again, or denies it
   * - `{ model }`: another model answers as soon as the share `from` (0.8) of a limit is spent, and
   *   the run ends at the limit
   */
  readonly onLimit?: OnLimit | undefined
}

type OnLimit = 'end' | 'ask' | { readonly model: Model; readonly from?: number | undefined }

const amount = (value: unknown): Problem =>
  !(typeof value === 'number' && value >= 0) && `must be a number of at least 0, not ${nameOf(value)}`

const limitsTable: OptionTable<Limits> = {
  usd: amount,
  tokens: amount,
  rounds: amount,
  toolCalls: amount,
  ms: amount,
}

const parts = ['thread', 'userPerDay', 'agentPerDay'] as const

const budgetTable: OptionTable<Budget> = {
  ...limitsTable,
  thread: anObject,
  userPerDay: anObject,
  agentPerDay: anObject,
  onLimit: (value) =>
    value !== 'end' &&
    value !== 'ask' &&
    !(isObject(value) && value.model) &&
    `must be 'end', 'ask' or { model, from }, not ${nameOf(value)}`,
}

const onLimitTable: OptionTable<Exclude<OnLimit, string>> = {
  model: modelProblem,
  from: (value) =>
    !(typeof value === 'number' && value > 0 && value <= 1) &&
    `must be a share of the limit between 0 and 1, not ${nameOf(value)}`,
}

/** Throws `invalid_input` naming the field. `what` is such as `the agent option`. */
export function checkBudget(budget: Budget, { op, what }: { op: string; what: string }): void {
  checkOptions(budget, budgetTable, { op, what: `${what} budget.` })
  for (const part of parts)
    if (budget[part]) checkOptions(budget[part], limitsTable, { op, what: `${what} budget.${part}.` })
  if (isObject(budget.onLimit))
    checkOptions(budget.onLimit, onLimitTable, { op, what: `${what} budget.onLimit.` })
}

/** Overrides the limits of one budget with those of another. */
export function mergeBudgets(base: Budget | undefined, over: Budget | undefined): Budget | undefined {
  if (!base || !over) return over ?? base
  const merged = parts.flatMap((part) =>
    base[part] && over[part] ? [[part, { ...base[part], ...definedOptions(over[part]) }]] : [],
  )
  return { ...base, ...definedOptions(over), ...Object.fromEntries(merged) }
}
