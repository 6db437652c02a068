import { expect, test } from 'vitest'
import { recorder } from './recorder.ts'

test.each([
  [48_000, 24_000],
  [44_100, 24_000],
  [48_000, 16_000],
  [16_000, 24_000],
  [24_000, 24_000],
])('what is recorded at %i samples a second comes out at %i', (inputRate, sampleRate) => {
  const heard: number[] = []
  const record = recorder({ inputRate, sampleRate, onAudio: (pcm) => heard.push(...pcm) })
  const wave = (seconds: number) => 0.5 * Math.sin(2 * Math.PI * 200 * seconds)
  for (let at = 0; at < inputRate; at += 128)
    record(Float32Array.from({ length: 128 }, (_, index) => wave((at + index) / inputRate)))
  expect(heard.length).toBeGreaterThan(sampleRate * 0.98)
  expect(heard.length).toBeLessThan(sampleRate * 1.02)
  const loudest = Math.max(...heard.map(Math.abs))
  expect(loudest / 32_767).toBeGreaterThan(0.47)
  expect(loudest / 32_767).toBeLessThan(0.51)
  // As many waves as there were.
  const rises = heard.filter((value, index) => value >= 0 && (heard[index - 1] ?? 0) < 0).length
  expect(Math.abs(rises - (200 * heard.length) / sampleRate)).toBeLessThan(3)
})

test('what is too loud is cut, not turned over', () => {
  const heard: number[] = []
  const record = recorder({ inputRate: 8000, sampleRate: 8000, onAudio: (pcm) => heard.push(...pcm) })
  record(new Float32Array(80).fill(3))
  record(new Float32Array(80).fill(-3))
  expect(heard).toHaveLength(160)
  expect(new Set(heard)).toEqual(new Set([32_767, -32_767]))
})
