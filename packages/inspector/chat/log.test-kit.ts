import type { Entry } from 'millrace/client'
import type { CallView, LogView, RunView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'

export type Event = Entry['event']

export const usage = {
  inputTokens: 1200,
  outputTokens: 88,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

export const runStart: Event = { type: 'run-start', version: 2, runId: 'run_1', agent: 'helper', input: [] }
export const roundStart: Event = { type: 'round-start', round: 1, model: 'm' }
export const roundEnd: Event = { type: 'round-end', round: 1, model: 'm', finish: 'stop' }
export const toolInputStart: Event = { type: 'tool-input-start', callId: 'c1', name: 'look' }
export const toolCall: Event = { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 1 } }
export const toolStart: Event = { type: 'tool-start', callId: 'c1', name: 'look', attempt: 1 }
export const approvalRequest: Event = {
  type: 'approval-request',
  callId: 'c1',
  name: 'look',
  input: { id: 1 },
}

export function toolResult(status: Extract<Event, { type: 'tool-result' }>['status'], ms = 0): Event {
  const isError = status !== 'ok'
  return { type: 'tool-result', callId: 'c1', name: 'look', output: [], status, isError, ms, overlapMs: 0 }
}

export function runEnd(outcome: Extract<Event, { type: 'run-end' }>['outcome'], more: object = {}): Event {
  return { type: 'run-end', outcome, usage, ...more }
}

/** A run with one round and these events, one every 10 ms, starting at 1000. */
export function logOf(...events: Event[]): LogView {
  const log = createView()
  for (const [index, event] of [runStart, roundStart, ...events].entries())
    applyEntry(log, { seq: index + 1, at: 1000 + 10 * index, event })
  return log
}

export function callIn(log: LogView): CallView {
  const [call] = runIn(log).calls
  if (!call) throw new Error('the log has no call')
  return call
}

export function runIn({ runs: [run] }: LogView): RunView {
  if (!run) throw new Error('the log has no run')
  return run
}
