import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../../protocol/index.ts'
import { closedSchema, strictSchema } from './strict.ts'

const schemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as unknown as JsonObject
/** The output side, where objects are closed. */
const closedOf = (schema: z.ZodType) => z.toJSONSchema(schema) as unknown as JsonObject

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})
const text = { type: 'string' }

/** A recursive schema. */
const node = z.object({
  get children() {
    return z.array(node)
  },
})

describe('a schema that OpenAI can enforce', () => {
  test.each([
    [
      'closed objects with all properties required',
      object({ a: text, b: object({ c: { type: 'number', minimum: 1 } }) }),
    ],
    ['no properties', object({})],
    [
      'lists and nullable values',
      object({ a: { type: 'array', items: object({ b: { type: ['string', 'null'] } }), minItems: 1 } }),
    ],
    ['choices', object({ a: { anyOf: [object({ b: text }), { type: 'null' }] } })],
    ['values', object({ a: { type: 'string', enum: ['x'] }, b: { type: 'string', const: 'y' } })],
    ['definitions', object({ a: { $ref: '#/$defs/n' } }, { $defs: { n: object({ b: text }) } })],
    ['annotations', object({ a: { type: 'string', description: 'd', title: 't' } }, { $schema: 's' })],
    [
      'property names that are keywords elsewhere',
      object({ oneOf: text, not: text, properties: object({ type: text }), minLength: text }),
    ],
    ['a known format', object({ a: { type: 'string', format: 'date-time' } })],
    [
      'zod',
      closedOf(
        z.object({
          a: z.string(),
          b: z.array(z.object({ c: z.number().nullable() })),
          d: z.enum(['x', 'y']),
        }),
      ),
    ],
    ['zod, in circles', closedOf(node)],
  ])('has %s', (_, schema) => {
    expect(strictSchema(schema)).toStrictEqual(schema)
  })

  test.each([
    ['a record', { type: 'object', additionalProperties: text }],
    ['an object that lists no properties', { type: 'object' }],
    ['an optional property', object({ a: text, b: text }, { required: ['a'] })],
    [
      'a nested optional property',
      object({ a: { type: 'array', items: object({ b: text }, { required: [] }) } }),
    ],
    ['an open object in anyOf', object({ a: { anyOf: [{ type: 'object' }, { type: 'null' }] } })],
    ['an open object in the definitions', object({ a: text }, { $defs: { n: { type: 'object' } } })],
    ['anything', object({ a: {} })],
    ['true', object({ a: true })],
    ['a value without a type', object({ a: { enum: ['x'] } })],
    ['oneOf', object({ a: { oneOf: [text, { type: 'null' }] } })],
    ['allOf', object({ a: { allOf: [text] } })],
    ['a tuple', object({ a: { type: 'array', prefixItems: [text] } })],
    ['a length', object({ a: { type: 'string', minLength: 1 } })],
    [
      'a reference with other keywords',
      object({ a: { $ref: '#/$defs/n', description: 'd' } }, { $defs: { n: object({}) } }),
    ],
    ['a pattern with a lookahead', closedOf(z.object({ a: z.string().regex(/^(?=.*\d).+$/) }))],
    ['anyOf next to properties', object({ a: object({ b: text }, { anyOf: [object({ c: text })] }) })],
    ['an unknown format', object({ a: { type: 'string', format: 'uri' } })],
    ['anyOf at the top level', { anyOf: [object({ a: text })] }],
    ['a list at the top level', { type: 'array', items: text }],
    ['zod: a record', closedOf(z.object({ a: z.record(z.string(), z.string()) }))],
    [
      'zod: a discriminated union',
      closedOf(
        z.object({
          a: z.discriminatedUnion('t', [z.object({ t: z.literal('x') }), z.object({ t: z.literal('y') })]),
        }),
      ),
    ],
    ['zod: unknown', closedOf(z.object({ a: z.unknown() }))],
  ])('does not have %s', (_, schema) => {
    expect(strictSchema(schema)).toBeUndefined()
  })

  test("is closed if it only omits additionalProperties, like zod's input side", () => {
    const open = schemaOf(z.object({ a: z.string(), b: z.array(z.object({ c: z.number() })) }))
    expect(open.additionalProperties).toBeUndefined()
    expect(strictSchema(open)).toMatchObject({
      additionalProperties: false,
      properties: { b: { items: { additionalProperties: false } } },
    })
    expect(open.additionalProperties).toBeUndefined()
    const nullable = object({ a: { type: ['object', 'null'], properties: {} } })
    expect(strictSchema(nullable)).toMatchObject({ properties: { a: { additionalProperties: false } } })
  })
})

