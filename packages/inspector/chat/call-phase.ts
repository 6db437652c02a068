import type { CallState, CallView } from 'millrace/view'

export const stateWords: Readonly<Record<CallState, string>> = {
  writing: 'Writing arguments',
  queued: 'Waiting for its turn',
  asking: 'Waiting for you',
  running: 'Running',
  ok: 'Done',
  failed: 'Failed',
  timeout: 'Timed out',
  rejected: 'Not run',
  blocked: 'Blocked',
  declined: 'Declined',
  cancelled: 'Cancelled',
  unknown: 'Fate unknown',
}

/** How it looks, beside its words. */
export function phaseTone(state: CallState): 'live' | 'ask' | 'good' | 'bad' | 'quiet' {
  if (state === 'writing' || state === 'queued' || state === 'running') return 'live'
  if (state === 'asking') return 'ask'
  if (state === 'ok') return 'good'
  return state === 'declined' || state === 'cancelled' ? 'quiet' : 'bad'
}

/** How long it has run, by the clock of the log; undefined if that means nothing. */
export function ranMs(call: CallView, now: number): number | undefined {
  const { result, startedAt, begunAt, endedAt, provider } = call
  if (result) return result.ms > 0 ? result.ms : undefined
  const from = provider ? begunAt : startedAt
  // The server's clock may be ahead of this one.
  return from === undefined ? undefined : Math.max(0, (endedAt ?? now) - from)
}
