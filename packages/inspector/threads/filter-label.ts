import { outcomeLabels } from '../chat/strings.ts'
import type { FilterName, ThreadQuery } from './list.ts'
import { statuses } from './status.ts'

export const periods: readonly { readonly days: number; readonly label: string }[] = [
  { days: 1, label: 'Today' },
  { days: 7, label: 'Last 7 days' },
  { days: 30, label: 'Last 30 days' },
]

/** A filter in words, for its chip: `Failed`, `Tool: refund_order`, `At least $0.50`. */
export function filterLabel(query: ThreadQuery, name: FilterName): string {
  const { status, outcome, days, minUsd } = query
  if (name === 'status' && status) return statuses[status].label
  if (name === 'outcome' && outcome) return outcomeLabels[outcome]
  if (name === 'days') return periods.find((period) => period.days === days)?.label ?? ''
  if (name === 'minUsd') return `At least $${minUsd}`
  return `${name === 'agent' ? 'Agent' : name === 'tool' ? 'Tool' : 'Error'}: ${query[name]}`
}
