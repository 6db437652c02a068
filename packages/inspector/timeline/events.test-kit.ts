import type { Entry, ThreadEvent } from 'millrace/client'
import type { LogView, RunView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'

/** The start time of these logs. */
export const zero = 1_763_200_000_000

/** An event and its time in milliseconds after `zero`. */
export type TimedEvent = readonly [atMs: number, event: ThreadEvent]

const usage = { inputTokens: 9, outputTokens: 4, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
const overloaded = { op: 'model', code: 'overloaded', message: 'too busy', retryable: true } as const

/** Short constructors for events. */
export const emit = {
  input: (content: string): ThreadEvent => ({
    type: 'input',
    message: { role: 'user', content },
    mode: 'queue',
  }),
  runStart: (
    more: { inputs?: number[]; resumes?: string; losses?: number; runId?: string } = {},
  ): ThreadEvent => ({
    type: 'run-start',
    version: 1,
    runId: 'run_1',
    agent: 'desk',
    input: [],
    ...more,
  }),
  roundStart: (round: number, inputs?: number[]): ThreadEvent => ({
    type: 'round-start',
    round,
    model: 'm',
    ...(inputs && { inputs }),
  }),
  text: (text: string): ThreadEvent => ({ type: 'text', text }),
  reasoning: (text: string): ThreadEvent => ({ type: 'reasoning', text }),
  toolInputStart: (callId: string, name = 'look_up'): ThreadEvent => ({
    type: 'tool-input-start',
    callId,
    name,
  }),
  toolCall: (callId: string, name = 'look_up'): ThreadEvent => ({
    type: 'tool-call',
    callId,
    name,
    input: {},
  }),
  toolStart: (callId: string, attempt = 1): ThreadEvent => ({
    type: 'tool-start',
    callId,
    name: 'look_up',
    attempt,
  }),
  toolProgress: (callId: string): ThreadEvent => ({ type: 'tool-progress', callId, data: 'half' }),
  toolResult: (
    callId: string,
    ms = 0,
    status: 'ok' | 'failed' | 'denied' | 'unknown' = 'ok',
  ): ThreadEvent => ({
    type: 'tool-result',
    callId,
    name: 'look_up',
    output: [],
    status,
    isError: status !== 'ok',
    ms,
    overlapMs: 0,
  }),
  approvalRequest: (callId: string): ThreadEvent => ({
    type: 'approval-request',
    callId,
    name: 'look_up',
    input: {},
  }),
  approval: (callId: string): ThreadEvent => ({ type: 'approval', callId, approved: true }),
  roundRetry: (round: number, attempt: number, delayMs: number): ThreadEvent => ({
    type: 'round-retry',
    round,
    attempt,
    model: 'm',
    delayMs,
    error: overloaded,
  }),
  roundRetract: (round: number, reason = 'the stream broke'): ThreadEvent => ({
    type: 'round-retract',
    round,
    reason,
  }),
  roundEnd: (round: number, timings?: { firstEventMs?: number; ms: number }): ThreadEvent => ({
    type: 'round-end',
    round,
    model: 'm',
    finish: 'stop',
    usage,
    ...(timings && { timings }),
  }),
  runEnd: (outcome: 'completed' | 'suspended' | 'canceled' = 'completed'): ThreadEvent => ({
    type: 'run-end',
    outcome,
    usage,
  }),
}

/** Entries numbered from 1, as in a store. */
export function entriesOf(events: readonly TimedEvent[]): Entry[] {
  return events.map(([at, event], index) => ({ seq: index + 1, at: zero + at, event }))
}

export function logOf(entries: readonly Entry[]): LogView {
  const log = createView()
  for (const entry of entries) applyEntry(log, entry)
  return log
}

export function runOf(events: readonly TimedEvent[]): { entries: Entry[]; log: LogView; run: RunView } {
  const entries = entriesOf(events)
  const log = logOf(entries)
  return { entries, log, run: log.runs.at(-1) as RunView }
}
