import { describe, expect, test } from 'vitest'
import { retryAfterOf, waitInText } from './retry-after.ts'

const now = Date.parse('2026-11-15T12:00:00Z')

const waitOf = (headers: Record<string, string>) => retryAfterOf(new Headers(headers), now)

describe('the wait in the headers', () => {
  test.each([
    ['seconds', '20', 20_000],
    ['a fraction of a second', '0.5', 500],
    ['zero', '0', 0],
    ['spaces around it', ' 7 ', 7000],
    ['a date', 'Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
    ['a date in RFC 850 format', 'Sunday, 15-Nov-26 12:00:30 GMT', 30_000],
    ['a date in asctime format', 'Sun Nov 15 12:00:30 2026 GMT', 30_000],
    ['an ISO date', '2026-11-15T12:00:30Z', 30_000],
    ['a date that has passed', 'Sun, 15 Nov 2026 11:00:00 GMT', 0],
    ['far too many seconds', '99999999', 99_999_999_000],
    ['a negative number', '-5', undefined],
    ['a hexadecimal number', '0x10', undefined],
    ['a number that overflows', '9'.repeat(400), undefined],
    ['a word', 'soon', undefined],
    ['a number with words', '5 minutes', undefined],
    ['a list', '1, 2', undefined],
    ['nothing', '', undefined],
  ])('may be %s', (_, header, wait) => {
    expect(waitOf({ 'retry-after': header })).toBe(wait)
  })

  test('is read in milliseconds from retry-after-ms', () => {
    expect(waitOf({ 'retry-after-ms': '1250', 'retry-after': '2' })).toBe(1250)
    expect(waitOf({ 'retry-after-ms': '-1', 'retry-after': '2' })).toBe(2000)
    expect(waitOf({ 'retry-after-ms': '0', 'retry-after': '2' })).toBe(0)
  })

  test('may be missing, and so may the headers', () => {
    expect(waitOf({})).toBeUndefined()
    expect(retryAfterOf(undefined)).toBeUndefined()
  })
})

describe('the wait in the body', () => {
  test.each([
    ['Rate limit reached for gpt-4o … Please try again in 6ms. Visit …', 6],
    ['Please try again in 20s.', 20_000],
    ['Please try again in 1m2.5s.', 62_500],
    ['Please try again in 7m12s.', 432_000],
    ['Please try again in 1h30m0s.', 5_400_000],
    ['Please try again in 2m.', 120_000],
    ['Rate limit is exceeded. Try again in 30 seconds.', 30_000],
    ['… of your current OpenAI S0 pricing tier. Please retry after 86400 seconds.', 86_400_000],
    ['request reached organization max RPM: 20, please try again after 1 seconds', 1000],
    ['limit: 10\nPlease retry in 34.074824224s.', 34_075],
    ['{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}', 34_000],
    ['  "retryDelay": "3.5s"\n', 3500],
    ['{"message":"{\\n \\"retryDelay\\": \\"17s\\"\\n}"}', 17_000],
    ['Please try again in 3 minutes.', 180_000],
  ])('is found: %s', (text, wait) => {
    expect(waitInText(text)).toBe(wait)
  })

  test.each([
    'Please try again later.',
    'Please try again in a moment.',
    'retry in',
    'We tried again 5 times',
    'the tool "retry" in 5 schemas',
    '',
  ])('is not made up: %s', (text) => {
    expect(waitInText(text)).toBeUndefined()
  })
})
