import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'
import { isMillraceError, type JsonObject } from '../protocol/index.ts'
import type { InferValue, Schema } from './schema.ts'
import { compileSchema } from './schema.ts'

const compile = (schema: unknown) => compileSchema(schema as Schema, { op: 'tool', what: 'the input' })

function errorOf(schema: unknown): string {
  try {
    compile(schema)
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input' && error.op === 'tool') return error.message
    throw error
  }
  throw new Error('it did not throw')
}

async function issuesOf(schema: unknown, value: unknown): Promise<readonly string[]> {
  const checked = await compile(schema).check(value)
  if (!checked.issues) throw new Error(`it was let through as ${JSON.stringify(checked.value)}`)
  return checked.issues
}

/** A custom Standard Schema, so that it can misbehave. */
function standard(
  validate: (value: unknown) => unknown,
  input: (options: { target: string }) => unknown = () => ({ type: 'object' }),
) {
  return {
    '~standard': { version: 1, vendor: 'homemade', validate, jsonSchema: { input, output: input } },
  } as unknown as StandardSchemaV1
}

const order = {
  zod: z.object({ id: z.string(), count: z.number().optional() }),
  arktype: type({ id: 'string', 'count?': 'number' }),
  valibot: toStandardJsonSchema(v.object({ id: v.string(), count: v.optional(v.number()) })),
}

describe.each(Object.entries(order))('a schema of %s', (_, schema) => {
  test('is converted to JSON Schema', () => {
    const { jsonSchema } = compile(schema)
    expect(jsonSchema).toMatchObject({
      type: 'object',
      properties: { id: { type: 'string' }, count: { type: 'number' } },
      required: ['id'],
    })
    expect(jsonSchema).not.toHaveProperty('$schema')
    expect(JSON.parse(JSON.stringify(jsonSchema))).toStrictEqual(jsonSchema)
  })

  test('accepts a valid value in the same turn', () => {
    expect(compile(schema).check({ id: 'a', count: 2 })).toEqual({ value: { id: 'a', count: 2 } })
  })

  test('names the field that is wrong', async () => {
    const issues = await issuesOf(schema, { id: 7 })
    expect(issues).toHaveLength(1)
    expect(issues[0]).toMatch(/^id: .*string/)
  })

  test('rejects a value that is not an object', async () => {
    for (const value of [null, 'a', 1, []]) expect((await issuesOf(schema, value)).length).toBeGreaterThan(0)
  })
})

describe('a schema with transforms', () => {
  const transforms: [string, unknown][] = [
    ['zod', z.object({ n: z.string().transform(Number) })],
    ['zod with a default', z.object({ n: z.string().default('7').transform(Number) })],
    ['arktype', type({ n: 'string.numeric.parse' })],
    ['valibot', toStandardJsonSchema(v.object({ n: v.pipe(v.string(), v.transform(Number)) }))],
  ]
  test.each(transforms)(
    'describes its input to the model, and passes its output to the tool: %s',
    async (_, schema) => {
      const compiled = compile(schema)
      expect(compiled.jsonSchema).toMatchObject({ properties: { n: { type: 'string' } } })
      expect(await compiled.check({ n: '42' })).toEqual({ value: { n: 42 } })
    },
  )

  test('a field with a default is optional', async () => {
    const compiled = compile(z.object({ n: z.number().default(7) }))
    expect(compiled.jsonSchema).not.toHaveProperty('required')
    expect(await compiled.check({})).toEqual({ value: { n: 7 } })
  })
})

