import { expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { applyEntry, createView, statusOf } from './fold.ts'

const usage = { inputTokens: 0, outputTokens: 0, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

function input(mode: 'queue' | 'steer'): Entry['event'] {
  return { type: 'input', message: { role: 'user', content: 'Hello' }, mode }
}

function start(inputs: number[]): Entry['event'] {
  return { type: 'run-start', version: 2, runId: `run_${inputs}`, agent: 'a', input: [], inputs }
}

function end(outcome: 'completed' | 'suspended'): Entry['event'] {
  return { type: 'run-end', outcome, usage }
}

function statusAfter(...events: Entry['event'][]) {
  const log = createView()
  for (const [index, event] of events.entries()) applyEntry(log, { seq: index + 1, at: index, event })
  return statusOf(log)
}

test('the status of a thread follows from its log', () => {
  expect(statusAfter()).toBe('idle')
  expect(statusAfter(input('queue'))).toBe('queued')
  expect(statusAfter(input('queue'), start([1]))).toBe('running')
  expect(statusAfter(input('queue'), start([1]), end('suspended'))).toBe('waiting')
  expect(statusAfter(input('queue'), start([1]), end('completed'))).toBe('idle')
  expect(statusAfter(input('queue'), start([1]), input('queue'), end('completed'))).toBe('queued')
})

test('inputs before a stop do not make a thread queued', () => {
  expect(statusAfter(input('queue'), { type: 'stop', reason: 'enough' })).toBe('idle')
})
