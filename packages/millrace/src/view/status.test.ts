import { expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { createView, statusOf, take } from './fold.ts'

const usage = { inputTokens: 0, outputTokens: 0, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

function input(mode: 'queue' | 'steer'): Entry['event'] {
  return { type: 'input', message: { role: 'user', content: 'Hello' }, mode }
}

function start(heard: number[]): Entry['event'] {
  return { type: 'run-start', version: 1, runId: `run_${heard}`, agent: 'a', input: [], heard }
}

function end(outcome: 'completed' | 'suspended'): Entry['event'] {
  return { type: 'run-end', outcome, usage }
}

function statusAfter(...events: Entry['event'][]) {
  const log = createView()
  for (const [index, event] of events.entries()) take(log, { seq: index + 1, at: index, event })
  return statusOf(log)
}

test('a thread is idle, queued, running and waiting as its log says', () => {
  expect(statusAfter()).toBe('idle')
  expect(statusAfter(input('queue'))).toBe('queued')
  expect(statusAfter(input('queue'), start([1]))).toBe('running')
  expect(statusAfter(input('queue'), start([1]), end('suspended'))).toBe('waiting')
  expect(statusAfter(input('queue'), start([1]), end('completed'))).toBe('idle')
  expect(statusAfter(input('queue'), start([1]), input('queue'), end('completed'))).toBe('queued')
})

test('what was said before a stop does not make it busy', () => {
  expect(statusAfter(input('queue'), { type: 'stop', reason: 'enough' })).toBe('idle')
})