describe('a validator', () => {
  test('names a nested field with its full path', async () => {
    const schema = z.object({ items: z.array(z.object({ sku: z.string() })) })
    const [issue] = await issuesOf(schema, { items: [{ sku: 'a' }, { sku: 1 }] })
    expect(issue).toMatch(/^items\.1\.sku: /)
  })

  test('may use objects with a key, symbols or numbers as path segments', async () => {
    const issues = [
      { message: 'no', path: [{ key: 'a' }, 0, 'b'] },
      { message: 'never', path: [Symbol('s')] },
      { message: 'nowhere' },
    ]
    expect(
      await issuesOf(
        standard(() => ({ issues })),
        {},
      ),
    ).toEqual(['a.0.b: no', 'Symbol(s): never', 'nowhere'])
  })

  test('may be async', async () => {
    const schema = z.object({ id: z.string().refine(async (id) => id.startsWith('ORD-'), 'no such order') })
    const compiled = compile(schema)
    expect(compiled.check({ id: 'ORD-1' })).toBeInstanceOf(Promise)
    expect(await compiled.check({ id: 'ORD-1' })).toEqual({ value: { id: 'ORD-1' } })
    expect(await compiled.check({ id: 'X' })).toEqual({ issues: ['id: no such order'] })
  })

  test('rejects a value with issues, as from valibot', async () => {
    const schema = toStandardJsonSchema(v.object({ id: v.pipe(v.string(), v.minLength(3)) }))
    expect(schema['~standard'].validate({ id: 'a' })).toMatchObject({ value: { id: 'a' }, typed: true })
    const issues = await issuesOf(schema, { id: 'a' })
    expect(issues).toEqual([expect.stringMatching(/^id: Invalid length/)])
  })

  test('rejects with an empty list of issues', async () => {
    expect(
      await issuesOf(
        standard(() => ({ value: {}, issues: [] })),
        {},
      ),
    ).toEqual(['the value was rejected without a reason'])
  })

  test('accepts a value if issues is not a list', async () => {
    for (const value of [undefined, null, false, 'a'])
      expect(await compile(standard(() => ({ value, issues: undefined }))).check({})).toEqual({ value })
  })

  test.each<[string, (value: unknown) => unknown]>([
    [
      'throws',
      () => {
        throw new Error('out of order')
      },
    ],
    ['rejects', () => Promise.reject(new Error('out of order'))],
  ])('that %s rejects the value, and never throws', async (_, validate) => {
    expect(await issuesOf(standard(validate), {})).toEqual(['the validator failed: out of order'])
    expect(await issuesOf({ jsonSchema: { type: 'object' }, validate }, {})).toEqual([
      'the validator failed: out of order',
    ])
  })

  const nonsense: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['true', true],
    ['an empty object', {}],
    ['a list', []],
    ['invalid issues', { issues: [null] }],
    ['issues with an invalid path', { issues: [{ message: 'x', path: 7 }] }],
  ]
  test.each(nonsense)('that returns %s rejects the value, sync or async', async (_, answer) => {
    expect(
      (
        await issuesOf(
          standard(() => answer),
          {},
        )
      ).length,
    ).toBeGreaterThan(0)
    expect(
      (
        await issuesOf(
          standard(async () => answer),
          {},
        )
      ).length,
    ).toBeGreaterThan(0)
  })
})

describe('a schema without JSON Schema is rejected, naming the library and the fix', () => {
  test('valibot without its adapter', () => {
    expect(errorOf(v.object({ id: v.string() }))).toBe(
      "the input is a valibot schema that cannot describe itself as JSON Schema: wrap it in toStandardJsonSchema() from '@valibot/to-json-schema', or pass { jsonSchema, validate }",
    )
  })

  test('zod/mini and zod 3', () => {
    for (const schema of [mini.object({ id: mini.string() }), z3.object({ id: z3.string() })]) {
      const sentence = errorOf(schema)
      expect(sentence).toContain('the input is a zod schema that cannot describe itself as JSON Schema')
      expect(sentence).toContain("import { z } from 'zod' (4.2 or newer, not zod/mini)")
      expect(sentence).toContain('or pass { jsonSchema, validate }')
    }
  })

  test('any other library', () => {
    const schema = { '~standard': { version: 1, vendor: 'homemade', validate: () => ({ value: 1 }) } }
    expect(errorOf(schema)).toContain('use a version of homemade that implements Standard JSON Schema')
  })

  test.each<[string, unknown, string]>([
    ['zod', z.object({ when: z.date() }), 'Date cannot be represented'],
    ['valibot', toStandardJsonSchema(v.object({ when: v.date() })), 'cannot be converted'],
  ])('a part that JSON Schema cannot express, in %s', (vendor, schema, reason) => {
    const sentence = errorOf(schema)
    expect(sentence).toContain(`the input is a ${vendor} schema with a part that JSON Schema cannot express`)
    expect(sentence).toContain(reason)
    expect(sentence).toContain('use another type there, or pass { jsonSchema, validate }')
  })

  test('the error keeps what the library threw', () => {
    const thrown = new Error('no such draft')
    const schema = standard(
      () => ({ value: 1 }),
      () => {
        throw thrown
      },
    )
    expect(() => compile(schema)).toThrow(expect.objectContaining({ cause: thrown }))
  })

  test('a library that does not return an object', () => {
    expect(
      errorOf(
        standard(
          () => ({ value: 1 }),
          () => undefined,
        ),
      ),
    ).toContain('JSON Schema cannot express')
  })

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a string', 'object', 'a string'],
    ['a list', [], 'another kind of object'],
    ['plain JSON Schema', { type: 'object', properties: {} }, 'another kind of object'],
    ['a function', () => true, 'another kind of object'],
    ['an invalid jsonSchema', { jsonSchema: true }, 'another kind of object'],
  ])('%s is not a schema', (_, schema, kind) => {
    expect(errorOf(schema)).toBe(
      `the input must be a schema (zod 4, arktype, valibot, …) or { jsonSchema, validate? }, not ${kind}`,
    )
  })
})

