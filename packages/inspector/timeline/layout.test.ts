import fc from 'fast-check'
import type { Entry, ThreadEvent } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { applyEntry } from 'millrace/view'
import { describe, expect, test } from 'vitest'
import type { Bar, Chart, Lane } from './chart.ts'
import type { TimedEvent } from './events.test-kit.ts'
import { emit, entriesOf, logOf, runOf, zero } from './events.test-kit.ts'
import { layout } from './layout.ts'
import { randomRun } from './random-run.test-kit.ts'

const day = 86_400_000

function chartOf(
  events: readonly TimedEvent[],
  now = 0,
  outages: { from: number; to: number | undefined }[] = [],
): Chart {
  const { entries, run } = runOf(events)
  return layout(entries, run, { now: zero + now, outages })
}

/** Each bar as `kind from–to`, in milliseconds since the start; `!`: failed, `…`: still running. */
function drawn({ lanes }: Chart): Record<string, string[]> {
  return Object.fromEntries(lanes.map(({ name, bars }, index) => [`${index} ${name}`, bars.map(short)]))
}

function short({ kind, start, end, bad, open }: Bar): string {
  return `${kind} ${start - zero}–${end - zero}${bad ? '!' : ''}${open ? '…' : ''}`
}

const hello: readonly TimedEvent[] = [
  [0, emit.input('Hello')],
  [0, emit.runStart({ inputs: [1] })],
  [0, emit.roundStart(1)],
]

describe('a round', () => {
  test('has a wait, reasoning and text; measured timings take precedence over log times', () => {
    const chart = chartOf([
      ...hello,
      [420, emit.reasoning('Hm. ')],
      [700, emit.reasoning('Well.')],
      [900, emit.text('Hello')],
      [1410, emit.text(' there.')],
      [1420, emit.roundEnd(1, { firstEventMs: 401.5, ms: 1401.5 })],
      [1421, emit.runEnd()],
    ])
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–401.5', 'think 401.5–700', 'text 700–1401.5'] })
    expect(chart.lanes[0]?.marks).toMatchObject([
      { kind: 'input', start: zero, what: 'Input: “Hello”' },
      { kind: 'first', start: zero + 401.5, what: 'First token after 402 ms' },
    ])
  })

  test('without timings is drawn by the times of its entries', () => {
    const chart = chartOf([...hello, [300, emit.text('Hi')], [310, emit.roundEnd(1)], [311, emit.runEnd()]])
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–300', 'text 300–300'] })
  })

  test('without duration has a lane, and the axis a length', () => {
    const chart = chartOf([
      ...hello,
      [0, emit.text('Hi')],
      [0, emit.roundEnd(1, { ms: 0 })],
      [0, emit.runEnd()],
    ])
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–0', 'text 0–0'] })
    expect(chart.axis.length).toBeGreaterThan(0)
  })

  test('with joined deltas starts each part where the previous one ended', () => {
    const joined: Entry[] = entriesOf([
      ...hello,
      [700, emit.reasoning('Hm. Well.')],
      [1400, emit.text('Hello there.')],
      [1500, emit.roundEnd(1, { firstEventMs: 400, ms: 1500 })],
      [1500, emit.runEnd()],
    ]).map((entry) => (entry.seq === 4 || entry.seq === 5 ? { ...entry, from: entry.seq } : entry))
    const log = logOf(joined)
    const chart = layout(joined, log.runs[0] as RunView, { now: 0 })
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–400', 'think 400–700', 'text 700–1400'] })
  })

  test('can write text while a call is open that the wire closes only at the end', () => {
    const { lanes } = chartOf([
      ...hello,
      [100, emit.text('Let me look.')],
      [200, { type: 'tool-input-start', callId: 'c1', name: 'look' }],
      [300, emit.text('This takes a moment.')],
      [600, emit.text(' Bear with me.')],
      [700, { type: 'tool-call', callId: 'c1', name: 'look', input: {} }],
      [700, emit.roundEnd(1, { firstEventMs: 100, ms: 700 })],
    ])
    expect(lanes[0]?.bars.map(({ kind, start, end }) => [kind, start - zero, end - zero])).toEqual([
      ['wait', 0, 100],
      ['text', 100, 100],
      ['text', 300, 600],
    ])
  })

  test('shows failed requests and the pause before each retry', () => {
    const chart = chartOf([
      ...hello,
      [100, emit.roundRetry(1, 2, 500)],
      [900, emit.roundRetry(1, 3, 1000)],
      [2300, emit.text('Hi')],
      [2400, emit.roundEnd(1, { firstEventMs: 350, ms: 480 })],
      [2400, emit.runEnd()],
    ])
    expect(drawn(chart)).toEqual({
      '0 Round 1': [
        'wait 0–100!',
        'pause 100–600',
        'wait 600–900!',
        'pause 900–1900',
        'wait 1900–2250',
        'text 2250–2300',
      ],
    })
    expect(chart.lanes[0]?.bars[0]?.more).toEqual(['overloaded: too busy'])
  })

  test('that was retracted keeps its lane, with the reason', () => {
    const chart = chartOf([
      ...hello,
      [200, emit.text('Hal')],
      [300, emit.roundRetract(1)],
      [300, emit.roundRetry(1, 2, 100)],
      [600, emit.text('Hello')],
      [700, emit.roundEnd(1, { firstEventMs: 200, ms: 300 })],
      [700, emit.runEnd()],
    ])
    expect(drawn(chart)).toEqual({
      '0 Round 1': ['wait 0–200!', 'text 200–200!'],
      '1 Round 1': ['pause 300–400', 'wait 400–600', 'text 600–600'],
    })
    expect(chart.lanes.map(({ retracted }) => retracted)).toEqual([true, false])
    expect(chart.lanes[0]?.marks.at(-1)).toMatchObject({
      kind: 'broken',
      what: 'Retracted: the stream broke',
    })
  })

  test('that is running grows with the clock', () => {
    const events: TimedEvent[] = [...hello, [200, emit.reasoning('Hm')]]
    expect(drawn(chartOf(hello, 150))).toEqual({ '0 Round 1': ['wait 0–150…'] })
    expect(drawn(chartOf(events, 900))).toEqual({ '0 Round 1': ['wait 0–200', 'think 200–900…'] })
    expect(chartOf(events, 900)).toMatchObject({ live: true, end: zero + 900 })
  })

  test('shows new inputs', () => {
    const chart = chartOf([
      ...hello,
      [10, emit.roundEnd(1)],
      [20, emit.input('And quickly')],
      [30, emit.roundStart(2, [5])],
      [40, emit.roundEnd(2)],
      [40, emit.runEnd()],
    ])
    const inputs = chart.lanes.map(({ marks }) => marks.filter(({ kind }) => kind === 'input'))
    expect(inputs.map((marks) => marks.map(({ what }) => what))).toEqual([
      ['Input: “Hello”'],
      ['Input: “And quickly”'],
    ])
  })
})

