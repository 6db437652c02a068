import { expect, test } from 'vitest'
import { joined, quiet, tone } from './listening.test-kit.ts'
import { quietestPoint, splitAtQuiet } from './quietest-point.ts'

test('finds the middle of the quietest part', () => {
  const sound = joined(tone(1000), quiet(60), tone(500), quiet(100), tone(500))
  expect(quietestPoint(sound, 0, sound.length)).toBe(16 * (1000 + 60 + 500 + 50))
})

test('without silence it cuts at the faintest point, and a short range at its end', () => {
  const sound = joined(tone(400), tone(100, { level: 7000 }), tone(400))
  expect(quietestPoint(sound, 0, sound.length)).toBe(16 * 450)
  expect(quietestPoint(sound, 100, 200)).toBe(200)
})

test('pieces are short enough, and cover all of the audio', () => {
  const sound = joined(...Array.from({ length: 9 }, () => [tone(700), quiet(120)]).flat())
  const pieces = [...splitAtQuiet(sound, 32_000)]
  expect(pieces.length).toBe(5)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(32_000)
  expect(joined(...pieces)).toEqual(sound)
  for (const piece of pieces.slice(0, -1)) expect(piece.at(-1)).toBe(0)
  expect([...splitAtQuiet(sound, sound.length)]).toEqual([sound])
})
