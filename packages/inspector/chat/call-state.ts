import type { ApprovalView, CallState, CallView } from 'millrace/view'
import { stateLabels, wantsResultLabel } from './strings.ts'

/** The color of a call state. */
export function stateTone(state: CallState): 'live' | 'ask' | 'good' | 'bad' | 'quiet' {
  if (state === 'writing' || state === 'queued' || state === 'running') return 'live'
  if (state === 'asking') return 'ask'
  if (state === 'ok') return 'good'
  return state === 'denied' || state === 'canceled' ? 'quiet' : 'bad'
}

/** What the call waits for: a decision, or a result from a client. */
export function openRequest({ state, approvals }: CallView): ApprovalView | undefined {
  return state === 'asking' ? approvals.findLast(({ decision }) => !decision) : undefined
}

export function stateLabel(call: CallView): string {
  return openRequest(call)?.request.wants === 'result' ? wantsResultLabel : stateLabels[call.state]
}

/** How long a call has run so far; undefined if it never ran. */
export function elapsedMs(call: CallView, now: number): number | undefined {
  const { result, startedAt, createdAt, endedAt, provider } = call
  if (result) return result.ms > 0 ? result.ms : undefined
  const from = provider ? createdAt : startedAt
  // The clock of the server may be ahead of the clock here.
  return from === undefined ? undefined : Math.max(0, (endedAt ?? now) - from)
}
