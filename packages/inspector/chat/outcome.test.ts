import type { Outcome, RunView } from 'millrace/view'
import { expect, test } from 'vitest'
import { logOf, roundEnd, runEnd, runIn, usage } from './log.test-kit.ts'
import { endText, runTimes, timesText, usageText } from './outcome.ts'

const counted = (more: object = {}) => ({ ...roundEnd, usage: { ...usage, ...more } }) as typeof roundEnd

test('shows how a run ended', () => {
  expect(endText(runIn(logOf(runEnd('completed'))))).toBe('Done')
  expect(endText(runIn(logOf(runEnd('max-rounds'))))).toBe('Reached the round limit')
})

test('a run that a budget ended says which limit it was', () => {
  const limit = { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 }
  expect(endText(runIn(logOf(runEnd('budget', { limit }))))).toBe(
    'The budget of $2.00 for this run is spent.',
  )
})

test('shows why a run was stopped', () => {
  const error = { code: 'stream_interrupted', op: 'x', retryable: false }
  const stopped = (message: string) =>
    endText(runIn(logOf(runEnd('canceled', { error: { ...error, message } }))))
  expect(stopped('interrupted by a new message')).toBe('Stopped: interrupted by a new message')
  expect(stopped('stopped by the user')).toBe('You stopped this')
})

/** A run of legs with these times. The last one may be open. */
function runOf(...legs: readonly [at: number, endedAt: number | undefined, outcome?: Outcome][]): RunView {
  const run = runIn(logOf(runEnd('completed')))
  run.legs.splice(0)
  for (const [at, endedAt, outcome] of legs)
    run.legs.push({ runId: 'r', seq: 1, at, endedAt, outcome, why: 'first', losses: 0 })
  return run
}

test('the active time of a run excludes waits for a person and lost processes', () => {
  const asked = runOf([1000, 1020, 'suspended'], [19_020, 19_050, 'completed'])
  expect(runTimes(asked, 99_999)).toEqual({ activeMs: 50, waitedMs: 18_000, totalMs: 18_050 })
  expect(timesText(runTimes(asked, 0))).toBe('active 50 ms · waited 18.0 s for you')
  const lost = runOf([1000, 1020], [3000, 3010, 'completed'])
  expect(runTimes(lost, 99_999)).toEqual({ activeMs: 30, waitedMs: 0, totalMs: 2010 })
  expect(timesText(runTimes(lost, 0))).toBe('active 30 ms')
})

test('the times of a run that is not over go on until now', () => {
  expect(runTimes(runOf([1000, undefined]), 1500)).toEqual({ activeMs: 500, waitedMs: 0, totalMs: 500 })
  const waiting = runOf([1000, 1020, 'suspended'])
  expect(runTimes(waiting, 2020)).toEqual({ activeMs: 20, waitedMs: 1000, totalMs: 1020 })
  // The clock of the server is ahead.
  expect(runTimes(runOf([1000, undefined]), 900)).toEqual({ activeMs: 0, waitedMs: 0, totalMs: 0 })
})

test('shows tokens with the share read from the cache', () => {
  expect(usageText(runIn(logOf(counted())))).toBe(`${(1200).toLocaleString()} tokens in, 88 out`)
  expect(usageText(runIn(logOf(counted({ cacheReadTokens: 900 }))))).toMatch(/, 75% from cache$/)
})

test('shows no usage if no tokens were counted', () => {
  expect(usageText(runIn(logOf(roundEnd)))).toBeUndefined()
})
