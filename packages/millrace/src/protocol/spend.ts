import type { Amounts, Paid } from './cost.ts'
import type { ThreadEvent } from './events.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

// What requests to models and tool calls cost. Amounts of money are added up in nano-dollars, which
// are whole numbers: sums are the same in whatever order they are made.

/** What was spent in a run or a thread, including sub-agents, summaries and failed requests. */
export interface Spent {
  nanos: number
  tokens: number
  rounds: number
  toolCalls: number
  ms: number
  /** How many requests had a model whose price is not known. */
  unknown: number
  /** The parts of `nanos` that are estimated or simulated. */
  estimatedNanos: number
  simulatedNanos: number
  /** The part of `nanos` that each tool has cost, with its sub-agents. */
  tools: Record<string, number>
}

/** What one event adds to what was spent. */
export interface Spend {
  readonly nanos: number
  readonly usage: Partial<Usage>
  readonly rounds: number
  readonly toolCalls: number
  readonly runs: number
  readonly ms: number
  readonly unknown: number
  readonly estimated: boolean
  readonly simulated: boolean
  /** The model that was asked. */
  readonly model?: string | undefined
  /** The tool that ran, or whose sub-agent asked the model. */
  readonly tool?: string | undefined
  /** The sub-agents that spent it, the outermost first. */
  readonly agents: readonly string[]
}

/** The total cost of a run or a thread. */
export interface TotalCost {
  /** Absent if a part of it is not known. */
  readonly usd?: number
  /** The part that is known. */
  readonly knownUsd: number
  /** How many requests had a model whose price is not known. */
  readonly unknown?: number
  /** The part that is estimated, since a provider did not report what was used. */
  readonly estimatedUsd?: number
  /** The part that is simulated: nothing was paid for it. */
  readonly simulatedUsd?: number
  /** The part that each tool has cost, with its sub-agents. */
  readonly tools?: Readonly<Record<string, number>>
}

/** The `prices` of a cost that is not paid. */
export const simulatedPrices = 'simulated'

const nanosPerUsd = 1e9

export const toNanos = (usd: number) => Math.round(usd * nanosPerUsd)
export const toUsd = (nanos: number) => nanos / nanosPerUsd

export function nothingSpent(): Spent {
  return {
    nanos: 0,
    tokens: 0,
    rounds: 0,
    toolCalls: 0,
    ms: 0,
    unknown: 0,
    estimatedNanos: 0,
    simulatedNanos: 0,
    tools: {},
  }
}

/** The statuses of calls that ran. */
const ranStatuses: ReadonlySet<string> = new Set(['ok', 'failed', 'timeout', 'unknown'])

const noSpend: Spend = {
  nanos: 0,
  usage: {},
  rounds: 0,
  toolCalls: 0,
  runs: 0,
  ms: 0,
  unknown: 0,
  estimated: false,
  simulated: false,
  agents: [],
}

function spendOn({ usage, estimate, cost }: Paid, model: string | undefined): Spend {
  return {
    ...noSpend,
    nanos: cost ? toNanos(cost.usd) : 0,
    usage: usage && estimate ? addUsage(addUsage(noUsage, usage), estimate) : (usage ?? estimate ?? {}),
    unknown: cost ? 0 : 1,
    estimated: estimate !== undefined,
    simulated: cost?.prices === simulatedPrices,
    model,
  }
}

