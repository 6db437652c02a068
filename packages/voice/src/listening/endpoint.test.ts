import { expect, test } from 'vitest'
import { endpoint } from './endpoint.ts'

const options = { threshold: 0.5, hold: 0.35, startMs: 100, silenceMs: 160, longestMs: 10_000 }
const roles = (probabilities: readonly number[], changes: Partial<typeof options> = {}) => {
  const { push } = endpoint({ ...options, ...changes })
  return probabilities.map(push).join(' ')
}

test('speech begins at the threshold and holds on below it', () => {
  expect(roles([0.4, 0.49, 0.5, 0.4, 0.36, 0.36, 0.4])).toBe('idle idle maybe maybe maybe begin voice')
  expect(roles([0.9, 0.9, 0.9, 0.9, 0.34, 0.4])).toBe('maybe maybe maybe begin quiet voice')
})

test('it ends after so long a silence, and not before', () => {
  expect(roles([1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])).toBe(
    'maybe maybe maybe begin quiet quiet quiet quiet voice quiet quiet quiet quiet end idle',
  )
})

test('a voice that is gone before it is certain was none', () => {
  expect(roles([1, 1, 1, 0, 0, 0, 0, 1])).toBe('maybe maybe maybe maybe maybe maybe idle maybe')
  // The gap inside a word is shorter.
  expect(roles([1, 1, 0, 0, 1, 1])).toBe('maybe maybe maybe maybe maybe begin')
  expect(roles([1, 1], { startMs: 32 })).toBe('begin voice')
})

test('its length is that of the voice, without the silence behind it', () => {
  const ends = endpoint(options)
  for (const probability of [0, 1, 1, 1, 1, 0, 1, 0, 0]) ends.push(probability)
  expect([ends.voiceMs, ends.quietFrames]).toEqual([6 * 32, 2])
})

test('it ends by itself when it is too long, and a new one begins', () => {
  expect(roles([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], { longestMs: 192 })).toBe(
    'maybe maybe maybe begin voice end maybe maybe maybe begin',
  )
})
