import { describe, expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import { noUsage } from '../../protocol/index.ts'
import { conversationView } from './conversation-view.ts'

function open(width = 40) {
  const view = conversationView({ width: () => width, color: false })
  let seq = 0
  const add = (...events: ThreadEvent[]) => {
    for (const event of events) view.add({ seq: ++seq, at: 1000, event } as Entry)
  }
  return { view, add, rows: () => [...view.take()] }
}

const input = (content: string): ThreadEvent => ({
  type: 'input',
  message: { role: 'user', content },
  mode: 'queue',
})
const runStart = (...inputs: number[]): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId: 'run_1',
  agent: 'desk',
  input: [],
  inputs,
})
const roundStart = (round = 1, inputs: number[] = []): ThreadEvent => ({
  type: 'round-start',
  round,
  model: 'm',
  inputs,
})
const text = (text: string): ThreadEvent => ({ type: 'text', text })
const runEnd = (more: Partial<Extract<ThreadEvent, { type: 'run-end' }>> = {}): ThreadEvent => ({
  type: 'run-end',
  outcome: 'completed',
  usage: noUsage,
  ...more,
})

describe('a conversation in rows', () => {
  test('a message is shown when a run reads it, with the answer below', () => {
    const { view, add, rows } = open()
    add(input('hi'))
    expect(rows()).toEqual([])
    add(runStart(1), roundStart(), text('\n\nHel'), text('lo'))
    expect(rows()).toEqual(['', '› hi', ''])
    expect(view.live(1000)).toEqual(['Hello'])
    add(runEnd())
    expect(rows()).toEqual(['Hello', ''])
    expect(view.live(1000)).toEqual([])
  })

  test('a queued message is shown where a round reads it', () => {
    const { add, rows } = open()
    add(
      input('one'),
      runStart(1),
      roundStart(),
      text('first'),
      input('two'),
      roundStart(2, [5]),
      text('second'),
      runEnd(),
    )
    expect(rows()).toEqual(['', '› one', '', 'first', '', '› two', '', 'second', ''])
  })

  test('of a long message, only the first rows are shown', () => {
    const { add, rows } = open()
    add(input(Array.from({ length: 50 }, (_, line) => `line ${line}`).join('\n')), runStart(1))
    const shown = rows()
    expect(shown).toHaveLength(14)
    expect(shown.at(-2)).toBe('  … 39 more rows')
  })

  test('a spinner shows the end of the reasoning until text arrives', () => {
    const { view, add } = open(20)
    add(input('hi'), runStart(1), roundStart())
    expect(view.ticking).toBe(true)
    expect(view.live(0)).toEqual(['⠋'])
    add({ type: 'reasoning', text: 'the first thought and then ' }, { type: 'reasoning', text: 'the last' })
    expect(view.live(0)[0]).toMatch(/^⠋ .*the last$/)
    add(text('so'))
    expect(view.live(0)).toEqual(['so'])
  })

  test('a retracted round is generated again, below the reason', () => {
    const { view, add, rows } = open()
    add(runStart(), roundStart(), text('half an ans'))
    add({ type: 'round-retract', round: 1, reason: 'the stream\u001b[2J broke' })
    expect(rows()).toEqual(['half an ans', '↺ retracted, generating again: the', 'stream broke'])
    add(text('all of it'))
    expect(view.live(0)).toEqual(['all of it'])
  })

  test.each<[string, ThreadEvent]>([
    [
      '✗ on fire',
      runEnd({ outcome: 'failed', error: { op: 'x', code: 'auth', message: 'on\nfire', retryable: false } }),
    ],
    ['■ stopped', runEnd({ outcome: 'canceled' })],
    ['▲ cut off: the answer reached its length limit', runEnd({ outcome: 'truncated' })],
    [
      '▲ The budget of 5 rounds for this run is spent.',
      runEnd({ outcome: 'budget', limit: { scope: 'run', kind: 'rounds', limit: 5, spent: 5 } }),
    ],
  ])('an answer can end with: %s', (line, end) => {
    const { add, rows } = open(60)
    add(runStart(), roundStart(), text('words'), end)
    expect(rows()).toEqual(['words', line, ''])
  })

  test('a tool call keeps its line during an approval, and is written once', () => {
    const { view, add, rows } = open(60)
    const call = { callId: 'call_1', name: 'refund' }
    const done = { output: [], status: 'ok', isError: false, ms: 5, overlapMs: 0 } as const
    add(runStart(), roundStart(), { type: 'tool-call', ...call, input: {} })
    add({ type: 'approval-request', ...call, input: {} }, runEnd({ outcome: 'suspended' }))
    // The request is shown at the prompt.
    expect([rows(), view.live(0)]).toEqual([[], []])
    add({ type: 'approval', callId: 'call_1', approved: true }, {
      ...runStart(),
      resumes: 'run_1',
    } as ThreadEvent)
    add({ type: 'tool-result', ...call, ...done })
    expect(view.live(0)).toEqual(['  ✓ refund {} · done in 5 ms'])
    add(roundStart(2), text('there'), runEnd())
    expect(rows()).toEqual(['  ✓ refund {} · done in 5 ms', 'there', ''])
  })

  test('an answer ends with its cost, or with the model that has no price', () => {
    const { add, rows } = open(80)
    const usage = { inputTokens: 100, outputTokens: 20 }
    const ended = { type: 'round-end', round: 1, model: 'm', finish: 'stop', usage } as const
    add(runStart(), roundStart(), text('words'))
    add({ ...ended, cost: { usd: 0.02, prices: 'custom' } }, runEnd({ usage: { ...noUsage, ...usage } }))
    expect(rows()).toEqual(['words', '$0.02 · 1 round · 100 tokens in, 20 out', ''])
    add(runStart(), roundStart(), text('words'), ended, runEnd({ usage: { ...noUsage, ...usage } }))
    expect(rows()).toEqual(['words', "unknown cost (no price for 'm') · 1 round · 100 tokens in, 20 out", ''])
  })

  test('a question about a budget is shown at the prompt, and its answer in a row', () => {
    const { view, add, rows } = open(100)
    const budget = { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 } as const
    const request = { callId: 'budget_1', name: 'budget', input: { usd: 2 }, budget }
    add(runStart(), roundStart(), text('words'))
    add({ type: 'approval-request', ...request }, runEnd({ outcome: 'suspended' }))
    expect([rows(), view.live(0)]).toEqual([['words'], []])
    add({ type: 'approval', callId: 'budget_1', approved: true, input: { usd: 1 } })
    const row = '  ✓ The budget of $2.00 for this run is spent ($2.01). Spend $1.00 more? · allowed'
    expect(view.live(0)).toEqual([row])
    add({ ...runStart(), resumes: 'run_1' } as ThreadEvent, roundStart(2), text('more'), runEnd())
    expect(rows()).toEqual([row, 'more', ''])
  })

  test('an escape sequence that one round leaves open does not affect the next', () => {
    const { view, add } = open()
    add(runStart(), roundStart(), text('a \u001b]0;'), roundStart(2), text('all of it'))
    expect(view.live(0)).toEqual(['all of it'])
  })

  test('nothing that is shown contains control characters', () => {
    const { view, add, rows } = open()
    const evil = 'a\u001b]0;x\u0007\u009b2Jb'
    add(input(evil), runStart(1), roundStart(), text(evil), { type: 'reasoning', text: evil })
    add({ type: 'tool-call', callId: evil, name: evil, input: { [evil]: evil } })
    add({ type: 'tool-progress', callId: evil, data: evil })
    view.note(evil)
    add(runEnd({ outcome: 'failed', error: { op: 'x', code: 'auth', message: evil, retryable: false } }))
    expect([...rows(), ...view.live(0)].join('')).not.toMatch(/\p{Cc}/u)
  })
})