const spends: {
  readonly [Type in ThreadEvent['type']]?: (
    event: Extract<ThreadEvent, { readonly type: Type }>,
  ) => Spend | undefined
} = {
  'round-end'(event) {
    const { usage, estimate, cost, finish, model } = event
    // The provider sent nothing before the round was interrupted.
    const isFree = finish === 'interrupted' && !usage && !estimate && !cost
    return isFree ? undefined : { ...spendOn(event, model), rounds: 1 }
  },
  'round-start': ({ failed }) => failed && spendOn(failed, failed.model),
  'round-retry': ({ failed }) => failed && spendOn(failed, failed.model),
  'round-retract': ({ failed }) => failed && spendOn(failed, failed.model),
  summary: (event) => (event.usage || event.estimate ? spendOn(event, event.model) : undefined),
  'tool-result'({ name: tool, status, cost }) {
    const toolCalls = ranStatuses.has(status) ? 1 : 0
    if (!cost && toolCalls === 0) return undefined
    return { ...noSpend, ...(cost && { nanos: toNanos(cost.usd) }), toolCalls, tool }
  },
  'tool-progress'({ name: tool, agent, event }) {
    const nested = tool !== undefined && event ? spendOf(event) : undefined
    // The time and the run of a sub-agent are part of the run that called it.
    return (
      nested && { ...nested, ms: 0, runs: 0, tool, agents: agent ? [agent, ...nested.agents] : nested.agents }
    )
  },
  'run-start': ({ lostMs: ms }) => (ms ? { ...noSpend, ms } : undefined),
  'run-end': ({ ms = 0, outcome, failed }) => ({
    ...(failed ? spendOn(failed, failed.model) : noSpend),
    ms,
    runs: outcome === 'suspended' ? 0 : 1,
  }),
}

/** What an event adds to what was spent. No other place decides that. */
export function spendOf(event: ThreadEvent): Spend | undefined {
  const spend = spends[event.type] as ((event: ThreadEvent) => Spend | undefined) | undefined
  return spend?.(event)
}

export function spendTokens({ usage: { inputTokens = 0, outputTokens = 0 } }: Spend): number {
  return inputTokens + outputTokens
}

/** Adds what an event cost to a total. */
export function countSpend(spent: Spent, event: ThreadEvent): void {
  const spend = spendOf(event)
  if (!spend) return
  const { nanos, tool } = spend
  spent.nanos += nanos
  spent.tokens += spendTokens(spend)
  spent.rounds += spend.rounds
  spent.toolCalls += spend.toolCalls
  spent.ms += spend.ms
  spent.unknown += spend.unknown
  if (spend.estimated) spent.estimatedNanos += nanos
  if (spend.simulated) spent.simulatedNanos += nanos
  if (tool !== undefined && nanos > 0) spent.tools[tool] = (spent.tools[tool] ?? 0) + nanos
}

export function addSpent(a: Spent, b: Spent): Spent {
  const tools = { ...a.tools }
  for (const [name, nanos] of Object.entries(b.tools)) tools[name] = (tools[name] ?? 0) + nanos
  return {
    nanos: a.nanos + b.nanos,
    tokens: a.tokens + b.tokens,
    rounds: a.rounds + b.rounds,
    toolCalls: a.toolCalls + b.toolCalls,
    ms: a.ms + b.ms,
    unknown: a.unknown + b.unknown,
    estimatedNanos: a.estimatedNanos + b.estimatedNanos,
    simulatedNanos: a.simulatedNanos + b.simulatedNanos,
    tools,
  }
}

export function amountsOf({ nanos, tokens, rounds, toolCalls, ms }: Spent): Amounts {
  return { usd: toUsd(nanos), tokens, rounds, toolCalls, ms }
}

export function totalCost({ nanos, unknown, estimatedNanos, simulatedNanos, tools }: Spent): TotalCost {
  const costs = Object.entries(tools).map(([name, part]) => [name, toUsd(part)] as const)
  return {
    ...(unknown === 0 && { usd: toUsd(nanos) }),
    knownUsd: toUsd(nanos),
    ...(unknown > 0 && { unknown }),
    ...(estimatedNanos > 0 && { estimatedUsd: toUsd(estimatedNanos) }),
    ...(simulatedNanos > 0 && { simulatedUsd: toUsd(simulatedNanos) }),
    ...(costs.length > 0 && { tools: Object.fromEntries(costs) }),
  }
}
