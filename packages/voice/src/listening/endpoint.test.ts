import { expect, test } from 'vitest'
import { endpoint } from './endpoint.ts'

const options = { threshold: 0.5, hold: 0.35, startMs: 100, silenceMs: 160, maxMs: 10_000 }
const roles = (probabilities: readonly number[], changes: Partial<typeof options> = {}) => {
  const { push } = endpoint({ ...options, ...changes })
  return probabilities.map(push).join(' ')
}

test('speech starts at the threshold and continues below it', () => {
  expect(roles([0.4, 0.49, 0.5, 0.4, 0.36, 0.36, 0.4])).toBe('idle idle maybe maybe maybe start voice')
  expect(roles([0.9, 0.9, 0.9, 0.9, 0.34, 0.4])).toBe('maybe maybe maybe start quiet voice')
})

test('ends after the configured silence, and not before', () => {
  expect(roles([1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])).toBe(
    'maybe maybe maybe start quiet quiet quiet quiet voice quiet quiet quiet quiet end idle',
  )
})

test('a sound that ends before it is certain is ignored', () => {
  expect(roles([1, 1, 1, 0, 0, 0, 0, 1])).toBe('maybe maybe maybe maybe maybe maybe idle maybe')
  // Gaps within a word are shorter.
  expect(roles([1, 1, 0, 0, 1, 1])).toBe('maybe maybe maybe maybe maybe start')
  expect(roles([1, 1], { startMs: 32 })).toBe('start voice')
})

test('the length does not include trailing silence', () => {
  const ends = endpoint(options)
  for (const probability of [0, 1, 1, 1, 1, 0, 1, 0, 0]) ends.push(probability)
  expect([ends.voiceMs, ends.quietFrames]).toEqual([6 * 32, 2])
})

test('an utterance ends when it is too long, and a new one starts', () => {
  expect(roles([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], { maxMs: 192 })).toBe(
    'maybe maybe maybe start voice end maybe maybe maybe start',
  )
})
