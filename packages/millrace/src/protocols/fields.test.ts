import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import type { Field } from './fields.ts'
import {
  booleanField,
  checkFields,
  choiceField,
  numberField,
  objectField,
  parseJson,
  patternField,
  required,
  schemaOf,
  textField,
} from './fields.ts'

const values: unknown[] = [
  '',
  ' ',
  'a',
  'abc',
  'abcd',
  'yes',
  'no',
  0,
  1,
  2,
  3,
  4,
  -1,
  1.5,
  true,
  false,
  null,
  [],
  [1],
  {},
  { a: 1 },
]

describe('a field', () => {
  const fields: Record<string, Field> = {
    text: textField({ max: 3 }),
    pattern: patternField({ pattern: '^[a-c]{1,3}$', expected: 'one to three of a, b and c' }),
    choice: choiceField('yes', 'no'),
    number: numberField({ min: 1, max: 3 }),
    unlimited: numberField({ min: 0 }),
    boolean: booleanField(),
    object: objectField(),
  }

  test.each(Object.entries(fields))('%s: the check agrees with the schema', (_, field) => {
    const schema = new Validator(field.schema as never, '2020-12')
    for (const value of values) {
      // The schema accepts blank text.
      if (value === ' ') continue
      expect(!field.problem(value), JSON.stringify(value)).toBe(schema.validate(value).valid)
    }
  })
})

describe('fields', () => {
  const fields = { at: required(numberField({ min: 0 })), reason: textField({ max: 10 }) }
  const check = (value: unknown) => () => checkFields(value, fields, { op: 'test', what: 'the body' })

  test('are returned if they are valid', () => {
    expect(check({ at: 1, reason: 'why' })()).toEqual({ at: 1, reason: 'why' })
    expect(check({ at: 0 })()).toEqual({ at: 0 })
  })

  test('are rejected with the reason', () => {
    expect(check([])).toThrow('the body must be a JSON object, not an array')
    expect(check({})).toThrow("the body: the field 'at' is missing")
    expect(check({ at: -1 })).toThrow("the body: the field 'at' must be a whole number of at least 0, not -1")
    expect(check({ at: 1, raeson: '' })).toThrow("did you mean 'reason'?")
    expect(check({ at: 1, reason: 'x'.repeat(11) })).toThrow('longer than 10 characters')
    expect(check({ at: 1, reason: null })).toThrow('null')
    expect(check(JSON.parse('{"at":1,"__proto__":{}}'))).toThrow('does not exist')
  })

  test('have a schema without additional properties', () => {
    const schema = new Validator(schemaOf(fields) as never, '2020-12')
    expect(schema.validate({ at: 1 }).valid).toBe(true)
    expect(schema.validate({}).valid).toBe(false)
    expect(schema.validate({ at: 1, more: 1 }).valid).toBe(false)
  })
})

describe('JSON from a client', () => {
  const parse = (text: string) => parseJson(text, { op: 'test', what: 'it' })
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

  test('that is nested too deeply is rejected before it is parsed', () => {
    expect(() => parse(nested(101))).toThrow('it is nested more than 100 levels deep')
    expect(() => parse('{"a":'.repeat(100_000))).toThrow('100 levels deep')
    expect(parse(nested(100))).toEqual(JSON.parse(nested(100)))
  })

  test('may contain any number of brackets in strings and side by side', () => {
    for (const value of [
      '['.repeat(500),
      `\\"${'{'.repeat(500)}`,
      `"${'\\'.repeat(301)}${'['.repeat(200)}`,
      Array.from({ length: 500 }, () => []),
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`[${index}`, { a: '}' }])),
    ])
      expect(parse(JSON.stringify(value))).toEqual(value)
  })

  test('that is invalid is rejected', () => {
    expect(() => parse(`{"a": ${' '.repeat(300)}"unclosed [[[`)).toThrow('it is not valid JSON')
    expect(() => parse('')).toThrow('it is not valid JSON')
  })
})
