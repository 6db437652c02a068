import type { CallView, ContextUse, LogView, Paid, RunView, Spent } from 'millrace/view'
import { addSpent, countSpend, formatUsd, nothingSpent, simulatedPrices, totalCost } from 'millrace/view'
import { number, plural } from './format.ts'

/** `$0.0123`, `$0.0004 simulated`, `$0.02 + unknown price`; undefined if it cost nothing. */
export function costText(spent: Spent): string | undefined {
  const { knownUsd, unknown, simulatedUsd } = totalCost(spent)
  const mark = !simulatedUsd ? '' : simulatedUsd === knownUsd ? ' simulated' : ' partly simulated'
  const known = knownUsd > 0 && formatUsd(knownUsd) + mark
  return [known, unknown && 'unknown price'].filter(Boolean).join(' + ') || undefined
}

/** For a table: `$0.0123`, `$0.02 + ?`; a dash if it cost nothing. */
export function shortCost(spent: Spent): string {
  const { knownUsd, unknown } = totalCost(spent)
  return [knownUsd > 0 && formatUsd(knownUsd), unknown && '?'].filter(Boolean).join(' + ') || '–'
}

/** What one request cost. Undefined if the provider sent nothing. */
export function paidText({ cost, usage, estimate }: Paid = {}): string | undefined {
  if (!cost) return usage || estimate ? 'unknown price' : undefined
  const marks = [cost.prices === simulatedPrices && 'simulated', !usage && 'estimated'].filter(Boolean)
  return `${formatUsd(cost.usd)} ${marks.join(', ')}`.trimEnd()
}

/** What a call cost: as its tool reported it, and its sub-agents. */
export function callCost({ inner, result }: CallView): string | undefined {
  const spent = spentIn(inner?.runs ?? [])
  if (result) countSpend(spent, result)
  return costText(spent)
}

/**
 * What the cost of these runs consists of: by model, tools, and which parts are not exact. Nothing if
 * that says no more than their sum.
 */
export function costParts(runs: readonly RunView[], spent = spentIn(runs)): string[] {
  const { knownUsd, unknown, estimatedUsd, simulatedUsd, tools = {} } = totalCost(spent)
  const models = new Map<string, number>()
  for (const { end, retracted, retries } of runs.flatMap(({ rounds }) => rounds))
    for (const paid of [end, retracted?.failed, ...retries.map(({ retry }) => retry.failed)])
      if (paid?.cost) models.set(paid.model, (models.get(paid.model) ?? 0) + paid.cost.usd)
  const parts = [...models, ...Object.entries(tools).map(([name, usd]) => [`Tool ${name}`, usd] as const)]
  const rest = parts.reduce((left, [, usd]) => left - usd, knownUsd)
  const line = (label: string, usd = 0) => (usd > 5e-10 ? [`${label}: ${formatUsd(usd)}`] : [])
  const lines = [
    ...parts.flatMap(([label, usd]) => line(label, usd)),
    ...line('Summaries', rest),
    ...line('Of this estimated', estimatedUsd),
    // If everything is simulated, the sum says so.
    ...line('Of this simulated', simulatedUsd === knownUsd ? 0 : simulatedUsd),
    ...(unknown ? [`Unknown price: ${plural(unknown, 'request')}`] : []),
  ]
  return lines.length > 1 || unknown ? lines : []
}

export function spentIn(runs: readonly RunView[]): Spent {
  return runs.reduce((sum, { spent }) => addSpent(sum, spent), nothingSpent())
}

/** How full the context was after the last round of the thread. */
export function contextOf({ runs }: LogView): ContextUse | undefined {
  return runs.findLast(({ context }) => context)?.context
}

/** `6%`; the tokens if the limit is not known. */
export function shareText({ tokens, limit }: ContextUse): string {
  return limit ? `${Math.round((100 * tokens) / limit)}%` : `${number(tokens)} tokens`
}

/** `12,300 of 200,000 tokens (6%)`; without the limit if it is not known. */
export function contextText(use: ContextUse): string {
  const share = shareText(use)
  return use.limit ? `${number(use.tokens)} of ${number(use.limit)} tokens (${share})` : share
}
