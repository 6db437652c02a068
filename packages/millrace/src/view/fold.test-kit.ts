import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { createView, take } from './fold.ts'
import type { LogView } from './types.ts'

export function fold(entries: readonly Entry[]): LogView {
  const log = createView()
  for (const entry of entries) take(log, entry)
  return log
}

/** Numbers them from 1, ten milliseconds apart. */
export function logOf(...events: ThreadEvent[]): LogView {
  return fold(events.map((event, index) => ({ seq: index + 1, at: 1000 + 10 * index, event })))
}

export const says = (content: string, mode: 'queue' | 'steer' | 'interrupt' = 'queue'): ThreadEvent => ({
  type: 'input',
  message: { role: 'user', content },
  mode,
})
export const starts = (more: { heard?: number[]; resumes?: string; runId?: string } = {}): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId: 'run_1',
  agent: 'helper',
  input: [],
  ...more,
})
export const round = (number: number, heard?: number[]): ThreadEvent => ({
  type: 'round-start',
  round: number,
  model: 'm',
  ...(heard && { heard }),
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
export const ends = (outcome: 'completed' | 'suspended' | 'cancelled' = 'completed'): ThreadEvent => ({
  type: 'run-end',
  outcome,
  usage,
})
