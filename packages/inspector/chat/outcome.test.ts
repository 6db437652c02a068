import { expect, test } from 'vitest'
import { logOf, roundEnd, runEnd, runIn, usage } from './log.test-kit.ts'
import { activeMs, endText, usageText } from './outcome.ts'

const counted = (more: object = {}) => ({ ...roundEnd, usage: { ...usage, ...more } }) as typeof roundEnd

test('shows the outcome and the duration of a run', () => {
  expect(endText(runIn(logOf(runEnd('completed'))))).toBe('Done in 20 ms')
  expect(endText(runIn(logOf(runEnd('max-rounds'))))).toBe('Reached the round limit after 20 ms')
})

test('a run that a budget ended says which limit it was', () => {
  const limit = { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 }
  expect(endText(runIn(logOf(runEnd('budget', { limit }))))).toBe(
    'The budget of $2.00 for this run is spent. Stopped after 20 ms',
  )
})

test('shows why a run was stopped', () => {
  const error = {
    code: 'stream_interrupted',
    message: 'interrupted by a new message',
    op: 'x',
    retryable: false,
  }
  expect(endText(runIn(logOf(runEnd('canceled', { error }))))).toBe(
    'Stopped after 20 ms: interrupted by a new message',
  )
})

test('a run stopped by the user says so, rounded', () => {
  const error = { code: 'stream_interrupted', message: 'stopped by the user', op: 'x', retryable: false }
  const run = runIn(logOf(runEnd('canceled', { error })))
  const [leg] = run.legs
  if (leg) leg.endedAt = leg.at + 2370
  expect(endText(run)).toBe('You stopped this after 2.4 s')
})

test('the active time excludes waits for a decision', () => {
  const log = logOf(runEnd('suspended'))
  const run = runIn(log)
  run.legs.push({
    ...run.legs[0],
    runId: 'run_2',
    seq: 9,
    at: 900_000,
    endedAt: 900_030,
    outcome: 'completed',
    why: 'person',
    losses: 0,
  })
  expect(activeMs(run)).toBe(20 + 30)
})

test('shows tokens with the share read from the cache', () => {
  expect(usageText(runIn(logOf(counted())))).toBe(`${(1200).toLocaleString()} tokens in, 88 out`)
  expect(usageText(runIn(logOf(counted({ cacheReadTokens: 900 }))))).toMatch(/, 75% from cache$/)
})

test('shows no usage if no tokens were counted', () => {
  expect(usageText(runIn(logOf(roundEnd)))).toBeUndefined()
})
