import type { Entry } from 'millrace/client'
import type { CallView, LogView, RunView } from 'millrace/view'
import { createView, take } from 'millrace/view'

export type Event = Entry['event']

export const usage = {
  inputTokens: 1200,
  outputTokens: 88,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

export const runStart: Event = { type: 'run-start', version: 1, runId: 'run_1', agent: 'helper', input: [] }
export const roundStart: Event = { type: 'round-start', round: 1, model: 'm' }
export const roundEnd: Event = { type: 'round-end', round: 1, model: 'm', finish: 'stop' }
export const begins: Event = { type: 'tool-input-start', callId: 'c1', name: 'look' }
export const closes: Event = { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 1 } }
export const runs: Event = { type: 'tool-start', callId: 'c1', name: 'look', attempt: 1 }
export const asks: Event = { type: 'approval-request', callId: 'c1', name: 'look', input: { id: 1 } }

export function result(status: Extract<Event, { type: 'tool-result' }>['status'], ms = 0): Event {
  const isError = status !== 'ok'
  return { type: 'tool-result', callId: 'c1', name: 'look', output: [], status, isError, ms, overlapMs: 0 }
}

export function runEnd(outcome: Extract<Event, { type: 'run-end' }>['outcome'], more: object = {}): Event {
  return { type: 'run-end', outcome, usage, ...more }
}

/** A run and its first round with what happened in it, an event every ten milliseconds from 1000 on. */
export function logOf(...events: Event[]): LogView {
  const log = createView()
  for (const [index, event] of [runStart, roundStart, ...events].entries())
    take(log, { seq: index + 1, at: 1000 + 10 * index, event })
  return log
}

export function callIn(log: LogView): CallView {
  const [call] = runIn(log).calls
  if (!call) throw new Error('there is no call in this log')
  return call
}

export function runIn({ runs: [run] }: LogView): RunView {
  if (!run) throw new Error('there is no run in this log')
  return run
}
