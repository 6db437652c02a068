import fc from 'fast-check'
import type { Entry, ThreadEvent } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { take } from 'millrace/view'
import { describe, expect, test } from 'vitest'
import type { Bar, Chart, Lane } from './chart.ts'
import { layout } from './layout.ts'
import { randomRun } from './random-run.test-kit.ts'
import type { Told } from './written.test-kit.ts'
import { entriesOf, logOf, runOf, tell, zero } from './written.test-kit.ts'

const day = 86_400_000

function chartOf(
  told: readonly Told[],
  now = 0,
  absences: { from: number; to: number | undefined }[] = [],
): Chart {
  const { entries, run } = runOf(told)
  return layout(entries, run, { now: zero + now, absences })
}

/** Each bar as `kind from–to`, in milliseconds since the beginning; `!` where something went wrong, `…` where it goes on. */
function drawn({ lanes }: Chart): Record<string, string[]> {
  return Object.fromEntries(lanes.map(({ name, bars }, index) => [`${index} ${name}`, bars.map(short)]))
}

function short({ kind, start, end, bad, open }: Bar): string {
  return `${kind} ${start - zero}–${end - zero}${bad ? '!' : ''}${open ? '…' : ''}`
}

const hello: readonly Told[] = [
  [0, tell.says('Hello')],
  [0, tell.starts({ heard: [1] })],
  [0, tell.round(1)],
]

