export type SpendingKey = 'day' | 'agent' | 'user' | 'model' | 'tool'

export interface SpendingOptions {
  /** What to group by. Without it, there is a single row with the total. */
  readonly by?: readonly SpendingKey[] | undefined
  /** The first and the last day, in UTC: `2026-11-18`. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly agent?: string | undefined
  readonly user?: string | undefined
}

/** What was spent, for one combination of what it is grouped by. */
export interface SpendingRow {
  readonly day?: string
  readonly agent?: string
  /** Absent for threads without a user. */
  readonly user?: string
  /** Absent for what tools cost themselves, and for time. */
  readonly model?: string
  /** The tool that cost it, with its sub-agents; absent for the agent itself. */
  readonly tool?: string
  /** The known part of the cost, with what is estimated and simulated. */
  readonly usd: number
  readonly estimatedUsd: number
  readonly simulatedUsd: number
  /** How many requests had a model whose price is not known. */
  readonly unknown: number
  readonly runs: number
  readonly rounds: number
  readonly toolCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly ms: number
}
