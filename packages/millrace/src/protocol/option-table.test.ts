import { expect, test } from 'vitest'
import { checkOptions, duration, wholeNumber, yesOrNo } from './option-table.ts'

const table = { timeoutMs: duration, retries: wholeNumber(0), verbose: yesOrNo }
const check =
  (options: unknown, what = 'the option') =>
  () =>
    checkOptions(options as object, table, { op: 'test', what })

test('what is in the table and fits passes, also if it is undefined', () => {
  expect(check({ timeoutMs: 3, verbose: undefined })).not.toThrow()
})

test.each<[string, unknown, string]>([
  [
    'a slip',
    { retrys: 1 },
    "the option 'retrys' does not exist: did you mean 'retries'? (there are timeoutMs, retries, verbose)",
  ],
  ['half a name', { timeout: 1 }, "'timeout' does not exist: did you mean 'timeoutMs'?"],
  [
    'a name like none',
    { xyzzy: 1 },
    "the option 'xyzzy' does not exist: there are timeoutMs, retries, verbose",
  ],
  ['a name of every object', { constructor: 1 }, "'constructor' does not exist"],
  [
    'a value that cannot be',
    { retries: -1 },
    "the option 'retries' must be a whole number of at least 0, not -1",
  ],
  ['no object', null, 'the options must be an object, not null'],
])('%s is refused', (_, options, message) => {
  expect(check(options)).toThrow(message)
  expect(check(options)).toThrow(expect.objectContaining({ code: 'invalid_input', op: 'test' }))
})

test('a path is a part of the name', () => {
  expect(check({ verbse: true }, 'the option log.')).toThrow("the option 'log.verbse' does not exist")
  expect(check({ verbose: 1 }, 'the option log.')).toThrow("the option 'log.verbose' must be true or false")
})

test('names that are too many to be read are left out', () => {
  const long = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`option${index}`, yesOrNo]))
  const refused = () => checkOptions({ xyzzy: 1 }, long, { op: 'test', what: 'the option' })
  expect(refused).toThrow(/^the option 'xyzzy' does not exist$/)
})
