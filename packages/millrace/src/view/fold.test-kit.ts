import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { applyEntry, createView } from './fold.ts'
import type { LogView } from './types.ts'

export function fold(entries: readonly Entry[]): LogView {
  const log = createView()
  for (const entry of entries) applyEntry(log, entry)
  return log
}

/** The view of these events, numbered from 1, ten milliseconds apart. */
export function logOf(...events: ThreadEvent[]): LogView {
  return fold(events.map((event, index) => ({ seq: index + 1, at: 1000 + 10 * index, event })))
}

export const input = (content: string, mode: 'queue' | 'steer' | 'interrupt' = 'queue'): ThreadEvent => ({
  type: 'input',
  message: { role: 'user', content },
  mode,
})
export const starts = (more: { inputs?: number[]; resumes?: string; runId?: string } = {}): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId: 'run_1',
  agent: 'helper',
  input: [],
  ...more,
})
export const round = (number: number, inputs?: number[]): ThreadEvent => ({
  type: 'round-start',
  round: number,
  model: 'm',
  ...(inputs && { inputs }),
})
export const text = (words: string): ThreadEvent => ({ type: 'text', text: words })
export const call = (callId: string): ThreadEvent => ({
  type: 'tool-call',
  callId,
  name: 'look',
  input: { id: 1 },
})
const usage = { inputTokens: 5, outputTokens: 2, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
export const roundEnds = (number: number): ThreadEvent => ({
  type: 'round-end',
  round: number,
  model: 'm',
  finish: 'stop',
  usage,
})
export const ends = (outcome: 'completed' | 'suspended' | 'canceled' = 'completed'): ThreadEvent => ({
  type: 'run-end',
  outcome,
  usage,
})
