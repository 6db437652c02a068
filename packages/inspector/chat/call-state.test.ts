import type { CallState } from 'millrace/view'
import { expect, test } from 'vitest'
import { elapsedMs, stateLabel, stateTone } from './call-state.ts'
import {
  approvalRequest,
  callIn,
  type Event,
  logOf,
  roundEnd,
  toolCall,
  toolInputStart,
  toolResult,
  toolStart,
} from './log.test-kit.ts'

const approval: Event = { type: 'approval', callId: 'c1', approved: true }
const innerRequest: Event = { type: 'approval-request', callId: 'c1/c7', name: 'pay', input: {} }
const providerTool: Event = { type: 'provider-tool', callId: 'c1', name: 'search', input: { q: 'x' } }

const cases: readonly [state: CallState, when: string, ...Event[]][] = [
  ['writing', 'its arguments arrive', toolInputStart, { type: 'tool-input', callId: 'c1', delta: '{"id"' }],
  ['queued', 'its arguments are complete', toolInputStart, toolCall],
  ['asking', 'approval is requested', toolInputStart, toolCall, approvalRequest],
  ['queued', 'a user has decided', toolInputStart, toolCall, approvalRequest, approval],
  ['running', 'it was started', toolInputStart, toolCall, toolStart],
  ['asking', 'a call of its sub-agent needs approval', toolInputStart, toolCall, toolStart, innerRequest],
  ['ok', 'it returned', toolInputStart, toolCall, toolStart, toolResult('ok', 5)],
  ['failed', 'it threw', toolInputStart, toolCall, toolStart, toolResult('failed')],
  ['denied', 'a user denied it', toolInputStart, toolCall, approvalRequest, toolResult('denied')],
  ['rejected', 'it was never finished', toolInputStart, roundEnd],
  ['running', 'the provider runs it', providerTool],
  ['ok', 'the provider reports a result', providerTool, { ...providerTool, output: 1 } as Event],
  ['ok', 'the provider never reports a result', providerTool, roundEnd],
  ['failed', 'the provider failed', providerTool, { ...providerTool, output: 1, isError: true } as Event],
]

test.for(cases)('a call is %s when %s', ([state, , ...events]) => {
  expect(callIn(logOf(...events)).state).toBe(state)
})

test('the label says whether a user or a client has to answer', () => {
  const wanted = { ...approvalRequest, wants: 'result' } as Event
  const labels = [
    [toolCall, approvalRequest],
    [toolCall, toolStart, wanted],
    [toolCall, toolStart, innerRequest],
    [toolCall, toolStart, { ...innerRequest, wants: 'result' } as Event],
    // It was approved before.
    [toolCall, approvalRequest, approval, toolStart, wanted],
    [toolCall, toolStart, wanted, toolResult('ok')],
  ].map((events) => stateLabel(callIn(logOf(...events))))
  const [user, client] = ['Waiting for you', 'Waiting for a result from a client']
  expect(labels).toEqual([user, client, user, client, client, 'Done'])
})

test('failures are marked, and decisions of users are not', () => {
  const tones = (['running', 'asking', 'ok', 'timeout', 'unknown', 'denied', 'canceled'] as const).map(
    stateTone,
  )
  expect(tones).toEqual(['live', 'ask', 'good', 'bad', 'bad', 'quiet', 'quiet'])
})

test('the elapsed time of a running call is never negative', () => {
  const call = callIn(logOf(toolInputStart, toolCall, toolStart))
  expect(call.startedAt).toBe(1040)
  expect(elapsedMs(call, 1240)).toBe(200)
  expect(elapsedMs(call, 40)).toBe(0)
})

test('a call that never ran has no elapsed time', () => {
  expect(elapsedMs(callIn(logOf(toolInputStart, toolCall, toolResult('denied'))), 9999)).toBeUndefined()
  expect(elapsedMs(callIn(logOf(toolInputStart, toolCall, toolStart, toolResult('ok', 7))), 9999)).toBe(7)
})
