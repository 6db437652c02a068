import type { TotalCost, Usage } from '../protocol/index.ts'
import { formatCount, formatUsd, totalCost } from '../protocol/index.ts'
import type { RunView } from '../view/index.ts'
import { cleanLine } from './terminal/index.ts'

interface Answered {
  readonly cost: TotalCost
  readonly usage: Usage
  readonly rounds: number
  /** A model of the answer whose price is not known. */
  readonly unpriced?: string | undefined
}

export function runCostLine({ spent, usage, rounds }: RunView, unpriced: string | undefined): string {
  return costLine({ cost: totalCost(spent), usage, rounds: rounds.at(-1)?.number ?? 0, unpriced })
}

/** What an answer has cost and used, in one line. Empty if it has used nothing. */
export function costLine({ cost, usage, rounds, unpriced }: Answered): string {
  const { inputTokens, outputTokens, cacheReadTokens } = usage
  if (inputTokens + outputTokens + cost.knownUsd + (cost.unknown ?? 0) === 0) return ''
  const cached = inputTokens > 0 ? Math.round((100 * cacheReadTokens) / inputTokens) : 0
  const tokens = `${formatCount(inputTokens, 'token')} in, ${outputTokens.toLocaleString('en-US')} out`
  const parts = [costText(cost, unpriced), formatCount(rounds, 'round')]
  // Not every provider reports them.
  if (inputTokens + outputTokens > 0) parts.push(`${tokens}${cached > 0 ? ` (${cached} % cached)` : ''}`)
  return parts.join(' · ')
}

export function costText({ usd, knownUsd, unknown = 0, ...parts }: TotalCost, unpriced?: string): string {
  const marks = [
    markOf('estimated', parts.estimatedUsd, knownUsd),
    markOf('simulated', parts.simulatedUsd, knownUsd),
  ]
  const known = `${formatUsd(knownUsd)}${marks.join('')}`
  if (usd !== undefined) return known
  if (knownUsd > 0) return `at least ${known}, ${formatCount(unknown, 'request')} with an unknown price`
  return `unknown cost${unpriced === undefined ? '' : ` (no price for '${cleanLine(unpriced)}')`}`
}

/** What part of a cost is estimated or simulated. */
export function markOf(word: 'estimated' | 'simulated', part = 0, total: number): string {
  if (part === 0) return ''
  return part >= total ? ` (${word})` : ` (${formatUsd(part)} ${word})`
}