describe('calls', () => {
  test('that overlap get separate lanes, and later calls reuse free lanes', () => {
    const chart = chartOf([
      ...hello,
      [100, emit.toolInputStart('a')],
      [200, emit.toolCall('a')],
      [200, emit.toolStart('a')],
      [210, emit.toolInputStart('b')],
      [300, emit.toolCall('b')],
      [350, emit.toolStart('b')],
      [400, emit.toolResult('a', 199.5)],
      [500, emit.toolInputStart('c')],
      [600, emit.toolCall('c')],
      [600, emit.toolStart('c')],
      [610, emit.roundEnd(1)],
      [700, emit.toolResult('b', 350)],
      [710, emit.toolResult('c', 110)],
      [720, emit.runEnd()],
    ])
    expect(drawn(chart)).toEqual({
      '0 Round 1': ['wait 0–100'],
      '1 look_up × 2': ['input 100–200', 'run 200–399.5', 'input 500–600', 'run 600–710'],
      '2 look_up': ['input 210–300', 'turn 300–350', 'run 350–700'],
    })
  })

  test('show failures and progress reports', () => {
    const chart = chartOf([
      ...hello,
      [10, emit.toolCall('a')],
      [10, emit.toolStart('a')],
      [20, emit.toolProgress('a')],
      [30, emit.toolProgress('a')],
      [40, emit.toolResult('a', 30, 'failed')],
      [50, emit.roundEnd(1)],
      [50, emit.runEnd()],
    ])
    const lane = chart.lanes[1] as Lane
    expect(lane.bars).toMatchObject([{ kind: 'run', bad: true, more: ['failed', '2 reports'] }])
    expect(lane.marks.map(({ start }) => start - zero)).toEqual([20, 30])
  })

  test('that never ran are shown with the reason', () => {
    const chart = chartOf([
      ...hello,
      [10, emit.toolCall('a')],
      [10, emit.toolResult('a', 0, 'denied')],
      [20, emit.toolInputStart('b')],
      [30, emit.roundEnd(1)],
      [30, emit.runEnd()],
    ])
    expect(drawn(chart)).toMatchObject({ '1 look_up × 2': ['input 10–10!', 'input 20–30!'] })
    const reasons = chart.lanes[1]?.bars.flatMap(({ more }) => more)
    expect(reasons).toEqual(['denied', 'The model never finished the arguments.'])
  })

  test('that wait two days for a user fold the axis, and the run resumes after it', () => {
    const chart = chartOf([
      ...hello,
      [1000, emit.toolCall('a')],
      [1000, emit.approvalRequest('a')],
      [1010, emit.roundEnd(1)],
      [1010, emit.runEnd('suspended')],
      [2 * day, emit.approval('a')],
      [2 * day, emit.runStart({ resumes: 'run_1', runId: 'run_2' })],
      [2 * day + 5, emit.toolStart('a')],
      [2 * day + 505, emit.toolResult('a', 500)],
      [2 * day + 510, emit.runEnd()],
    ])
    expect(drawn(chart)).toMatchObject({
      '1 look_up': [
        `person 1000–${2 * day}`,
        `turn ${2 * day}–${2 * day + 5}`,
        `run ${2 * day + 5}–${2 * day + 505}`,
      ],
    })
    expect(chart.axis.length).toBeLessThan(2000)
    expect(chart.bands).toMatchObject([
      { kind: 'fold', what: '1 d 23 h idle', start: zero + 1000, end: zero + 2 * day + 5 },
      { kind: 'resume', what: 'Resumed', start: zero + 2 * day },
    ])
  })

  test('that a client runs wait for the client', () => {
    const chart = chartOf([
      ...hello,
      [10, emit.toolCall('a')],
      [10, emit.toolStart('a')],
      [10, { ...emit.approvalRequest('a'), wants: 'result' } as ThreadEvent],
      [20, emit.roundEnd(1)],
      [20, emit.runEnd('suspended')],
      [500, emit.approval('a')],
      [500, emit.runStart({ resumes: 'run_1', runId: 'run_2' })],
      [505, emit.toolResult('a', 495)],
      [510, emit.runEnd()],
    ])
    const waits = chart.lanes[1]?.bars.filter(({ kind }) => kind === 'person')
    expect(waits).toMatchObject([{ what: 'look_up waiting for a client', start: zero + 20, end: zero + 500 }])
  })

  test('whose sub-agent asks run until it is suspended, and again after each decision', () => {
    const chart = chartOf([
      ...hello,
      [10, emit.toolCall('a')],
      [10, emit.roundEnd(1)],
      [100, emit.toolStart('a')],
      [200, emit.approvalRequest('a/x')],
      [250, emit.approvalRequest('a/y')],
      [300, emit.runEnd('suspended')],
      [1000, emit.approval('a/x')],
      [1000, emit.runStart({ resumes: 'run_1', runId: 'run_2' })],
      [1000, emit.toolStart('a', 2)],
      [1100, emit.runEnd('suspended')],
      [2000, emit.approval('a/y')],
      [2000, emit.runStart({ resumes: 'run_2', runId: 'run_3' })],
      [2000, emit.toolStart('a', 3)],
      [2100, emit.toolResult('a', 100)],
      [2100, emit.runEnd()],
    ])
    expect(drawn(chart)).toMatchObject({
      '1 look_up': [
        'turn 10–100',
        'run 100–300',
        'person 300–1000',
        'run 1000–1100',
        'person 1100–2000',
        'run 2000–2100',
      ],
    })
  })

  test('that the provider runs are updated by each event', () => {
    const providerTool = (more: object): ThreadEvent => ({
      type: 'provider-tool',
      callId: 'p',
      name: 'web_search',
      ...more,
    })
    const { entries, log, run } = runOf([
      ...hello,
      [10, providerTool({ input: 'rivers' })],
      [90, providerTool({ output: [] })],
    ])
    const bars = () => layout(entries, run, { now: zero + 100 }).lanes[1]?.bars
    expect(bars()).toMatchObject([{ kind: 'run', start: zero + 10, end: zero + 90, bad: false }])
    applyEntry(log, { seq: 6, at: zero + 95, event: providerTool({ isError: true }) })
    expect(bars()).toMatchObject([{ what: 'web_search running at the provider', more: ['failed'] }])
  })

  test('that still wait for a user extend to now', () => {
    const events: TimedEvent[] = [
      ...hello,
      [1000, emit.toolCall('a')],
      [1000, emit.approvalRequest('a')],
      [1010, emit.roundEnd(1)],
      [1010, emit.runEnd('suspended')],
    ]
    expect(drawn(chartOf(events, 5000))).toMatchObject({ '1 look_up': ['person 1000–5000…'] })
  })
})

