import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import type { Field } from './fields.ts'
import {
  checkFields,
  choiceField,
  numberField,
  objectField,
  parseJson,
  patternField,
  required,
  schemaOf,
  textField,
  yesNoField,
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
    text: textField({ most: 3 }),
    pattern: patternField({ pattern: '^[a-c]{1,3}$', says: 'some of a, b and c' }),
    choice: choiceField('yes', 'no'),
    number: numberField({ least: 1, most: 3 }),
    boundless: numberField({ least: 0 }),
    yesNo: yesNoField(),
    object: objectField(),
  }

  test.each(Object.entries(fields))('%s: the check and the schema say the same', (_, field) => {
    const schema = new Validator(field.schema as never, '2020-12')
    for (const value of values) {
      // Blank text is text to a schema.
      if (value === ' ') continue
      expect(!field.problem(value), JSON.stringify(value)).toBe(schema.validate(value).valid)
    }
  })
})

describe('fields', () => {
  const fields = { at: required(numberField({ least: 0 })), reason: textField({ most: 10 }) }
  const check = (value: unknown) => () => checkFields(value, fields, { op: 'test', what: 'the body' })

  test('are given back when they are in order', () => {
    expect(check({ at: 1, reason: 'why' })()).toEqual({ at: 1, reason: 'why' })
    expect(check({ at: 0 })()).toEqual({ at: 0 })
  })

  test('say what is wrong with them', () => {
    expect(check([])).toThrow('the body must be a JSON object, not an array')
    expect(check({})).toThrow("the body: the field 'at' is missing")
    expect(check({ at: -1 })).toThrow("the body: the field 'at' must be a whole number of at least 0, not -1")
    expect(check({ at: 1, raeson: '' })).toThrow("did you mean 'reason'?")
    expect(check({ at: 1, reason: 'x'.repeat(11) })).toThrow('longer than 10 characters')
    expect(check({ at: 1, reason: null })).toThrow('null')
    expect(check(JSON.parse('{"at":1,"__proto__":{}}'))).toThrow('does not exist')
  })

  test('as a schema refuse what else there is', () => {
    const schema = new Validator(schemaOf(fields) as never, '2020-12')
    expect(schema.validate({ at: 1 }).valid).toBe(true)
    expect(schema.validate({}).valid).toBe(false)
    expect(schema.validate({ at: 1, more: 1 }).valid).toBe(false)
  })
})

describe('JSON of a client', () => {
  const parse = (text: string) => parseJson(text, { op: 'test', what: 'it' })
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

  test('what is nested too deep is refused before it is read', () => {
    expect(() => parse(nested(101))).toThrow('it is nested more than 100 deep')
    expect(() => parse('{"a":'.repeat(100_000))).toThrow('100 deep')
    expect(parse(nested(100))).toEqual(JSON.parse(nested(100)))
  })

  test('brackets in text and side by side do not count', () => {
    for (const value of [
      '['.repeat(500),
      `\\"${'{'.repeat(500)}`,
      `"${'\\'.repeat(301)}${'['.repeat(200)}`,
      Array.from({ length: 500 }, () => []),
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`[${index}`, { a: '}' }])),
    ])
      expect(parse(JSON.stringify(value))).toEqual(value)
  })

  test('what is not JSON says where', () => {
    expect(() => parse(`{"a": ${' '.repeat(300)}"unclosed [[[`)).toThrow('it is not valid JSON')
    expect(() => parse('')).toThrow('it is not valid JSON')
  })
})
