import { expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { foldResult } from './result.ts'

const start = (heard: number[], more = {}): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId: `run_${heard.join('_') || 'on'}`,
  agent: 'cli',
  input: [],
  heard,
  ...more,
})
const round = (number: number, heard?: number[]): ThreadEvent => ({
  type: 'round-start',
  round: number,
  model: 'm',
  ...(heard && { heard }),
})
const text = (words: string): ThreadEvent => ({ type: 'text', text: words })
const end = (outcome: 'completed' | 'suspended' | 'cancelled' = 'completed'): ThreadEvent => ({
  type: 'run-end',
  outcome,
  usage: { ...noUsage, outputTokens: 7 },
})
const request: ThreadEvent = { type: 'approval-request', callId: 'c1', name: 'refund', input: {} }

function fold(events: readonly ThreadEvent[], seq?: number) {
  const answer = foldResult(seq)
  const ours = events.filter((event, index) => answer.take({ seq: index + 1, at: 0, event } as Entry))
  return { ...answer.result(), ours: ours.length }
}

test('the answer is the words of the last round of the run that heard the input', () => {
  const events = [start([1]), round(1), text('Let me '), text('look.'), round(2), text('Found.'), end()]
  expect(fold(events, 1)).toMatchObject({
    runId: 'run_1',
    outcome: 'completed',
    text: 'Found.',
    rounds: 2,
    usage: { outputTokens: 7 },
    ours: 7,
  })
})

test('what is said to somebody else is no part of it', () => {
  const events = [round(2), text('to others'), end(), start([5]), round(1), text('to me'), end()]
  expect(fold(events, 5)).toMatchObject({ text: 'to me', ours: 4 })
})

test('a run that takes it in on its way answers it from there on', () => {
  expect(fold([round(1), text('a'), round(2, [5]), text('b'), end()], 5)).toMatchObject({
    text: 'b',
    ours: 3,
  })
})

test('what was taken back is not said', () => {
  const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'broke' }
  expect(fold([start([1]), round(1), text('half'), retract, round(1), text('whole'), end()], 1).text).toBe(
    'whole',
  )
})

test('a run that goes on with one that waited is the same answer', () => {
  const waiting = [start([1]), round(1), text('May I?'), request, end('suspended')]
  expect(fold(waiting, 1)).toMatchObject({ outcome: 'suspended', text: 'May I?' })
  const decided: ThreadEvent = { type: 'approval', callId: 'c1', approved: true }
  const on = [...waiting, decided, start([], { resumes: 'run_1' }), round(2), text('Done.'), end()]
  expect(fold(on, 1)).toMatchObject({ outcome: 'completed', text: 'Done.' })
})

test('one that was stopped before it began is cancelled', () => {
  expect(fold([{ type: 'stop', reason: 'interrupted' }], 1)).toMatchObject({ outcome: 'cancelled', text: '' })
})