describe('a run whose process was lost', () => {
  const events: TimedEvent[] = [
    ...hello,
    [100, emit.toolCall('a')],
    [100, emit.toolStart('a')],
    [110, emit.roundEnd(1, { ms: 110 })],
    [60_000, emit.runStart({ resumes: 'run_1', runId: 'run_2', losses: 1 })],
    [60_010, emit.toolStart('a', 2)],
    [60_110, emit.toolResult('a', 100)],
    [60_120, emit.roundStart(2)],
    [60_300, emit.text('Hal')],
    [90_000, emit.runStart({ resumes: 'run_2', runId: 'run_3', losses: 2 })],
    [90_000, emit.roundRetract(2, 'its process was lost')],
    [90_010, emit.roundStart(2)],
    [90_400, emit.text('Hello')],
    [90_500, emit.roundEnd(2)],
    [90_500, emit.runEnd()],
  ]

  test('shows what was lost and when it was taken over', () => {
    const chart = chartOf(events)
    expect(drawn(chart)).toEqual({
      '0 Round 1': ['wait 0–100'],
      '1 look_up': ['run 100–110!', 'turn 60000–60010', 'run 60010–60110'],
      '2 Round 2': ['wait 60120–60300!', 'text 60300–60300!'],
      '3 Round 2': ['wait 90010–90400', 'text 90400–90400'],
    })
    expect(chart.lanes[1]?.bars[0]).toMatchObject({
      what: 'look_up running, attempt 1',
      more: ['its process was lost'],
    })
    expect(chart.bands.map(({ what }) => what)).toEqual([
      '59.9 s idle',
      '29.7 s idle',
      'Taken over',
      'Taken over (2×)',
    ])
  })

  test('has calls that wait to run again', () => {
    const chart = chartOf(events.slice(0, 7), 61_000)
    expect(drawn(chart)).toMatchObject({ '1 look_up': ['run 100–110!', 'turn 60000–61000…'] })
  })
})

