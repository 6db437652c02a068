import { expect, test } from 'vitest'
import { recorder } from './recorder.ts'

test.each([
  [48_000, 24_000],
  [44_100, 24_000],
  [48_000, 16_000],
  [16_000, 24_000],
  [24_000, 24_000],
])('audio recorded at %i samples per second is converted to %i', (inputRate, sampleRate) => {
  const output: number[] = []
  const record = recorder({ inputRate, sampleRate, onAudio: (pcm) => output.push(...pcm) })
  const wave = (seconds: number) => 0.5 * Math.sin(2 * Math.PI * 200 * seconds)
  for (let at = 0; at < inputRate; at += 128)
    record(Float32Array.from({ length: 128 }, (_, index) => wave((at + index) / inputRate)))
  expect(output.length).toBeGreaterThan(sampleRate * 0.98)
  expect(output.length).toBeLessThan(sampleRate * 1.02)
  const loudest = Math.max(...output.map(Math.abs))
  expect(loudest / 32_767).toBeGreaterThan(0.47)
  expect(loudest / 32_767).toBeLessThan(0.51)
  // The frequency is the same.
  const rises = output.filter((value, index) => value >= 0 && (output[index - 1] ?? 0) < 0).length
  expect(Math.abs(rises - (200 * output.length) / sampleRate)).toBeLessThan(3)
})

test('samples that are too loud are clipped, not wrapped', () => {
  const output: number[] = []
  const record = recorder({ inputRate: 8000, sampleRate: 8000, onAudio: (pcm) => output.push(...pcm) })
  record(new Float32Array(80).fill(3))
  record(new Float32Array(80).fill(-3))
  expect(output).toHaveLength(160)
  expect(new Set(output)).toEqual(new Set([32_767, -32_767]))
})
