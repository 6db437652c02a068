import { applyEntry, createView } from 'millrace/view'
import { expect, test } from 'vitest'
import { announcementOf } from './announcer.ts'
import {
  approvalRequest,
  type Event,
  roundEnd,
  roundStart,
  runEnd,
  runStart,
  toolInputStart,
  toolResult,
  toolStart,
} from './log.test-kit.ts'

const text = (words: string): Event => ({ type: 'text', text: words })

function announcements(...events: Event[]): string[] {
  const view = createView()
  return events
    .map((event, index) => announcementOf(applyEntry(view, { seq: index + 1, at: index, event })))
    .filter((sentence) => sentence !== '')
}

test('text is announced once its part is complete', () => {
  expect(announcements(runStart, roundStart, text('It is '), text('on its way.'))).toEqual([])
  const partEnd: Event = { type: 'part-end', part: 'text' }
  expect(announcements(text('It is '), text('on its way.'), partEnd)).toEqual(['It is on its way.'])
  expect(announcements(text('Let me look.'), toolInputStart)).toEqual(['Let me look.'])
  expect(announcements(text('All is well.'), roundEnd, runEnd('completed'))).toEqual([
    'All is well.',
    'Done.',
  ])
})

test('retracted text is not announced', () => {
  const retract: Event = { type: 'round-retract', round: 1, reason: 'the stream broke' }
  expect(announcements(text('It is'), retract, roundStart, text('It was.'), roundEnd)).toEqual([
    'The last answer was retracted.',
    'It was.',
  ])
})

test('tools are announced when they start, fail or need approval', () => {
  expect(announcements(toolInputStart, toolStart, toolResult('ok'))).toEqual(['Tool look: Running.'])
  expect(announcements(toolResult('failed'), toolResult('timeout'))).toEqual([
    'Tool look: Failed.',
    'Tool look: Timed out.',
  ])
  expect(announcements(approvalRequest, runEnd('suspended'))).toEqual(['Tool look: Waiting for you.'])
  expect(announcements({ ...approvalRequest, wants: 'result' } as Event)).toEqual([
    'Tool look: Waiting for a result from a client.',
  ])
})

test('a rewind is announced, and not the text that it replaces', () => {
  const rewind: Event = { type: 'rewind', before: 1, keep: 0 }
  expect(announcements(text('It is'), rewind)).toEqual(['The conversation was rewound.'])
})

test('a failure is announced with its reason', () => {
  const error = { code: 'llm_error', message: 'The provider is gone', op: 'x', retryable: false }
  expect(announcements(runEnd('failed', { error }))).toEqual(['Failed: The provider is gone'])
  expect(announcements(runEnd('canceled', { error }))).toEqual(['Stopped: The provider is gone'])
  const stopped = { ...error, message: 'stopped by the user' }
  expect(announcements(runEnd('canceled', { error: stopped }))).toEqual(['You stopped this.'])
})

test('Markdown syntax is not announced', () => {
  const markdown = '## Order\n\n- **shipped**, see [the page](https://example.com)\n\n```js\nlet a_b\n```\n'
  expect(announcements(text(markdown), roundEnd)).toEqual(['Order\n\nshipped, see the page\n\n\nlet a_b'])
})

test('a long answer is cut after a sentence', () => {
  const [sentence] = announcements(text('This is a sentence of some length. '.repeat(100)), roundEnd)
  expect(sentence).toMatch(/length\. … The answer continues\.$/)
  expect(sentence?.length).toBeLessThan(700)
})

test('a reached budget is announced as a question, and as the end of the run', () => {
  const budget = { scope: 'run', kind: 'usd', limit: 2, spent: 2 } as const
  const asked: Event = {
    type: 'approval-request',
    callId: 'budget_1',
    name: 'budget',
    input: { usd: 2 },
    budget,
  }
  const denied: Event = { type: 'approval', callId: 'budget_1', approved: false }
  expect(announcements(runStart, roundStart, asked, denied, runEnd('budget', { limit: budget }))).toEqual([
    'The budget of $2.00 for this run is spent ($2.00). Spend $2.00 more?',
    'The budget of $2.00 for this run is spent.',
  ])
})
