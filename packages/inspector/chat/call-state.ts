import type { CallState, CallView } from 'millrace/view'

/** The color of a call state. */
export function stateTone(state: CallState): 'live' | 'ask' | 'good' | 'bad' | 'quiet' {
  if (state === 'writing' || state === 'queued' || state === 'running') return 'live'
  if (state === 'asking') return 'ask'
  if (state === 'ok') return 'good'
  return state === 'denied' || state === 'canceled' ? 'quiet' : 'bad'
}

/** How long a call has run so far; undefined if it never ran. */
export function elapsedMs(call: CallView, now: number): number | undefined {
  const { result, startedAt, createdAt, endedAt, provider } = call
  if (result) return result.ms > 0 ? result.ms : undefined
  const from = provider ? createdAt : startedAt
  // The clock of the server may be ahead of the clock here.
  return from === undefined ? undefined : Math.max(0, (endedAt ?? now) - from)
}
