import { expect, test } from 'vitest'
import { joined, quiet, tone } from './listening.test-kit.ts'
import { piecesOf, quietPlace } from './quiet-place.ts'

test('the middle of the longest quiet is found', () => {
  const sound = joined(tone(1000), quiet(60), tone(500), quiet(100), tone(500))
  expect(quietPlace(sound, 0, sound.length)).toBe(16 * (1000 + 60 + 500 + 50))
})

test('where it is nowhere quiet it is cut at the faintest, and a place that is too small at its end', () => {
  const sound = joined(tone(400), tone(100, { level: 7000 }), tone(400))
  expect(quietPlace(sound, 0, sound.length)).toBe(16 * 450)
  expect(quietPlace(sound, 100, 200)).toBe(200)
})

test('pieces are short enough, and together all of it', () => {
  const sound = joined(...Array.from({ length: 9 }, () => [tone(700), quiet(120)]).flat())
  const pieces = [...piecesOf(sound, 32_000)]
  expect(pieces.length).toBe(5)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(32_000)
  expect(joined(...pieces)).toEqual(sound)
  for (const piece of pieces.slice(0, -1)) expect(piece.at(-1)).toBe(0)
  expect([...piecesOf(sound, sound.length)]).toEqual([sound])
})
