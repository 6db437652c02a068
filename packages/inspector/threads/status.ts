import type { ThreadInfo, ThreadStatus } from 'millrace/client'
import type { Outcome } from 'millrace/view'
import { outcomeLabels } from '../chat/strings.ts'
import type { IconName } from '../icons.tsx'

export interface StatusLabel {
  readonly label: string
  readonly icon: IconName
  readonly tone: 'live' | 'wait' | 'bad' | 'quiet'
}

export const statuses: Readonly<Record<ThreadStatus, StatusLabel>> = {
  running: { label: 'Running', icon: 'play', tone: 'live' },
  queued: { label: 'Queued', icon: 'clock', tone: 'quiet' },
  waiting: { label: 'Waiting', icon: 'warning', tone: 'wait' },
  idle: { label: 'Idle', icon: 'check', tone: 'quiet' },
}

/** Undefined for a thread that rests after it completed, or has not run yet: then there is nothing to say. */
export function statusLabel({
  status,
  outcome,
}: Pick<ThreadInfo, 'status' | 'outcome'>): StatusLabel | undefined {
  if (status !== 'idle') return statuses[status]
  if (outcome === undefined || outcome === 'completed' || outcome === 'suspended') return undefined
  const label = outcomeLabels[outcome]
  if (outcome === 'failed') return { label, icon: 'warning', tone: 'bad' }
  return { label, icon: outcome === 'canceled' ? 'stop' : 'pause', tone: 'quiet' }
}

/** The outcomes to filter by. */
export const outcomes = [
  'completed',
  'failed',
  'canceled',
  'budget',
  'max-rounds',
  'truncated',
] as const satisfies readonly Outcome[]