describe('the requested JSON Schema version', () => {
  test('draft 2020-12 first, and no other if that works', () => {
    const asked: string[] = []
    const { jsonSchema } = compile(
      standard(
        () => ({ value: 1 }),
        ({ target }) => {
          asked.push(target)
          return { $schema: 'x', type: 'object', title: target }
        },
      ),
    )
    expect(asked).toEqual(['draft-2020-12'])
    expect(jsonSchema).toStrictEqual({ type: 'object', title: 'draft-2020-12' })
  })

  test('draft-07 from a library without the newer one', () => {
    const { jsonSchema } = compile(
      standard(
        () => ({ value: 1 }),
        ({ target }) => {
          if (target !== 'draft-07') throw new Error(`unsupported target ${target}`)
          return { type: 'object', title: target }
        },
      ),
    )
    expect(jsonSchema).toStrictEqual({ type: 'object', title: 'draft-07' })
  })

  test('a schema may be a function', () => {
    const schema = Object.assign(
      () => true,
      standard((value) => ({ value })),
    )
    expect(compile(schema).jsonSchema).toStrictEqual({ type: 'object' })
    expect(compile(schema).check('a')).toEqual({ value: 'a' })
  })
})

describe('plain JSON Schema', () => {
  const jsonSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      id: { type: 'string' },
      count: { type: 'integer', minimum: 1 },
      items: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } } } },
      'a/b': { type: 'string' },
    },
    required: ['id'],
    additionalProperties: false,
  } satisfies JsonObject

  test('is passed on without its $schema, as a copy', () => {
    const { $schema, ...rest } = jsonSchema
    const compiled = compile({ jsonSchema })
    expect(compiled.jsonSchema).toStrictEqual(rest)
    expect(compiled.jsonSchema.properties).not.toBe(jsonSchema.properties)
  })

  test('without a validator, the value is checked against the schema', async () => {
    const { check } = compile({ jsonSchema })
    expect(await check({ id: 'a', count: 1, items: [{ sku: 'x' }] })).toEqual({
      value: { id: 'a', count: 1, items: [{ sku: 'x' }] },
    })
    expect(await check({ id: 'a' })).toEqual({ value: { id: 'a' } })
  })

  test.each<[string, unknown, RegExp]>([
    ['a wrong type', { id: 7 }, /^id: .*string/],
    ['a missing field', { count: 1 }, /id/],
    ['a value out of range', { id: 'a', count: 0 }, /^count: /],
    ['a nested field', { id: 'a', items: [{ sku: 'x' }, { sku: 1 }] }, /^items\.1\.sku: .*string/],
    ['an unknown field', { id: 'a', color: 'red' }, /color/],
    ['not an object', 'a', /object/],
    ['a key with a slash', { id: 'a', 'a/b': 1 }, /^a\/b: /],
  ])('%s is rejected with its name', async (_, value, sentence) => {
    const issues = await issuesOf({ jsonSchema }, value)
    expect(issues.some((issue) => sentence.test(issue))).toBe(true)
  })

  test('every invalid field is named, without the object around it', async () => {
    const issues = await issuesOf({ jsonSchema }, { id: 7, count: 'many' })
    expect(issues).toHaveLength(2)
    expect(issues.map((issue) => issue.split(':')[0])).toEqual(['id', 'count'])
  })

  test.each([
    [
      'a broken reference',
      { type: 'object', properties: { a: { $ref: '#/$defs/b' } } },
      /#\/\$defs\/b does not resolve at #\/properties\/a/,
    ],
    ['an unknown type', { type: 'object', properties: { a: { type: 'strin' } } }, /unknown type "strin"/],
    [
      'a pattern that does not compile',
      { anyOf: [{ pattern: '(' }] },
      /the pattern does not compile .* at #\/anyOf\/0/,
    ],
  ])('%s is reported to the author, not to the model', (_, jsonSchema, message) => {
    expect(() => compile({ jsonSchema: jsonSchema as never })).toThrow(message)
  })

  test.each([
    ['a property named type', { properties: { type: { type: 'string' } } }],
    [
      'a reference to a definition',
      { $defs: { a: { type: 'string' } }, properties: { x: { $ref: '#/$defs/a' } } },
    ],
    ['an unknown keyword', { 'x-ui': { type: 'slider' } }],
    ['data that looks like a schema', { enum: [{ type: 'banana' }] }],
  ])('%s is valid', (_, jsonSchema) => {
    expect(() => compile({ jsonSchema: jsonSchema as never })).not.toThrow()
  })

  test('an issue names the invalid field, not its parents', async () => {
    const jsonSchema = {
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'number' } } } },
      additionalProperties: false,
    }
    expect(await issuesOf({ jsonSchema }, { a: { b: 'x' }, c: 1 })).toEqual([
      expect.stringMatching(/^a\.b: .*number/),
      'c: is not allowed',
    ])
  })

  test('a custom validator is used instead of the schema', async () => {
    const validate = (value: unknown) =>
      value === 'magic' ? { value: 42 } : { issues: [{ message: 'no', path: ['id'] }] }
    const compiled = compile({ jsonSchema, validate })
    expect(compiled.check('magic')).toEqual({ value: 42 })
    expect(compiled.check({ id: 'a' })).toEqual({ issues: ['id: no'] })
  })

  test('a custom validator may be async', async () => {
    const validate = async (value: unknown) => ({ value: [value] })
    expect(await compile({ jsonSchema, validate }).check(1)).toEqual({ value: [1] })
  })

  test('an invalid validator is rejected', () => {
    expect(errorOf({ jsonSchema, validate: true })).toBe(
      'the input.validate must be a function, not a boolean',
    )
  })

  test('a schema that is not JSON is rejected', () => {
    expect(errorOf({ jsonSchema: { type: 'object', default: 1n } })).toContain(
      'the input.jsonSchema is not JSON',
    )
  })
})

test('the output type of a schema is inferred', () => {
  expectTypeOf<InferValue<typeof order.zod>>().toEqualTypeOf<{ id: string; count?: number | undefined }>()
  expectTypeOf<InferValue<typeof order.arktype>>().toEqualTypeOf<{ id: string; count?: number }>()
  expectTypeOf<InferValue<typeof order.valibot>>().toEqualTypeOf<{ id: string; count?: number | undefined }>()
  expectTypeOf<InferValue<{ jsonSchema: JsonObject }>>().toEqualTypeOf<JsonObject>()
  type Own = {
    jsonSchema: JsonObject
    validate: (value: unknown) => { value: { id: string } } | { issues: { message: string }[] }
  }
  expectTypeOf<InferValue<Own>>().toEqualTypeOf<{ id: string }>()
  type Later = { jsonSchema: JsonObject; validate: (value: unknown) => Promise<{ value: number }> }
  expectTypeOf<InferValue<Later>>().toEqualTypeOf<number>()
})
