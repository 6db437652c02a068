import { describe, expect, test } from 'vitest'
import type { Bar, Lane } from './chart.ts'
import type { TimedEvent } from './events.test-kit.ts'
import { emit, runOf, zero } from './events.test-kit.ts'
import { exact, labelsOf, tableRows } from './labels.ts'
import { layout } from './layout.ts'
import { placeAfter } from './rove.ts'
import { shapesOf } from './shapes.ts'
import { merged, without } from './spans.ts'

test.each([
  [0, '0 ms'],
  [629.6, '630 ms'],
  [999.7, '1.000 s'],
  [1234, '1.234 s'],
  [60_000, '1 min'],
  [125_003, '2 min 5.003 s'],
  [2 * 86_400_000 + 3_600_000 + 10, '2 d 1 h 0.010 s'],
])('%d milliseconds are formatted as %s', (ms, text) => {
  expect(exact(ms)).toBe(text)
})

test('spans are merged and subtracted', () => {
  const spans = [
    { start: 5, end: 6 },
    { start: 0, end: 2 },
    { start: 1, end: 3 },
  ]
  expect(merged(spans)).toEqual([
    { start: 0, end: 3 },
    { start: 5, end: 6 },
  ])
  expect(without({ start: 1, end: 9 }, merged(spans))).toEqual([
    { start: 3, end: 5 },
    { start: 6, end: 9 },
  ])
  expect(without({ start: 7, end: 9 }, merged(spans))).toEqual([{ start: 7, end: 9 }])
  expect(without({ start: 0, end: 3 }, merged(spans))).toEqual([])
})

const bar = (start: number, end: number) => ({ key: `${start}`, start, end, bad: false }) as Bar
/** Ten seconds are 300 pixels. */
const xOf = (at: number) => at * 0.03

describe('shapes', () => {
  test('are the bars of a lane, from left to right', () => {
    const shapes = shapesOf([bar(0, 1000), bar(2000, 3000)], xOf)
    expect(shapes).toMatchObject([
      { bar: { key: '0' }, x: 0, width: 30 },
      { bar: { key: '2000' }, x: 60, width: 30 },
    ])
  })

  test('are limited by the width, without losing bars', () => {
    const bars = Array.from({ length: 5000 }, (_, index) => bar(index * 2, index * 2 + 1))
    const shapes = shapesOf(bars, xOf)
    expect(shapes.length).toBeLessThanOrEqual(120)
    expect(shapes.flatMap((shape) => shape.bars)).toEqual(bars)
  })

  test('do not merge wide bars with thin ones', () => {
    const shapes = shapesOf([bar(0, 5), bar(5, 10), bar(10, 2000), bar(2000, 2005)], xOf)
    expect(shapes.map((shape) => shape.bars.length)).toEqual([2, 1, 1])
  })

  test('of merged bars have a count and a time span', () => {
    const [shape] = shapesOf([bar(0, 5), { ...bar(5, 11), kind: 'run', bad: true }], xOf)
    expect(shape?.bar).toMatchObject({
      what: '2 short steps',
      kind: 'run',
      bad: true,
      start: 0,
      end: 11,
      of: undefined,
    })
  })
})

describe('labels', () => {
  const events: TimedEvent[] = [
    [0, emit.input('Hello')],
    [0, emit.runStart({ inputs: [1] })],
    [0, emit.roundStart(1)],
    [500, emit.toolInputStart('a', 'lookup_order')],
    [1200, emit.toolCall('a', 'lookup_order')],
    [1200, emit.toolStart('a')],
    [1830, emit.toolResult('a', 630)],
    [1850, emit.roundEnd(1)],
    [1850, emit.runEnd()],
  ]
  const { entries, run } = runOf(events)
  const chart = layout(entries, run, { now: 0 })
  const running = chart.lanes[1]?.bars[1] as Bar

  test('a bar has its name, times and duration', () => {
    const labels = labelsOf(running, chart.start)
    expect(labels.label).toBe('lookup_order running, from 1.200 s to 1.830 s, 630 ms')
    expect(labels).toMatchObject({ from: '1.200 s', to: '1.830 s', took: '630 ms' })
  })

  test('a bar shows problems and whether it is still running', () => {
    const more = ['failed', '2 reports']
    expect(labelsOf({ ...running, more }, chart.start).label).toMatch(/, 630 ms, failed, 2 reports$/)
    expect(labelsOf({ ...running, open: true }, chart.start).label).toMatch(
      /from 1.200 s, still running, 630 ms$/,
    )
  })

  test('the table has all steps of the chart', () => {
    const rows = tableRows(chart).map(({ lane, step }) => [
      lane,
      step.what,
      step.start - zero,
      step.end - zero,
    ])
    expect(rows).toEqual([
      ['Round 1', 'Input: “Hello”', 0, 0],
      ['Round 1', 'First token after 500 ms', 500, 500],
      ['Round 1', 'Round 1, waiting for m', 0, 500],
      ['lookup_order', 'lookup_order arguments', 500, 1200],
      ['lookup_order', 'lookup_order running', 1200, 1830],
    ])
  })
})

describe('keys', () => {
  const lane = (...bars: Bar[]) => ({ bars }) as unknown as Lane
  const lanes = [
    lane(bar(0, 1000), bar(1000, 4000), bar(4000, 4002), bar(4002, 4004), bar(5000, 9000)),
    lane(bar(2000, 3000), bar(3500, 6000)),
  ]

  test.each([
    ['ArrowRight', { lane: 0, key: '0' }, { lane: 0, key: '1000' }],
    ['ArrowRight', { lane: 0, key: '4000' }, { lane: 0, key: '5000' }],
    ['ArrowLeft', { lane: 0, key: '4002' }, { lane: 0, key: '1000' }],
    ['ArrowLeft', { lane: 0, key: '0' }, { lane: 0, key: '0' }],
    ['ArrowDown', { lane: 0, key: '5000' }, { lane: 1, key: '3500' }],
    ['ArrowUp', { lane: 1, key: '2000' }, { lane: 0, key: '1000' }],
    ['ArrowUp', { lane: 0, key: '1000' }, { lane: 0, key: '1000' }],
    ['PageDown', { lane: 0, key: '0' }, { lane: 1, key: '2000' }],
    ['Home', { lane: 0, key: '5000' }, { lane: 0, key: '0' }],
    ['End', { lane: 0, key: '1000' }, { lane: 0, key: '5000' }],
  ])('%s moves from %o to %o', (key, from, to) => {
    expect(placeAfter(key, from, lanes, xOf)).toEqual(to)
  })

  test('other keys do not move', () => {
    expect(placeAfter('x', { lane: 0, key: '0' }, lanes, xOf)).toBeUndefined()
  })
})
