import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldedAxis } from './axis.ts'
import { ticksOf } from './ticks.ts'

const minute = 60_000

describe('the axis', () => {
  test('is linear if there is no idle time', () => {
    const axis = foldedAxis({ start: 1000, end: 4000, busy: [{ start: 1000, end: 4000 }] })
    expect(axis.length).toBe(3000)
    expect([axis.xOf(1000), axis.xOf(2500), axis.xOf(9000)]).toEqual([0, 1500, 3000])
    expect(axis.folds).toEqual([])
  })

  test.each([
    ['ten idle seconds are kept', 10_000, 0],
    ['more than ten idle seconds are folded', 10_001, 1],
  ])('%s', (_, idleMs, folds) => {
    const busy = [
      { start: 0, end: 5000 },
      { start: 5000 + idleMs, end: 10_000 + idleMs },
    ]
    const axis = foldedAxis({ start: 0, end: 10_000 + idleMs, busy })
    expect(axis.folds).toHaveLength(folds)
  })

  test('folds only idle times longer than a quarter of the busy time', () => {
    const busy = (idleMs: number) => [
      { start: 0, end: 2 * minute },
      { start: 2 * minute + idleMs, end: 4 * minute + idleMs },
    ]
    const folds = (idleMs: number) =>
      foldedAxis({ start: 0, end: 4 * minute + idleMs, busy: busy(idleMs) }).folds
    expect(folds(minute)).toHaveLength(0)
    expect(folds(minute + 1)).toEqual([{ start: 2 * minute, end: 3 * minute + 1 }])
  })

  test('limits the total width of folds', () => {
    const busy = Array.from({ length: 100 }, (_, index) => ({
      start: index * minute,
      end: index * minute + 100,
    }))
    const { length, folds } = foldedAxis({ start: 0, end: 100 * minute, busy })
    expect(folds).toHaveLength(100)
    expect(length).toBeLessThan(15_000)
  })

  test('maps times to positions and back, monotonically', () => {
    const spans = fc.array(
      fc.tuple(fc.nat(500_000), fc.nat(9000)).map(([start, ms]) => ({ start, end: start + ms })),
      { maxLength: 9 },
    )
    fc.assert(
      fc.property(spans, fc.array(fc.integer({ min: 0, max: 520_000 }), { minLength: 2 }), (busy, times) => {
        const axis = foldedAxis({ start: 0, end: 520_000, busy })
        const places = times.toSorted((a, b) => a - b).map((at) => ({ at, x: axis.xOf(at) }))
        for (const [index, { at, x }] of places.entries()) {
          expect(axis.atOf(x)).toBeCloseTo(at, 3)
          expect(x).toBeGreaterThanOrEqual(index === 0 ? 0 : (places[index - 1]?.x as number))
          expect(x).toBeLessThanOrEqual(axis.length)
        }
      }),
    )
  })
})

describe('ticks', () => {
  const axis = foldedAxis({
    start: 500,
    end: 500 + 2 * minute,
    busy: [
      { start: 500, end: 3400 },
      { start: 500 + 2 * minute - 2000, end: 500 + 2 * minute },
    ],
  })

  test('are at round times since the start of the run, and not in folds', () => {
    const ticks = ticksOf(axis, 500, 500 + 2 * minute, 700)
    expect(ticks.map(({ what }) => what)).toEqual(['0 ms', '1 s', '2 s', '1 min 58 s', '1 min 59 s', '2 min'])
    expect(ticks[4]?.start).toBe(500 + minute + 59_000)
  })

  test('are in milliseconds at a high zoom level', () => {
    const ticks = ticksOf(axis, 1495, 1521, 8)
    expect(ticks.map(({ what }) => what)).toEqual(['1 s', '1.01 s', '1.02 s'])
  })
})
