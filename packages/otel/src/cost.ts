import type { Attributes } from '@opentelemetry/api'
import type { Model, RunEvent } from 'millrace'
import type { ContextUse, Paid, ReachedLimit } from 'millrace/internal'
import { countSpend, nothingSpent, spendOf, totalCost, toUsd } from 'millrace/internal'
import type { Kit } from './kit.ts'

type CostKind = 'round' | 'failed' | 'summary' | 'tool'

/**
 * Events that cost something, and what is paid for. A sub-agent reports its own run, so that
 * `tool-progress`, which repeats its events, is not counted.
 */
const kinds: { readonly [Type in RunEvent['type']]?: CostKind } = {
  'round-end': 'round',
  'round-retry': 'failed',
  'round-retract': 'failed',
  summary: 'summary',
  'tool-result': 'tool',
}

/** Measures what one run costs, without its sub-agents and the runs that it resumes. */
export interface RunCost {
  /** A model is called: from now on its provider is known. */
  called(model: Model): void
  count(event: RunEvent): void
  context(model: string, use: ContextUse | undefined): void
  reached(limit: ReachedLimit | undefined, action: 'ask' | 'end' | 'model'): void
  /** The total, for the span of the run. */
  attributes(): Attributes
}

export function runCost(kit: Kit, agent: string): RunCost {
  const spent = nothingSpent()
  const models = new Map<string, Attributes>()
  const limits = new Set<string>()
  const byAgent: Attributes = { 'gen_ai.agent.name': agent }
  const namesOf = (model: string | undefined): Attributes =>
    model === undefined ? {} : (models.get(model) ?? { 'gen_ai.request.model': model })

  return {
    called: (model) => void models.set(model.id, kit.names(model).run),
    count(event) {
      const spend = spendOf(event)
      const kind = kinds[event.type]
      if (!spend || kind === undefined) return
      countSpend(spent, event)
      const { nanos, unknown, simulated, model, tool } = spend
      const { cost, unknownPrices } = kit.instruments()
      const attributes = { ...byAgent, 'millrace.cost.kind': kind, ...namesOf(model) }
      if (unknown > 0) unknownPrices.add(unknown, kit.shared(attributes))
      if (nanos > 0)
        cost.add(
          toUsd(nanos),
          kit.shared({
            ...attributes,
            'millrace.cost.simulated': simulated,
            ...(tool !== undefined && { 'gen_ai.tool.name': tool }),
          }),
        )
    },
    context(model, use) {
      if (use?.limit)
        kit.instruments().contextUse.record(use.tokens / use.limit, { ...byAgent, ...namesOf(model) })
    },
    reached(limit, action) {
      if (!limit) return
      const { scope, kind } = limit
      const key = [action, scope, kind].join()
      // Each round says that a cheaper model answers.
      if (limits.has(key)) return
      limits.add(key)
      kit.instruments().budgets.add(1, {
        ...byAgent,
        'millrace.budget.scope': scope,
        'millrace.budget.kind': kind,
        'millrace.budget.action': action,
      })
    },
    attributes() {
      const { usd, knownUsd, unknown, estimatedUsd, simulatedUsd } = totalCost(spent)
      return {
        'millrace.cost.usd': usd,
        'millrace.cost.known_usd': unknown && knownUsd > 0 ? knownUsd : undefined,
        'millrace.cost.unknown': unknown,
        'millrace.cost.estimated_usd': estimatedUsd,
        'millrace.cost.simulated': simulatedUsd === undefined ? undefined : true,
      }
    },
  }
}

/** What a request cost, for its span. */
export function paidAttributes({ cost, usage, estimate }: Paid): Attributes {
  return {
    'millrace.cost.usd': cost?.usd,
    'millrace.cost.prices': cost?.prices,
    'millrace.cost.estimated': (cost && !usage && estimate !== undefined) || undefined,
    'millrace.cost.simulated': cost?.prices === 'simulated' || undefined,
  }
}

export function contextAttributes(use: ContextUse | undefined): Attributes {
  return { 'millrace.context.tokens': use?.tokens, 'millrace.context.limit': use?.limit }
}

export function limitAttributes(limit: ReachedLimit | undefined): Attributes {
  return { 'millrace.budget.scope': limit?.scope, 'millrace.budget.kind': limit?.kind }
}

/**
 * Returns the same object for equal attributes, as local counters need it. There are as many as
 * series.
 */
export function sharedAttributes(): (attributes: Attributes) => Attributes {
  const known = new Map<string, Attributes>()
  return (attributes) => {
    const key = JSON.stringify(attributes)
    const shared = known.get(key) ?? attributes
    known.set(key, shared)
    return shared
  }
}
