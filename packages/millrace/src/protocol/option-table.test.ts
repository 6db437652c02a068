import { expect, test } from 'vitest'
import { checkOptions, duration, wholeNumber, yesOrNo } from './option-table.ts'

const table = { timeoutMs: duration, retries: wholeNumber(0), verbose: yesOrNo }
const check =
  (options: unknown, what = 'the option') =>
  () =>
    checkOptions(options as object, table, { op: 'test', what })

test('valid options pass, also undefined ones', () => {
  expect(check({ timeoutMs: 3, verbose: undefined })).not.toThrow()
})

test.each<[string, unknown, string]>([
  [
    'a typo',
    { retrys: 1 },
    "the option 'retrys' does not exist: did you mean 'retries'? (available: timeoutMs, retries, verbose)",
  ],
  ['an abbreviated name', { timeout: 1 }, "'timeout' does not exist: did you mean 'timeoutMs'?"],
  [
    'an unknown name',
    { xyzzy: 1 },
    "the option 'xyzzy' does not exist (available: timeoutMs, retries, verbose)",
  ],
  ['a property of every object', { constructor: 1 }, "'constructor' does not exist"],
  ['an invalid value', { retries: -1 }, "the option 'retries' must be a whole number of at least 0, not -1"],
  ['null', null, 'the options must be an object, not null'],
])('%s is rejected', (_, options, message) => {
  expect(check(options)).toThrow(message)
  expect(check(options)).toThrow(expect.objectContaining({ code: 'invalid_input', op: 'test' }))
})

test('a path is part of the name', () => {
  expect(check({ verbse: true }, 'the option log.')).toThrow("the option 'log.verbse' does not exist")
  expect(check({ verbose: 1 }, 'the option log.')).toThrow("the option 'log.verbose' must be true or false")
})

test('a long list of names is left out', () => {
  const long = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`option${index}`, yesOrNo]))
  const checkUnknown = () => checkOptions({ xyzzy: 1 }, long, { op: 'test', what: 'the option' })
  expect(checkUnknown).toThrow(/^the option 'xyzzy' does not exist$/)
})
