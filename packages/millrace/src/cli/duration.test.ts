import { expect, test } from 'vitest'
import { formatDuration, readDuration } from './duration.ts'

test.each([
  ['30', 30_000],
  ['30s', 30_000],
  ['1.5s', 1500],
  ['500ms', 500],
  ['2m', 120_000],
  ['1h', 3_600_000],
])('%s is %i milliseconds', (text, ms) => {
  expect(readDuration(text, '--timeout')).toBe(ms)
})

test.each(['', '0', '-1', 'soon', '5d', '1e9x'])("'%s' is not a time", (text) => {
  expect(() => readDuration(text, '--timeout')).toThrow(/--timeout must be a time such as 30s/)
})

test('durations are formatted for people', () => {
  expect([12, 1500, 90_000, 600_000].map(formatDuration)).toEqual(['12 ms', '1.5 s', '90 s', '10 min'])
})
