import type { Call, ToolResult } from '../log/types.ts'

/** Where a call is: until it has a result what it waits for, and then what became of it. */
export type CallPhase = 'writing' | 'turn' | 'person' | 'running' | ToolResult['status']

export function phaseOf(call: Call): CallPhase {
  const { result, provider, round } = call
  if (result) return result.status
  if (provider) {
    if (provider.isError) return 'failed'
    return call.endedAt === undefined && !round.end ? 'running' : 'ok'
  }
  if (call.endedAt !== undefined) return 'rejected'
  if (call.approvals.some(({ decision }) => !decision)) return 'person'
  if (call.startedAt !== undefined) return 'running'
  return call.closedAt === undefined ? 'writing' : 'turn'
}

const words: Record<CallPhase, string> = {
  writing: 'Writing arguments',
  turn: 'Waiting for its turn',
  person: 'Waiting for you',
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

export function phaseWords(phase: CallPhase): string {
  return words[phase]
}

/** How it looks, beside its words. */
export function phaseTone(phase: CallPhase): 'live' | 'ask' | 'good' | 'bad' | 'quiet' {
  if (phase === 'writing' || phase === 'turn' || phase === 'running') return 'live'
  if (phase === 'person') return 'ask'
  if (phase === 'ok') return 'good'
  return phase === 'declined' || phase === 'cancelled' ? 'quiet' : 'bad'
}

/** How long it has run, by the clock of the log; undefined if that means nothing. */
export function ranMs(call: Call, now: number): number | undefined {
  const { result, startedAt, begunAt, endedAt, provider } = call
  if (result) return result.ms > 0 ? result.ms : undefined
  const from = provider ? begunAt : startedAt
  // The server's clock may be ahead of this one.
  return from === undefined ? undefined : Math.max(0, (endedAt ?? now) - from)
}