describe('a schema for Anthropic', () => {
  test('has every object closed, at any depth', () => {
    const open = (properties: JsonObject) => ({ type: 'object', properties, required: [] })
    const closed = (properties: JsonObject) => ({ ...open(properties), additionalProperties: false })
    expect(
      closedSchema({
        ...open({ a: { type: 'array', items: open({}) }, b: { anyOf: [open({}), { type: 'null' }] } }),
        $defs: { n: { type: ['object', 'null'], properties: {} } },
      }),
    ).toStrictEqual({
      ...closed({ a: { type: 'array', items: closed({}) }, b: { anyOf: [closed({}), { type: 'null' }] } }),
      $defs: { n: { type: ['object', 'null'], properties: {}, additionalProperties: false } },
    })
  })

  test.each([
    ['a record', { type: 'object', additionalProperties: text }],
    ['an object without any keywords', { type: 'object' }],
    ['pattern properties', { type: 'object', properties: {}, patternProperties: { '^x': text } }],
    [
      'a nested record',
      object({ a: { type: 'array', items: { type: 'object', additionalProperties: true } } }),
    ],
    ['a record in the definitions', object({ a: text }, { $defs: { n: { type: 'object' } } })],
  ])('cannot be made from %s, which could only be empty if closed', (_, schema) => {
    expect(closedSchema(schema)).toBeUndefined()
  })

  test('may be an object that must be empty', () => {
    const empty = { type: 'object', additionalProperties: false }
    expect(closedSchema(object({ a: empty }))).toStrictEqual(object({ a: empty }))
  })

  test('has none of the rejected keywords', () => {
    expect(
      closedSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        ...object({
          a: { type: 'string', minLength: 1, maxLength: 5, pattern: '^x', format: 'uri', description: 'd' },
          b: { type: 'number', minimum: 0, exclusiveMaximum: 9, multipleOf: 2 },
          c: { type: 'array', items: { type: 'string', format: 'cuid' }, minItems: 1, uniqueItems: true },
        }),
      }),
    ).toStrictEqual(
      object({
        a: { type: 'string', format: 'uri', description: 'd' },
        b: { type: 'number' },
        c: { type: 'array', items: { type: 'string' } },
      }),
    )
  })

  test('keeps properties with the names of such keywords', () => {
    const schema = object({
      pattern: text,
      not: text,
      minimum: { type: 'number' },
      format: text,
      oneOf: text,
    })
    expect(closedSchema(schema)).toStrictEqual(schema)
  })

  test('keeps data values unchanged', () => {
    const value = { type: 'object', minimum: 5, oneOf: [] }
    const schema = object({
      a: { enum: [value] },
      b: { const: value },
      c: { ...object({}), default: value, examples: [value] },
    })
    expect(closedSchema(schema)).toStrictEqual(schema)
  })

  test('has anyOf instead of oneOf', () => {
    const choice = { oneOf: [text, { type: 'object', properties: {} }] }
    expect(closedSchema(choice)).toStrictEqual({
      anyOf: [text, { type: 'object', properties: {}, additionalProperties: false }],
    })
  })

  test.each([
    ['a tuple', closedOf(z.object({ a: z.tuple([z.string(), z.number()]) }))],
    ['an old-style tuple', object({ a: { type: 'array', items: [text] } })],
    ['allOf', { allOf: [object({ a: text }), object({ b: text })] }],
    ['anyOf next to properties', object({ a: text }, { anyOf: [object({ b: text })] })],
    ['a condition', object({ a: text }, { if: object({}), else: object({}) })],
    ['itself', object({ a: { type: 'array', items: { $ref: '#' } } })],
    ['circular definitions', closedOf(z.object({ a: node }))],
  ])('cannot be made from %s', (_, schema) => {
    expect(closedSchema(schema)).toBeUndefined()
  })

  test('may have definitions, even one that is used twice', () => {
    const schema = object(
      { a: { $ref: '#/$defs/n' }, b: { $ref: '#/$defs/n' } },
      { $defs: { n: object({ c: { $ref: '#/$defs/m' } }), m: text } },
    )
    expect(closedSchema(schema)).toStrictEqual(schema)
  })

  test('is a copy: the original is not modified', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', minLength: 1 } } }
    const before = structuredClone(schema)
    closedSchema(schema)
    expect(schema).toStrictEqual(before)
  })
})
