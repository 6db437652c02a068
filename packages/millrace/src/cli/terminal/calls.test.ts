import { describe, expect, test } from 'vitest'
import type { CallStatus, ThreadEvent } from '../../protocol/index.ts'
import { noUsage } from '../../protocol/index.ts'
import type { CallView } from '../../view/index.ts'
import { applyEntry, createView } from '../../view/index.ts'
import { callLine } from './call-line.ts'
import { inputOf, statusOf } from './calls.ts'
import { painter } from './style.ts'
import { widthOf } from './width.ts'

const call = { callId: 'call_1', name: 'lookup' } as const
const opened: ThreadEvent[] = [
  { type: 'tool-input-start', ...call },
  { type: 'tool-input', callId: 'call_1', delta: '{"id":' },
]
const closed: ThreadEvent[] = [...opened, { type: 'tool-call', ...call, input: { id: 'ORD-1' } }]
const started: ThreadEvent[] = [...closed, { type: 'tool-start', ...call, attempt: 1 }]

function result(status: CallStatus, ms: number, text = ''): ThreadEvent {
  const output = [{ type: 'text', text }] as const
  return { type: 'tool-result', ...call, output, status, isError: status !== 'ok', ms, overlapMs: 0 }
}

/** The calls after these events, which all happen at 1000. */
function callsAfter(events: readonly ThreadEvent[]): readonly CallView[] {
  const view = createView()
  for (const [index, event] of events.entries()) applyEntry(view, { seq: index + 1, at: 1000, event })
  return view.runs[0]?.calls ?? []
}

/** Their lines at 1500. */
function lineAfter(events: readonly ThreadEvent[], width = 80): string[] {
  return callsAfter(events).map((one) => painter(false)(callLine(one, { width, now: 1500 })))
}

describe('a tool call has one line, from its first argument to its result', () => {
  test.each<[string, readonly ThreadEvent[]]>([
    ['  … lookup {"id":', opened],
    ['  · lookup {"id":"ORD-1"}', closed],
    ['  ⠴ lookup {"id":"ORD-1"} · running 500 ms', started],
    [
      '  ⠴ lookup {"id":"ORD-1"} · running 500 ms · half way',
      [...started, { type: 'tool-progress', callId: 'call_1', data: 'half\n\u001b[2Jway' }],
    ],
    ['  ✓ lookup {"id":"ORD-1"} · done in 1.2 s', [...started, result('ok', 1234)]],
    [
      '  ✗ lookup {"id":"ORD-1"} · failed after 80 ms · no',
      [...started, result('failed', 80, 'The tool failed: no')],
    ],
    ['  ✗ lookup {"id":"ORD-1"} · failed · no such tool', [...closed, result('rejected', 0, 'no such tool')]],
    ['  ■ lookup {"id":"ORD-1"} · stopped after 2 min 5 s', [...started, result('canceled', 125_000)]],
    ['  ✗ lookup {"id":"ORD-1"} · denied', [...closed, result('denied', 0, 'no')]],
    [
      '  ? lookup {"id":"ORD-1"} · waiting for approval',
      [...closed, { type: 'approval-request', ...call, input: { id: 'ORD-1' } }],
    ],
    [
      '  ? lookup {"id":"ORD-1"} · waiting for a result from a client',
      [...started, { type: 'approval-request', ...call, input: { id: 'ORD-1' }, wants: 'result' }],
    ],
    [
      '  ⠴ lookup {"id":"ORD-2"} · running 500 ms',
      [...closed, { type: 'tool-start', ...call, attempt: 1, input: { id: 'ORD-2' } }],
    ],
    [
      '  ⠴ lookup {"id":"ORD-1"} · running 500 ms · inner …',
      [
        ...started,
        {
          type: 'tool-progress',
          callId: 'call_1',
          event: { type: 'tool-call', callId: 'x', name: 'inner', input: {} },
        },
      ],
    ],
    [
      '  ✓ search rain · done',
      [{ type: 'provider-tool', callId: 'p', name: 'search', input: 'rain', output: 1 }],
    ],
  ])('%s', (line, events) => {
    expect(lineAfter(events)).toEqual([line])
  })

  test('in the order of the calls', () => {
    const other: ThreadEvent = { type: 'tool-input-start', callId: 'call_2', name: 'other' }
    expect(lineAfter([...opened, other, ...closed])).toHaveLength(2)
    expect(lineAfter([...opened, other])[1]).toContain('other')
  })

  test('never wider than the screen: first the note is cut, then the arguments', () => {
    const input = { id: 'x'.repeat(500), more: '日本'.repeat(50) }
    const events = [...opened, { type: 'tool-call', ...call, input } as const]
    for (const width of [10, 19, 40, 80]) {
      const [line = ''] = lineAfter(
        [...events, { type: 'tool-start', ...call, attempt: 1 }, result('failed', 50, 'y'.repeat(500))],
        width,
      )
      expect(widthOf(line)).toBeLessThanOrEqual(width)
      if (width >= 40) expect(line).toContain('failed after 50 ms')
    }
  })

  test('long arguments are cut', () => {
    const delta = { type: 'tool-input', callId: 'call_1', delta: 'x'.repeat(1000) } as const
    const [long] = callsAfter([...opened, ...Array.from({ length: 1000 }, () => delta)])
    expect(long && inputOf(long).length).toBe(1000)
  })
})

test('a question about a budget has a line of its own', () => {
  const budget = { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 } as const
  const question: ThreadEvent[] = [
    { type: 'round-start', round: 1, model: 'm' },
    { type: 'approval-request', callId: 'budget_1', name: 'budget', input: { usd: 2 }, budget },
  ]
  const answer = (approved: boolean): ThreadEvent => ({ type: 'approval', callId: 'budget_1', approved })
  const sentence = 'The budget of $2.00 for this run is spent ($2.01). Spend $2.00 more?'
  expect(lineAfter(question, 120)).toEqual([`  ? ${sentence} · waiting for approval`])
  expect(lineAfter([...question, answer(true)], 120)).toEqual([`  ✓ ${sentence} · allowed`])
  expect(lineAfter([...question, answer(false)], 120)).toEqual([`  ✗ ${sentence} · denied`])
  expect(widthOf(lineAfter(question, 40)[0] ?? '')).toBeLessThanOrEqual(40)
})

test('a call with incomplete arguments is stopped when the run ends', () => {
  const end: ThreadEvent = { type: 'run-end', outcome: 'canceled', usage: noUsage }
  expect(callsAfter([...opened, end]).map((one) => statusOf(one, 0))).toEqual(['stopped'])
})
