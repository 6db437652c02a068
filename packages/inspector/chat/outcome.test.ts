import { expect, test } from 'vitest'
import { logOf, roundEnd, runEnd, runIn, usage } from './log.test-kit.ts'
import { endWords, usageWords, workedMs } from './outcome.ts'

const counted = (more: object = {}) => ({ ...roundEnd, usage: { ...usage, ...more } }) as typeof roundEnd

test('the end of a run says how it ended and how long it took', () => {
  expect(endWords(runIn(logOf(runEnd('completed'))))).toBe('Done in 20 ms')
  expect(endWords(runIn(logOf(runEnd('max-rounds'))))).toBe('Ended at the limit of rounds after 20 ms')
})

test('a run that somebody stopped says why', () => {
  const error = {
    code: 'stream_interrupted',
    message: 'interrupted by a new message',
    op: 'x',
    retryable: false,
  }
  expect(endWords(runIn(logOf(runEnd('cancelled', { error }))))).toBe(
    'Stopped after 20 ms: interrupted by a new message',
  )
})

test('the time that a person took to decide does not count', () => {
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
  expect(workedMs(run)).toBe(20 + 30)
})

test('tokens are told with how many of them came from the cache', () => {
  expect(usageWords(runIn(logOf(counted())))).toBe(`${(1200).toLocaleString()} tokens in, 88 out`)
  expect(usageWords(runIn(logOf(counted({ cacheReadTokens: 900 }))))).toMatch(/, 75 % from the cache$/)
})

test('where nothing was counted, nothing is said', () => {
  expect(usageWords(runIn(logOf(roundEnd)))).toBeUndefined()
})
