import { createView, take } from 'millrace/view'
import { expect, test } from 'vitest'
import { announcementOf } from './announcer.ts'
import {
  asks,
  begins,
  type Event,
  result,
  roundEnd,
  roundStart,
  runEnd,
  runStart,
  runs,
} from './log.test-kit.ts'

const text = (words: string): Event => ({ type: 'text', text: words })

function told(...events: Event[]): string[] {
  const view = createView()
  return events
    .map((event, index) => announcementOf(take(view, { seq: index + 1, at: index, event })))
    .filter((sentence) => sentence !== '')
}

test('words are told when their part is closed, whole, and not before', () => {
  expect(told(runStart, roundStart, text('It is '), text('on its way.'))).toEqual([])
  const partEnd: Event = { type: 'part-end', part: 'text' }
  expect(told(text('It is '), text('on its way.'), partEnd)).toEqual(['It is on its way.'])
  expect(told(text('Let me look.'), begins)).toEqual(['Let me look.'])
  expect(told(text('All is well.'), roundEnd, runEnd('completed'))).toEqual(['All is well.', 'Done.'])
})

test('words that were taken back are not told', () => {
  const retract: Event = { type: 'round-retract', round: 1, reason: 'the stream broke' }
  expect(told(text('It is'), retract, roundStart, text('It was.'), roundEnd)).toEqual([
    'That is taken back.',
    'It was.',
  ])
})

test('tools are told when they start and when they go wrong, and that somebody has to decide', () => {
  expect(told(begins, runs, result('ok'))).toEqual(['Tool look: Running.'])
  expect(told(result('failed'), result('timeout'))).toEqual(['Tool look: Failed.', 'Tool look: Timed out.'])
  expect(told(asks, runEnd('suspended'))).toEqual(['Tool look: Waiting for you.'])
})

test('a failure is told with its reason', () => {
  const error = { code: 'llm_error', message: 'The provider is gone', op: 'x', retryable: false }
  expect(told(runEnd('failed', { error }))).toEqual(['Failed: The provider is gone'])
  expect(told(runEnd('cancelled', { error }))).toEqual(['Stopped: The provider is gone'])
})

test('marks of Markdown are not read out', () => {
  const markdown = '## Order\n\n- **shipped**, see [the page](https://example.com)\n\n```js\nlet a_b\n```\n'
  expect(told(text(markdown), roundEnd)).toEqual(['Order\n\nshipped, see the page\n\n\nlet a_b'])
})

test('a long answer is told up to the end of a sentence', () => {
  const [sentence] = told(text('This is a sentence of some length. '.repeat(100)), roundEnd)
  expect(sentence).toMatch(/length\. … The answer goes on\.$/)
  expect(sentence?.length).toBeLessThan(700)
})
