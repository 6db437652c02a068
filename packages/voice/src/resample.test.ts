import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized, some } from '../../../test/size.ts'
import { resampler } from './resample.ts'

const rates = [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]
const pairs = [
  ...rates.flatMap((from) => rates.filter((to) => to !== from).map((to) => [from, to] as const)),
  // No common divisor.
  [12_345, 31_337] as const,
  [47_999, 16_001] as const,
]

describe.each(some(pairs))('from %d to %d', (from, to) => {
  const limit = Math.min(from, to) / 2

  test('a tone keeps its level, its pitch and its time', () => {
    for (const hertz of [100, 1000, 0.8 * limit]) {
      const out = resampled(sine(hertz, from), from, to)
      const wanted = sine(hertz, to)
      expect(out.length).toBe(to)
      // Away from the edges.
      const middle = [Math.floor(to * 0.1), Math.floor(to * 0.9)] as const
      const error = difference(out, wanted).slice(...middle)
      expect(levelOf(error)).toBeLessThan(levelOf(wanted) / 500)
    }
  })

  test('adds no other frequencies', () => {
    // Nothing may be left above the lower Nyquist limit, and nothing may be added below it.
    const above = from > to ? [limit * 1.01, (limit + from / 2) / 2, from / 2 - 100] : []
    for (const hertz of above.filter((one) => one < from / 2)) {
      const inner = resampled(sine(hertz, from), from, to).slice(to * 0.1, to * 0.9)
      expect(levelOf(inner)).toBeLessThan(level / 100)
    }
  })
})

test('the chunking does not change the samples', () => {
  const sound = noise(5000)
  fc.assert(
    fc.property(
      fc.constantFrom(...rates, 12_345),
      fc.constantFrom(...rates, 31_337),
      fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 20 }),
      (from, to, cuts) => {
        const machine = resampler(from, to)
        const parts: Int16Array[] = []
        let rest = sound
        for (const cut of cuts) {
          parts.push(machine.push(rest.subarray(0, cut)))
          rest = rest.subarray(cut)
        }
        parts.push(machine.push(rest), machine.flush())
        expect(joined(parts)).toEqual(resampled(sound, from, to))
      },
    ),
    { numRuns: sized(60) },
  )
})

test('a flush resets it', () => {
  const machine = resampler(16_000, 24_000)
  const sound = noise(1001)
  const once = joined([machine.push(sound), machine.flush()])
  expect(joined([machine.push(sound), machine.flush()])).toEqual(once)
  expect(once.length).toBe(1502)
  expect(machine.flush()).toHaveLength(0)
})

test('long audio is as exact as short audio, and buffers no more', () => {
  const machine = resampler(44_100, 48_000)
  const second = sine(441, 44_100)
  let total = 0
  let last = new Int16Array()
  for (let count = 0; count < sized(100); count++) {
    last = new Int16Array(machine.push(second))
    total += last.length
  }
  // 441 Hz repeats each second, so that all seconds are equal.
  expect(total + machine.flush().length).toBe(48_000 * sized(100))
  expect(last).toHaveLength(48_000)
  expect(levelOf(last)).toBeCloseTo(level, -1)
})

test('clips the loudest audio and never overflows', () => {
  const square = Int16Array.from({ length: 4000 }, (_, at) => (Math.floor(at / 40) % 2 ? 32_767 : -32_768))
  const out = resampled(square, 16_000, 48_000)
  out.forEach((sample, at) => {
    const sign = Math.floor(at / 120) % 2 ? 1 : -1
    if (at % 120 > 20 && at % 120 < 100) expect(Math.sign(sample)).toBe(sign)
  })
})

test('the same rate changes nothing and copies nothing', () => {
  const sound = noise(10)
  const machine = resampler(16_000, 16_000)
  expect(machine.push(sound)).toBe(sound)
  expect(machine.flush()).toHaveLength(0)
})

test.each([0, -1, 16_000.5, Number.NaN, 1e9])('rejects the sample rate %s', (rate) => {
  expect(() => resampler(rate, 16_000)).toThrow(/the sample rate must be a whole number/)
  expect(() => resampler(16_000, rate)).toThrow(/the sample rate must be a whole number/)
})

const amplitude = 20_000
const level = amplitude / Math.SQRT2

/** One second. */
function sine(hertz: number, rate: number): Int16Array {
  return Int16Array.from({ length: rate }, (_, at) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hertz * at) / rate)),
  )
}

function noise(length: number): Int16Array {
  let state = 1
  return Int16Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647
    return (state % 40_000) - 20_000
  })
}

function resampled(sound: Int16Array, from: number, to: number): Int16Array {
  const machine = resampler(from, to)
  return joined([machine.push(sound), machine.flush()])
}

function joined(parts: readonly Int16Array[]): Int16Array {
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

function difference(one: Int16Array, other: Int16Array): Int16Array {
  return one.map((sample, at) => sample - (other[at] ?? 0))
}

/** Root mean square. */
function levelOf(sound: Int16Array): number {
  return Math.sqrt(sound.reduce((sum, sample) => sum + sample * sample, 0) / sound.length)
}