describe('a round', () => {
  test('is waited for, thinks and writes; what the model measured counts for more than when it was written', () => {
    const chart = chartOf([
      ...hello,
      [420, tell.thinks('Hm. ')],
      [700, tell.thinks('Well.')],
      [900, tell.text('Hello')],
      [1410, tell.text(' there.')],
      [1420, tell.roundEnds(1, { firstEventMs: 401.5, ms: 1401.5 })],
      [1421, tell.ends()],
    ])
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–401.5', 'think 401.5–700', 'text 700–1401.5'] })
    expect(chart.lanes[0]?.marks).toMatchObject([
      { kind: 'heard', start: zero, what: 'Heard: “Hello”' },
      { kind: 'first', start: zero + 401.5, what: 'First token after 402 ms' },
    ])
  })

  test('without timings is drawn by when its entries were written', () => {
    const chart = chartOf([...hello, [300, tell.text('Hi')], [310, tell.roundEnds(1)], [311, tell.ends()]])
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–300', 'text 300–300'] })
  })

  test('that takes no time at all has a lane, and the axis a length', () => {
    const chart = chartOf([
      ...hello,
      [0, tell.text('Hi')],
      [0, tell.roundEnds(1, { ms: 0 })],
      [0, tell.ends()],
    ])
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–0', 'text 0–0'] })
    expect(chart.axis.length).toBeGreaterThan(0)
  })

  test('whose words were joined begins each part where the one before it ended', () => {
    const joined: Entry[] = entriesOf([
      ...hello,
      [700, tell.thinks('Hm. Well.')],
      [1400, tell.text('Hello there.')],
      [1500, tell.roundEnds(1, { firstEventMs: 400, ms: 1500 })],
      [1500, tell.ends()],
    ]).map((entry) => (entry.seq === 4 || entry.seq === 5 ? { ...entry, from: entry.seq } : entry))
    const log = logOf(joined)
    const chart = layout(joined, log.runs[0] as RunView, { now: 0 })
    expect(drawn(chart)).toEqual({ '0 Round 1': ['wait 0–400', 'think 400–700', 'text 700–1400'] })
  })

  test('that talks on beside a call which the wire closes only at the end', () => {
    const { lanes } = chartOf([
      ...hello,
      [100, tell.text('Let me look.')],
      [200, { type: 'tool-input-start', callId: 'c1', name: 'look' }],
      [300, tell.text('This takes a moment.')],
      [600, tell.text(' Bear with me.')],
      [700, { type: 'tool-call', callId: 'c1', name: 'look', input: {} }],
      [700, tell.roundEnds(1, { firstEventMs: 100, ms: 700 })],
    ])
    expect(lanes[0]?.bars.map(({ kind, start, end }) => [kind, start - zero, end - zero])).toEqual([
      ['wait', 0, 100],
      ['text', 100, 100],
      ['text', 300, 600],
    ])
  })

  test('that is asked for again shows each request that failed, and the pause after it', () => {
    const chart = chartOf([
      ...hello,
      [100, tell.retries(1, 2, 500)],
      [900, tell.retries(1, 3, 1000)],
      [2300, tell.text('Hi')],
      [2400, tell.roundEnds(1, { firstEventMs: 350, ms: 480 })],
      [2400, tell.ends()],
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

  test('that was taken back keeps a lane of its own, with the reason', () => {
    const chart = chartOf([
      ...hello,
      [200, tell.text('Hal')],
      [300, tell.retracts(1)],
      [300, tell.retries(1, 2, 100)],
      [600, tell.text('Hello')],
      [700, tell.roundEnds(1, { firstEventMs: 200, ms: 300 })],
      [700, tell.ends()],
    ])
    expect(drawn(chart)).toEqual({
      '0 Round 1': ['wait 0–200!', 'text 200–200!'],
      '1 Round 1': ['pause 300–400', 'wait 400–600', 'text 600–600'],
    })
    expect(chart.lanes.map(({ retracted }) => retracted)).toEqual([true, false])
    expect(chart.lanes[0]?.marks.at(-1)).toMatchObject({
      kind: 'broken',
      what: 'Taken back: the stream broke',
    })
  })

  test('that goes on grows with the clock', () => {
    const told: Told[] = [...hello, [200, tell.thinks('Hm')]]
    expect(drawn(chartOf(hello, 150))).toEqual({ '0 Round 1': ['wait 0–150…'] })
    expect(drawn(chartOf(told, 900))).toEqual({ '0 Round 1': ['wait 0–200', 'think 200–900…'] })
    expect(chartOf(told, 900)).toMatchObject({ live: true, end: zero + 900 })
  })

  test('that hears something new says what', () => {
    const chart = chartOf([
      ...hello,
      [10, tell.roundEnds(1)],
      [20, tell.says('And quickly')],
      [30, tell.round(2, [5])],
      [40, tell.roundEnds(2)],
      [40, tell.ends()],
    ])
    const heard = chart.lanes.map(({ marks }) => marks.filter(({ kind }) => kind === 'heard'))
    expect(heard.map((marks) => marks.map(({ what }) => what))).toEqual([
      ['Heard: “Hello”'],
      ['Heard: “And quickly”'],
    ])
  })
})

describe('calls', () => {
  test('that overlap have lanes of their own; one that begins later takes a lane that is free', () => {
    const chart = chartOf([
      ...hello,
      [100, tell.writes('a')],
      [200, tell.calls('a')],
      [200, tell.runs('a')],
      [210, tell.writes('b')],
      [300, tell.calls('b')],
      [350, tell.runs('b')],
      [400, tell.result('a', 199.5)],
      [500, tell.writes('c')],
      [600, tell.calls('c')],
      [600, tell.runs('c')],
      [610, tell.roundEnds(1)],
      [700, tell.result('b', 350)],
      [710, tell.result('c', 110)],
      [720, tell.ends()],
    ])
    expect(drawn(chart)).toEqual({
      '0 Round 1': ['wait 0–100'],
      '1 look_up × 2': ['input 100–200', 'run 200–399.5', 'input 500–600', 'run 600–710'],
      '2 look_up': ['input 210–300', 'turn 300–350', 'run 350–700'],
    })
  })

  test('that fail or report say so', () => {
    const chart = chartOf([
      ...hello,
      [10, tell.calls('a')],
      [10, tell.runs('a')],
      [20, tell.reports('a')],
      [30, tell.reports('a')],
      [40, tell.result('a', 30, 'failed')],
      [50, tell.roundEnds(1)],
      [50, tell.ends()],
    ])
    const lane = chart.lanes[1] as Lane
    expect(lane.bars).toMatchObject([{ kind: 'run', bad: true, more: ['failed', '2 reports'] }])
    expect(lane.marks.map(({ start }) => start - zero)).toEqual([20, 30])
  })

  test('that never ran are there too, with the reason', () => {
    const chart = chartOf([
      ...hello,
      [10, tell.calls('a')],
      [10, tell.result('a', 0, 'declined')],
      [20, tell.writes('b')],
      [30, tell.roundEnds(1)],
      [30, tell.ends()],
    ])
    expect(drawn(chart)).toMatchObject({ '1 look_up × 2': ['input 10–10!', 'input 20–30!'] })
    const reasons = chart.lanes[1]?.bars.flatMap(({ more }) => more)
    expect(reasons).toEqual(['declined', 'The model never finished its arguments.'])
  })

  test('that wait for a person two days fold the axis, and the run goes on after it', () => {
    const chart = chartOf([
      ...hello,
      [1000, tell.calls('a')],
      [1000, tell.asks('a')],
      [1010, tell.roundEnds(1)],
      [1010, tell.ends('suspended')],
      [2 * day, tell.approves('a')],
      [2 * day, tell.starts({ resumes: 'run_1', runId: 'run_2' })],
      [2 * day + 5, tell.runs('a')],
      [2 * day + 505, tell.result('a', 500)],
      [2 * day + 510, tell.ends()],
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
      { kind: 'moment', what: 'Went on', start: zero + 2 * day },
    ])
  })

  test('whose sub-agent asks run until it has nothing else to do, and again when it was answered', () => {
    const chart = chartOf([
      ...hello,
      [10, tell.calls('a')],
      [10, tell.roundEnds(1)],
      [100, tell.runs('a')],
      [200, tell.asks('a/x')],
      [250, tell.asks('a/y')],
      [300, tell.ends('suspended')],
      [1000, tell.approves('a/x')],
      [1000, tell.starts({ resumes: 'run_1', runId: 'run_2' })],
      [1000, tell.runs('a', 2)],
      [1100, tell.ends('suspended')],
      [2000, tell.approves('a/y')],
      [2000, tell.starts({ resumes: 'run_2', runId: 'run_3' })],
      [2000, tell.runs('a', 3)],
      [2100, tell.result('a', 100)],
      [2100, tell.ends()],
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

  test('that the provider runs are told of bit by bit', () => {
    const told = (more: object): ThreadEvent => ({
      type: 'provider-tool',
      callId: 'p',
      name: 'web_search',
      ...more,
    })
    const { entries, log, run } = runOf([
      ...hello,
      [10, told({ input: 'rivers' })],
      [90, told({ output: [] })],
    ])
    const bars = () => layout(entries, run, { now: zero + 100 }).lanes[1]?.bars
    expect(bars()).toMatchObject([{ kind: 'run', start: zero + 10, end: zero + 90, bad: false }])
    take(log, { seq: 6, at: zero + 95, event: told({ isError: true }) })
    expect(bars()).toMatchObject([{ what: 'web_search running at the provider', more: ['failed'] }])
  })

  test('that still wait for a person do so until now', () => {
    const told: Told[] = [
      ...hello,
      [1000, tell.calls('a')],
      [1000, tell.asks('a')],
      [1010, tell.roundEnds(1)],
      [1010, tell.ends('suspended')],
    ]
    expect(drawn(chartOf(told, 5000))).toMatchObject({ '1 look_up': ['person 1000–5000…'] })
  })
})

describe('a run whose process was lost', () => {
  const told: Told[] = [
    ...hello,
    [100, tell.calls('a')],
    [100, tell.runs('a')],
    [110, tell.roundEnds(1, { ms: 110 })],
    [60_000, tell.starts({ resumes: 'run_1', runId: 'run_2', losses: 1 })],
    [60_010, tell.runs('a', 2)],
    [60_110, tell.result('a', 100)],
    [60_120, tell.round(2)],
    [60_300, tell.text('Hal')],
    [90_000, tell.starts({ resumes: 'run_2', runId: 'run_3', losses: 2 })],
    [90_000, tell.retracts(2, 'its process was lost')],
    [90_010, tell.round(2)],
    [90_400, tell.text('Hello')],
    [90_500, tell.roundEnds(2)],
    [90_500, tell.ends()],
  ]

  test('shows what was lost, and who took over when', () => {
    const chart = chartOf(told)
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
      'Taken over, the 2. time',
    ])
  })

  test('has calls that wait to be run again', () => {
    const chart = chartOf(told.slice(0, 7), 61_000)
    expect(drawn(chart)).toMatchObject({ '1 look_up': ['run 100–110!', 'turn 60000–61000…'] })
  })
})

test('times in which this page was not connected are a band, as far as they are the run’s', () => {
  const told: Told[] = [...hello, [1000, tell.roundEnds(1)], [1000, tell.ends()]]
  const away = [
    { from: zero - 500, to: zero + 100 },
    { from: zero + 800, to: undefined },
    { from: zero + 2000, to: zero + 3000 },
  ]
  expect(chartOf(told, 5000, away).bands).toMatchObject([
    { kind: 'away', start: zero, end: zero + 100 },
    { kind: 'away', start: zero + 800, end: zero + 1000 },
  ])
})

describe('whatever happens in a run', () => {
  const runs = fc.tuple(randomRun, fc.nat(100_000))

  test('no two bars of a lane overlap, and all of them are on the axis', () => {
    fc.assert(
      fc.property(runs, ([told, later]) => {
        const { entries, run } = runOf(told)
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

  test('every call is there once, in one lane, and every round has its own', () => {
    fc.assert(
      fc.property(runs, ([told, later]) => {
        const { entries, run } = runOf(told)
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
