import type { CallState } from 'millrace/view'
import { expect, test } from 'vitest'
import { phaseTone, ranMs } from './call-phase.ts'
import { asks, begins, callIn, closes, type Event, logOf, result, roundEnd, runs } from './log.test-kit.ts'

const decides: Event = { type: 'approval', callId: 'c1', approved: true }
const inside: Event = { type: 'approval-request', callId: 'c1/c7', name: 'pay', input: {} }
const searches: Event = { type: 'provider-tool', callId: 'c1', name: 'search', input: { q: 'x' } }

const stories: readonly [phase: CallState, told: string, ...Event[]][] = [
  ['writing', 'its arguments arrive', begins, { type: 'tool-input', callId: 'c1', delta: '{"id"' }],
  ['queued', 'they are closed', begins, closes],
  ['asking', 'somebody is asked', begins, closes, asks],
  ['queued', 'somebody has decided', begins, closes, asks, decides],
  ['running', 'it was started', begins, closes, runs],
  ['asking', 'a call of its sub-agent has to be decided about', begins, closes, runs, inside],
  ['ok', 'it returned', begins, closes, runs, result('ok', 5)],
  ['failed', 'it threw', begins, closes, runs, result('failed')],
  ['declined', 'a person said no', begins, closes, asks, result('declined')],
  ['rejected', 'it was never finished', begins, roundEnd],
  ['running', 'the provider runs it', searches],
  ['ok', 'the provider has an answer', searches, { ...searches, output: 1 } as Event],
  ['ok', 'the provider never says what came of it', searches, roundEnd],
  ['failed', 'the provider failed', searches, { ...searches, output: 1, isError: true } as Event],
]

test.for(stories)('a call is %s when %s', ([phase, , ...events]) => {
  expect(callIn(logOf(...events)).state).toBe(phase)
})

test('what went wrong looks so, and what a person wanted does not', () => {
  const tones = (['running', 'asking', 'ok', 'timeout', 'unknown', 'declined', 'cancelled'] as const).map(
    phaseTone,
  )
  expect(tones).toEqual(['live', 'ask', 'good', 'bad', 'bad', 'quiet', 'quiet'])
})

test('the time of a running call is counted from its start, and never below nothing', () => {
  const call = callIn(logOf(begins, closes, runs))
  expect(call.startedAt).toBe(1040)
  expect(ranMs(call, 1240)).toBe(200)
  expect(ranMs(call, 40)).toBe(0)
})

test('a call that never ran has no time, and one that has run has its own', () => {
  expect(ranMs(callIn(logOf(begins, closes, result('declined'))), 9999)).toBeUndefined()
  expect(ranMs(callIn(logOf(begins, closes, runs, result('ok', 7))), 9999)).toBe(7)
})
