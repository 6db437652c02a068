import type { Entry, ThreadEvent } from 'millrace/client'
import type { LogView, RunView } from 'millrace/view'
import { createView, take } from 'millrace/view'

/** Where the clock of these logs begins. */
export const zero = 1_763_200_000_000

/** What happened, and how many milliseconds after the beginning. */
export type Told = readonly [atMs: number, event: ThreadEvent]

const usage = { inputTokens: 9, outputTokens: 4, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
const refusal = { op: 'model', code: 'overloaded', message: 'too busy', retryable: true } as const

/** Short words for the events of a log. */
export const tell = {
  says: (content: string): ThreadEvent => ({
    type: 'input',
    message: { role: 'user', content },
    mode: 'queue',
  }),
  starts: (
    more: { heard?: number[]; resumes?: string; losses?: number; runId?: string } = {},
  ): ThreadEvent => ({
    type: 'run-start',
    version: 1,
    runId: 'run_1',
    agent: 'desk',
    input: [],
    ...more,
  }),
  round: (round: number, heard?: number[]): ThreadEvent => ({
    type: 'round-start',
    round,
    model: 'm',
    ...(heard && { heard }),
  }),
  text: (text: string): ThreadEvent => ({ type: 'text', text }),
  thinks: (text: string): ThreadEvent => ({ type: 'reasoning', text }),
  writes: (callId: string, name = 'look_up'): ThreadEvent => ({ type: 'tool-input-start', callId, name }),
  calls: (callId: string, name = 'look_up'): ThreadEvent => ({ type: 'tool-call', callId, name, input: {} }),
  runs: (callId: string, attempt = 1): ThreadEvent => ({
    type: 'tool-start',
    callId,
    name: 'look_up',
    attempt,
  }),
  reports: (callId: string): ThreadEvent => ({ type: 'tool-progress', callId, data: 'half' }),
  result: (callId: string, ms = 0, status: 'ok' | 'failed' | 'declined' | 'unknown' = 'ok'): ThreadEvent => ({
    type: 'tool-result',
    callId,
    name: 'look_up',
    output: [],
    status,
    isError: status !== 'ok',
    ms,
    overlapMs: 0,
  }),
  asks: (callId: string): ThreadEvent => ({ type: 'approval-request', callId, name: 'look_up', input: {} }),
  approves: (callId: string): ThreadEvent => ({ type: 'approval', callId, approved: true }),
  retries: (round: number, attempt: number, delayMs: number): ThreadEvent => ({
    type: 'round-retry',
    round,
    attempt,
    model: 'm',
    delayMs,
    error: refusal,
  }),
  retracts: (round: number, reason = 'the stream broke'): ThreadEvent => ({
    type: 'round-retract',
    round,
    reason,
  }),
  roundEnds: (round: number, timings?: { firstEventMs?: number; ms: number }): ThreadEvent => ({
    type: 'round-end',
    round,
    model: 'm',
    finish: 'stop',
    usage,
    ...(timings && { timings }),
  }),
  ends: (outcome: 'completed' | 'suspended' | 'cancelled' = 'completed'): ThreadEvent => ({
    type: 'run-end',
    outcome,
    usage,
  }),
}

/** Numbered from 1, as a store would. */
export function entriesOf(told: readonly Told[]): Entry[] {
  return told.map(([at, event], index) => ({ seq: index + 1, at: zero + at, event }))
}

export function logOf(entries: readonly Entry[]): LogView {
  const log = createView()
  for (const entry of entries) take(log, entry)
  return log
}

export function runOf(told: readonly Told[]): { entries: Entry[]; log: LogView; run: RunView } {
  const entries = entriesOf(told)
  const log = logOf(entries)
  return { entries, log, run: log.runs.at(-1) as RunView }
}
