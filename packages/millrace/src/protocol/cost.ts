import type { Usage } from './usage.ts'

/** What a request or a tool call cost. */
export interface Cost {
  readonly usd: number
  /**
   * Where the price comes from: a catalog and its version (`genai-prices 0.1.8`), `custom` if it was
   * configured, `reported` by a tool, or `simulated` if nothing was paid.
   */
  readonly prices: string
}

/** What a request used and cost, in the event that ends it. */
export interface Paid {
  /** As the provider reported it. */
  readonly usage?: Partial<Usage>
  /** What was probably used, if the provider did not report it. */
  readonly estimate?: TokenEstimate
  /** Absent if the price is not known. */
  readonly cost?: Cost
}

export type TokenEstimate = Pick<Usage, 'inputTokens' | 'outputTokens'>

/** What a request that failed used and cost. Absent in its event if the provider sent nothing. */
export interface FailedRequest extends Paid {
  readonly model: string
}

/** What a budget limits. `tokens` are input and output tokens; `ms` is working time. */
export interface Amounts {
  readonly usd: number
  readonly tokens: number
  readonly rounds: number
  readonly toolCalls: number
  readonly ms: number
}

export type AmountKind = keyof Amounts

export const amountKinds = ['usd', 'tokens', 'rounds', 'toolCalls', 'ms'] as const

/** Limits for some of the amounts. */
export type Limits = { readonly [Kind in AmountKind]?: number | undefined }

/** Whose budget it is. Those of a `user` and an `agent` are per day, in UTC. */
export type BudgetScope = 'run' | 'thread' | 'user' | 'agent'

/** A limit of a budget, and how much of it was spent when it was reached. */
export interface ReachedLimit {
  readonly scope: BudgetScope
  readonly kind: AmountKind
  readonly limit: number
  readonly spent: number
}

/** How the ids of questions about a budget start. */
export const budgetId = 'budget_'

/** How full the model's context is, in tokens, and what fills it. */
export interface ContextUse {
  readonly tokens: number
  /** The length of the context, if it is known. */
  readonly limit?: number
  /** Past this length the conversation is compacted before the next round. */
  readonly compactAt?: number
  readonly system: number
  readonly tools: number
  /** Messages of users and answers. */
  readonly history: number
  /** Results of tools. */
  readonly results: number
}
