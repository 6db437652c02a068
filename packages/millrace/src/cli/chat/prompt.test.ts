import { describe, expect, test } from 'vitest'
import { painter } from '../terminal/index.ts'
import { filled } from './editor.ts'
import type { PromptOptions } from './prompt.ts'
import { promptRows } from './prompt.ts'
import { idleStatus } from './ui.ts'

const show = (options: Partial<PromptOptions>) =>
  promptRows({
    draft: filled(''),
    status: idleStatus,
    width: 20,
    maxDraftRows: 5,
    paint: painter(false),
    ...options,
  })

describe('the prompt', () => {
  test('shows the draft and the cursor', () => {
    expect(show({})).toEqual({ rows: ['› '], cursor: { row: 0, before: '› ' } })
    expect(show({ draft: { text: 'a日b', cursor: 2, cut: '' } })).toEqual({
      rows: ['› a日b'],
      cursor: { row: 0, before: '› a日' },
    })
  })

  test('wraps a long draft', () => {
    const { rows, cursor } = show({ draft: filled(`${'x'.repeat(18)}yz\nnext `) })
    expect(rows).toEqual([`› ${'x'.repeat(18)}`, '  yz', '  next '])
    expect(cursor).toEqual({ row: 2, before: '  next ' })
  })

  test('shows the rows around the cursor of a long draft', () => {
    const text = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n')
    const { rows, cursor } = show({ draft: { text, cursor: text.indexOf('line 20'), cut: '' } })
    expect(rows).toEqual([18, 19, 20, 21, 22].map((line) => `  line ${line}`))
    expect(cursor).toEqual({ row: 2, before: '  ' })
  })

  test('shows queued messages above the draft', () => {
    const queued = ['one', 'two', 'three', 'four'].map((text) => ({ text, held: false }))
    expect(show({ status: { ...idleStatus, busy: true, queued } }).rows).toEqual([
      '◦ queued: one',
      '◦ queued: two',
      '◦ queued: three',
      '◦ and 1 more',
      '› ',
      'Esc to stop',
    ])
    expect(show({ status: { ...idleStatus, queued: [{ text: 'hi', held: false }] } }).rows).toEqual([
      '› hi',
      '› ',
    ])
    expect(
      show({ width: 80, status: { ...idleStatus, queued: [{ text: 'hi', held: true }] } }).rows[0],
    ).toMatch(/not answered yet.*hi/)
  })

  test('shows an approval request above the draft, escaped and wrapped', () => {
    const approval = {
      type: 'approval-request',
      callId: 'call_1',
      name: 'refund',
      input: { id: 'ORD-1', note: '\u009b2J'.repeat(3) },
      reason: 'Really\u001b[2J?',
    } as const
    const { rows, cursor } = show({ width: 60, status: { ...idleStatus, busy: true, approval } })
    expect(rows.slice(0, 2)).toEqual([
      '? refund {"id":"ORD-1","note":"\\u{9b}2J\\u{9b}2J\\u{9b}2J"}',
      '  Really\\u001b[2J?',
    ])
    expect(cursor.row).toBe(rows.length - 1)
  })

  test('asks about a budget in a sentence', () => {
    const approval = {
      type: 'approval-request',
      callId: 'budget_1',
      name: 'budget',
      input: { usd: 2 },
      reason: 'The budget of $2.00 for this run is spent.',
      budget: { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 },
    } as const
    expect(show({ width: 80, status: { ...idleStatus, busy: true, approval } }).rows).toEqual([
      '? The budget of $2.00 for this run is spent ($2.01). Spend $2.00 more?',
      '  [y] yes · [n] no · [e] change the amount',
      '› ',
    ])
  })

  test('lists matching commands', () => {
    expect(show({ width: 60, draft: filled('/t') }).rows).toEqual(['› /t', '/tools  /threads'])
    expect(show({ width: 60, draft: filled('/x') }).rows).toEqual(['› /x'])
  })
})
