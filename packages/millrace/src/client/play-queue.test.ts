import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { playQueue } from './play-queue.ts'

/** Samples of one level. The first few samples that are played fade in. */
function pcm(length: number, level = 16_384): Int16Array {
  return new Int16Array(length).fill(level)
}

function filled(queue: ReturnType<typeof playQueue>, length: number): Float32Array {
  const out = new Float32Array(length)
  queue.fill(out)
  return out
}

const rates = { sampleRate: 8000, outputRate: 8000 }

describe('queued audio', () => {
  test('is played in order, followed by silence', () => {
    const queue = playQueue(rates)
    queue.push({ clip: 1, position: 0, pcm: pcm(40) })
    queue.push({ clip: 1, position: 40, pcm: pcm(60, -16_384) })
    const out = filled(queue, 128)
    expect([...out.slice(32, 40)]).toEqual(Array(8).fill(0.5))
    expect([...out.slice(40, 100)]).toEqual(Array(60).fill(-0.5))
    expect([...out.slice(100)]).toEqual(Array(28).fill(0))
    expect(queue.played()).toEqual({ clip: 1, position: 100, idle: true })
  })

  test('fades in and out when it is cut, and the fade does not count as played', () => {
    const queue = playQueue(rates)
    queue.push({ clip: 1, position: 0, pcm: pcm(1000) })
    const steps = [...filled(queue, 100)]
    expect(queue.drop(1, 0)).toEqual({ clip: 1, position: 100, idle: true })
    steps.push(...filled(queue, 100))
    queue.push({ clip: 2, position: 0, pcm: pcm(200) })
    steps.push(...filled(queue, 100))
    expect(queue.pause()).toEqual({ clip: 2, position: 100, idle: false })
    steps.push(...filled(queue, 100))
    for (const [index, step] of steps.entries())
      expect(Math.abs(step - (steps[index - 1] ?? 0)), `at ${index}`).toBeLessThan(0.02)
    // Silent within 5 ms: 40 samples.
    expect(steps.slice(140, 200).every((step) => step === 0)).toBe(true)
    expect(steps.slice(340).every((step) => step === 0)).toBe(true)
    expect(queue.played()).toEqual({ clip: 2, position: 100, idle: false })
    queue.resume()
    filled(queue, 50)
    expect(queue.played().position).toBe(150)
  })

  test('only loses the dropped part of its clip', () => {
    const queue = playQueue(rates)
    queue.push({ clip: 1, position: 0, pcm: pcm(100) })
    queue.push({ clip: 1, position: 100, pcm: pcm(100) })
    queue.push({ clip: 2, position: 0, pcm: pcm(50) })
    expect(queue.drop(1, 150)).toEqual({ clip: 0, position: 0, idle: false })
    filled(queue, 149)
    expect(queue.played()).toEqual({ clip: 1, position: 149, idle: false })
    filled(queue, 10)
    expect(queue.played()).toEqual({ clip: 2, position: 9, idle: false })
    expect(queue.drop(2, 5)).toEqual({ clip: 2, position: 9, idle: true })
  })

  test.each([
    [24_000, 48_000],
    [24_000, 44_100],
    [48_000, 44_100],
    [8000, 96_000],
  ])('at %i samples per second sounds the same at %i', (sampleRate, outputRate) => {
    const queue = playQueue({ sampleRate, outputRate })
    const wave = (seconds: number) => 0.5 * Math.sin(2 * Math.PI * 300 * seconds)
    const half = sampleRate / 2
    for (let at = 0; at < half; at += 100)
      queue.push({
        clip: 1,
        position: at,
        pcm: Int16Array.from({ length: 100 }, (_, index) => 32_768 * wave((at + index) / sampleRate)),
      })
    const out = filled(queue, outputRate / 4)
    // After the fade-in, and as exact as linear interpolation can be.
    for (let index = 500; index < out.length; index++)
      expect(Math.abs((out[index] ?? 0) - wave(index / outputRate))).toBeLessThan(0.02)
    expect(Math.abs(queue.played().position - sampleRate / 4)).toBeLessThanOrEqual(1)
  })

  test('counts every sample once, for any chunk sizes', () => {
    const plan = fc.record({
      pieces: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }),
      fills: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 40 }),
    })
    fc.assert(
      fc.property(plan, ({ pieces, fills }) => {
        const queue = playQueue(rates)
        let total = 0
        for (const length of pieces) {
          queue.push({ clip: 1, position: total, pcm: pcm(length) })
          total += length
        }
        let requested = 0
        for (const length of fills) {
          filled(queue, length)
          requested += length
          expect(queue.played().position).toBe(Math.min(requested, total))
        }
        expect(queue.played().idle).toBe(requested >= total)
      }),
    )
  })
})