test('outages of this page are bands, clipped to the run', () => {
  const events: TimedEvent[] = [...hello, [1000, emit.roundEnd(1)], [1000, emit.runEnd()]]
  const outages = [
    { from: zero - 500, to: zero + 100 },
    { from: zero + 800, to: undefined },
    { from: zero + 2000, to: zero + 3000 },
  ]
  expect(chartOf(events, 5000, outages).bands).toMatchObject([
    { kind: 'offline', start: zero, end: zero + 100 },
    { kind: 'offline', start: zero + 800, end: zero + 1000 },
  ])
})

describe('any run', () => {
  const runs = fc.tuple(randomRun, fc.nat(100_000))

  test('has no overlapping bars in a lane, and all bars are on the axis', () => {
    fc.assert(
      fc.property(runs, ([events, later]) => {
        const { entries, run } = runOf(events)
        const chart = layout(entries, run, { now: run.lastAt + later })
        for (const { bars, marks } of chart.lanes) {
          expect(bars.length).toBeGreaterThan(0)
          for (const [index, { start, end }] of bars.entries()) {
            expect(end).toBeGreaterThanOrEqual(start)
            expect(start).toBeGreaterThanOrEqual(index === 0 ? chart.start : (bars[index - 1]?.end as number))
            expect(end).toBeLessThanOrEqual(chart.end)
          }
          for (const { start } of marks) expect(start >= chart.start && start <= chart.end).toBe(true)
        }
      }),
    )
  })

  test('has each call in exactly one lane, and a lane for each round', () => {
    fc.assert(
      fc.property(runs, ([events, later]) => {
        const { entries, run } = runOf(events)
        const { lanes } = layout(entries, run, { now: run.lastAt + later })
        const homes = lanes.map(
          ({ bars }) =>
            new Set(bars.map(({ of }) => (of?.kind === 'call' ? of.call : of?.kind === 'round' && of.round))),
        )
        const all = homes.flatMap((home) => [...home])
        expect(new Set(all).size).toBe(all.length)
        expect(new Set(all)).toEqual(new Set([...run.calls, ...run.rounds]))
        const keys = lanes.flatMap(({ bars, marks }) => [...bars, ...marks].map(({ key }) => key))
        expect(new Set(keys).size).toBe(keys.length)
      }),
    )
  })
})
