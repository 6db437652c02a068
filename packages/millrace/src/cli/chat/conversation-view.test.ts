import { describe, expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import { noUsage } from '../../protocol/index.ts'
import { conversationView } from './conversation-view.ts'

function open(width = 40) {
  const view = conversationView({ width: () => width, colour: false })
  let seq = 0
  const tell = (...events: ThreadEvent[]) => {
    for (const event of events) view.tell({ seq: ++seq, at: 1000, event } as Entry)
  }
  return { view, tell, rows: () => [...view.take()] }
}

const said = (content: string): ThreadEvent => ({
  type: 'input',
  message: { role: 'user', content },
  mode: 'queue',
})
const runStart = (...heard: number[]): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId: 'run_1',
  agent: 'desk',
  input: [],
  heard,
})
const roundStart = (round = 1, heard: number[] = []): ThreadEvent => ({
  type: 'round-start',
  round,
  model: 'm',
  heard,
})
const text = (words: string): ThreadEvent => ({ type: 'text', text: words })
const runEnd = (more: Partial<Extract<ThreadEvent, { type: 'run-end' }>> = {}): ThreadEvent => ({
  type: 'run-end',
  outcome: 'completed',
  usage: noUsage,
  ...more,
})

describe('a conversation in rows', () => {
  test('what is said stands there when it is heard, and the answer below it', () => {
    const { view, tell, rows } = open()
    tell(said('hi'))
    expect(rows()).toEqual([])
    tell(runStart(1), roundStart(), text('\n\nHel'), text('lo'))
    expect(rows()).toEqual(['', '› hi', ''])
    expect(view.live(1000)).toEqual(['Hello'])
    tell(runEnd())
    expect(rows()).toEqual(['Hello', ''])
    expect(view.live(1000)).toEqual([])
  })

  test('what was queued stands where it was heard, also within a run', () => {
    const { tell, rows } = open()
    tell(
      said('one'),
      runStart(1),
      roundStart(),
      text('first'),
      said('two'),
      roundStart(2, [5]),
      text('second'),
      runEnd(),
    )
    expect(rows()).toEqual(['', '› one', '', 'first', '', '› two', '', 'second', ''])
  })

  test('much that was said at once is shown by its beginning', () => {
    const { tell, rows } = open()
    tell(said(Array.from({ length: 50 }, (_, line) => `line ${line}`).join('\n')), runStart(1))
    const shown = rows()
    expect(shown).toHaveLength(14)
    expect(shown.at(-2)).toBe('  … 39 more rows')
  })

  test('while nothing comes something turns, with the end of what the model thinks', () => {
    const { view, tell } = open(20)
    tell(said('hi'), runStart(1), roundStart())
    expect(view.ticking).toBe(true)
    expect(view.live(0)).toEqual(['⠋'])
    tell({ type: 'reasoning', text: 'the first thought and then ' }, { type: 'reasoning', text: 'the last' })
    expect(view.live(0)[0]).toMatch(/^⠋ .*the last$/)
    tell(text('so'))
    expect(view.live(0)).toEqual(['so'])
  })

  test('a round that is taken back is told again, below a word on why', () => {
    const { view, tell, rows } = open()
    tell(runStart(), roundStart(), text('half an ans'))
    tell({ type: 'round-retract', round: 1, reason: 'the stream\u001b[2J broke' })
    expect(rows()).toEqual(['half an ans', '↺ once more from the start: the stream', 'broke'])
    tell(text('all of it'))
    expect(view.live(0)).toEqual(['all of it'])
  })

  test.each<[string, ThreadEvent]>([
    [
      '✗ on fire',
      runEnd({ outcome: 'failed', error: { op: 'x', code: 'auth', message: 'on\nfire', retryable: false } }),
    ],
    ['■ stopped', runEnd({ outcome: 'cancelled' })],
    ['▲ cut off: the answer was as long as it may be', runEnd({ outcome: 'truncated' })],
  ])('an answer may end with: %s', (words, end) => {
    const { tell, rows } = open(60)
    tell(runStart(), roundStart(), text('words'), end)
    expect(rows()).toEqual(['words', words, ''])
  })

  test('a call keeps its line while a person is asked, and it is written once', () => {
    const { view, tell, rows } = open(60)
    const call = { callId: 'call_1', name: 'refund' }
    const done = { output: [], status: 'ok', isError: false, ms: 5, overlapMs: 0 } as const
    tell(runStart(), roundStart(), { type: 'tool-call', ...call, input: {} })
    tell({ type: 'approval-request', ...call, input: {} }, runEnd({ outcome: 'suspended' }))
    // The question is shown where it is answered.
    expect([rows(), view.live(0)]).toEqual([[], []])
    tell({ type: 'approval', callId: 'call_1', approved: true }, {
      ...runStart(),
      resumes: 'run_1',
    } as ThreadEvent)
    tell({ type: 'tool-result', ...call, ...done })
    expect(view.live(0)).toEqual(['  ✓ refund {} · done in 5 ms'])
    tell(roundStart(2), text('there'), runEnd())
    expect(rows()).toEqual(['  ✓ refund {} · done in 5 ms', 'there', ''])
  })

  test('a sequence that one round leaves open takes nothing of the next', () => {
    const { view, tell } = open()
    tell(runStart(), roundStart(), text('a \u001b]0;'), roundStart(2), text('all of it'))
    expect(view.live(0)).toEqual(['all of it'])
  })

  test('orders to the terminal are in nothing that is shown', () => {
    const { view, tell, rows } = open()
    const evil = 'a\u001b]0;x\u0007\u009b2Jb'
    tell(said(evil), runStart(1), roundStart(), text(evil), { type: 'reasoning', text: evil })
    tell({ type: 'tool-call', callId: evil, name: evil, input: { [evil]: evil } })
    tell({ type: 'tool-progress', callId: evil, data: evil })
    view.note(evil)
    tell(runEnd({ outcome: 'failed', error: { op: 'x', code: 'auth', message: evil, retryable: false } }))
    expect([...rows(), ...view.live(0)].join('')).not.toMatch(/\p{Cc}/u)
  })
})
