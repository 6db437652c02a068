import { expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { foldResult } from './result.ts'

const start = (inputs: number[], more = {}): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId: `run_${inputs.join('_') || 'resumed'}`,
  agent: 'cli',
  input: [],
  inputs,
  ...more,
})
const round = (number: number, inputs?: number[]): ThreadEvent => ({
  type: 'round-start',
  round: number,
  model: 'm',
  ...(inputs && { inputs }),
})
const text = (words: string): ThreadEvent => ({ type: 'text', text: words })
const end = (outcome: 'completed' | 'suspended' | 'canceled' = 'completed'): ThreadEvent => ({
  type: 'run-end',
  outcome,
  usage: { ...noUsage, outputTokens: 7 },
})
const request: ThreadEvent = { type: 'approval-request', callId: 'c1', name: 'refund', input: {} }

function fold(events: readonly ThreadEvent[], seq?: number) {
  const answer = foldResult(seq)
  const included = events.filter((event, index) =>
    answer.applyEntry({ seq: index + 1, at: 0, event } as Entry),
  )
  return { ...answer.result(), included: included.length }
}

test('the answer is the text of the last round of the run that read the input', () => {
  const events = [start([1]), round(1), text('Let me '), text('look.'), round(2), text('Found.'), end()]
  expect(fold(events, 1)).toMatchObject({
    runId: 'run_1',
    outcome: 'completed',
    text: 'Found.',
    rounds: 2,
    usage: { outputTokens: 7 },
    included: 7,
  })
})

test('other runs are not part of the answer', () => {
  const events = [round(2), text('to others'), end(), start([5]), round(1), text('to me'), end()]
  expect(fold(events, 5)).toMatchObject({ text: 'to me', included: 4 })
})

test('a run that reads the input in a later round answers it from there on', () => {
  expect(fold([round(1), text('a'), round(2, [5]), text('b'), end()], 5)).toMatchObject({
    text: 'b',
    included: 3,
  })
})

test('retracted text is not part of the answer', () => {
  const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'broke' }
  expect(fold([start([1]), round(1), text('half'), retract, round(1), text('whole'), end()], 1).text).toBe(
    'whole',
  )
})

test('a run that resumes a suspended one is the same answer', () => {
  const waiting = [start([1]), round(1), text('May I?'), request, end('suspended')]
  expect(fold(waiting, 1)).toMatchObject({ outcome: 'suspended', text: 'May I?' })
  const decided: ThreadEvent = { type: 'approval', callId: 'c1', approved: true }
  const resumed = [...waiting, decided, start([], { resumes: 'run_1' }), round(2), text('Done.'), end()]
  expect(fold(resumed, 1)).toMatchObject({ outcome: 'completed', text: 'Done.' })
})

test('an input that was stopped before its run started is canceled', () => {
  expect(fold([{ type: 'stop', reason: 'interrupted' }], 1)).toMatchObject({ outcome: 'canceled', text: '' })
})
