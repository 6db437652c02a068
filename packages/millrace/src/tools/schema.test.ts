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

function refusal(schema: unknown): string {
  try {
    compile(schema)
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input' && error.op === 'tool') return error.message
    throw error
  }
  throw new Error('it was not refused')
}

async function issuesOf(schema: unknown, value: unknown): Promise<readonly string[]> {
  const checked = await compile(schema).check(value)
  if (!checked.issues) throw new Error(`it was let through as ${JSON.stringify(checked.value)}`)
  return checked.issues
}

/** A Standard Schema made by hand, so that it can misbehave. */
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
  test('describes itself as JSON Schema', () => {
    const { jsonSchema } = compile(schema)
    expect(jsonSchema).toMatchObject({
      type: 'object',
      properties: { id: { type: 'string' }, count: { type: 'number' } },
      required: ['id'],
    })
    expect(jsonSchema).not.toHaveProperty('$schema')
    expect(JSON.parse(JSON.stringify(jsonSchema))).toStrictEqual(jsonSchema)
  })

  test('lets a good value through in the same turn', () => {
    expect(compile(schema).check({ id: 'a', count: 2 })).toEqual({ value: { id: 'a', count: 2 } })
  })

  test('names the field that is wrong', async () => {
    const issues = await issuesOf(schema, { id: 7 })
    expect(issues).toHaveLength(1)
    expect(issues[0]).toMatch(/^id: .*string/)
  })

  test('refuses a value that is no object at all', async () => {
    for (const value of [null, 'a', 1, []]) expect((await issuesOf(schema, value)).length).toBeGreaterThan(0)
  })
})

describe('a schema that changes what it reads', () => {
  const transforms: [string, unknown][] = [
    ['zod', z.object({ n: z.string().transform(Number) })],
    ['zod with a default', z.object({ n: z.string().default('7').transform(Number) })],
    ['arktype', type({ n: 'string.numeric.parse' })],
    ['valibot', toStandardJsonSchema(v.object({ n: v.pipe(v.string(), v.transform(Number)) }))],
  ]
  test.each(transforms)(
    'shows the model what to write, and gives the tool what came of it: %s',
    async (_, schema) => {
      const compiled = compile(schema)
      expect(compiled.jsonSchema).toMatchObject({ properties: { n: { type: 'string' } } })
      expect(await compiled.check({ n: '42' })).toEqual({ value: { n: 42 } })
    },
  )

  test('a field with a default need not be written', async () => {
    const compiled = compile(z.object({ n: z.number().default(7) }))
    expect(compiled.jsonSchema).not.toHaveProperty('required')
    expect(await compiled.check({})).toEqual({ value: { n: 7 } })
  })
})

describe('what a validator may do', () => {
  test('a place deep inside is named with its whole path', async () => {
    const schema = z.object({ items: z.array(z.object({ sku: z.string() })) })
    const [issue] = await issuesOf(schema, { items: [{ sku: 'a' }, { sku: 1 }] })
    expect(issue).toMatch(/^items\.1\.sku: /)
  })

  test('path segments may be objects with a key, symbols or numbers', async () => {
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

  test('an asynchronous schema is awaited', async () => {
    const schema = z.object({ id: z.string().refine(async (id) => id.startsWith('ORD-'), 'no such order') })
    const compiled = compile(schema)
    expect(compiled.check({ id: 'ORD-1' })).toBeInstanceOf(Promise)
    expect(await compiled.check({ id: 'ORD-1' })).toEqual({ value: { id: 'ORD-1' } })
    expect(await compiled.check({ id: 'X' })).toEqual({ issues: ['id: no such order'] })
  })

  test('a value beside issues does not count, as valibot gives it', async () => {
    const schema = toStandardJsonSchema(v.object({ id: v.pipe(v.string(), v.minLength(3)) }))
    expect(schema['~standard'].validate({ id: 'a' })).toMatchObject({ value: { id: 'a' }, typed: true })
    const issues = await issuesOf(schema, { id: 'a' })
    expect(issues).toEqual([expect.stringMatching(/^id: Invalid length/)])
  })

  test('no issue in the list of issues is a refusal too', async () => {
    expect(
      await issuesOf(
        standard(() => ({ value: {}, issues: [] })),
        {},
      ),
    ).toEqual(['the value was refused without a reason'])
  })

  test('no list of issues is a value, whatever it is', async () => {
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
  ])('one that %s refuses the value, and never throws', async (_, validate) => {
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
    ['issues that are none', { issues: [null] }],
    ['issues with a path that is none', { issues: [{ message: 'x', path: 7 }] }],
  ]
  test.each(nonsense)('one that answers %s refuses the value, at once or later', async (_, answer) => {
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

describe('a schema that gives no JSON Schema is refused, naming the library and the fix', () => {
  test('valibot without its adapter', () => {
    expect(refusal(v.object({ id: v.string() }))).toBe(
      "the input is a valibot schema that cannot describe itself as JSON Schema: wrap it in toStandardJsonSchema() from '@valibot/to-json-schema', or pass { jsonSchema, validate }",
    )
  })

  test('zod/mini and zod 3', () => {
    for (const schema of [mini.object({ id: mini.string() }), z3.object({ id: z3.string() })]) {
      const sentence = refusal(schema)
      expect(sentence).toContain('the input is a zod schema that cannot describe itself as JSON Schema')
      expect(sentence).toContain("import { z } from 'zod' (4.2 or newer, not zod/mini)")
      expect(sentence).toContain('or pass { jsonSchema, validate }')
    }
  })

  test('any other library', () => {
    const schema = { '~standard': { version: 1, vendor: 'homemade', validate: () => ({ value: 1 }) } }
    expect(refusal(schema)).toContain('use a version of homemade that implements Standard JSON Schema')
  })

  test.each<[string, unknown, string]>([
    ['zod', z.object({ when: z.date() }), 'Date cannot be represented'],
    ['valibot', toStandardJsonSchema(v.object({ when: v.date() })), 'cannot be converted'],
  ])('a part that JSON Schema cannot express, in %s', (vendor, schema, reason) => {
    const sentence = refusal(schema)
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

  test('a library that answers with no object', () => {
    expect(
      refusal(
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
    ['a jsonSchema that is none', { jsonSchema: true }, 'another kind of object'],
  ])('%s is no schema', (_, schema, kind) => {
    expect(refusal(schema)).toBe(
      `the input must be a schema (zod 4, arktype, valibot, …) or { jsonSchema, validate? }, not ${kind}`,
    )
  })
})

describe('which JSON Schema is asked for', () => {
  test('draft 2020-12 first, and nothing else if that is given', () => {
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

  test('draft-07 from a library that cannot give the newer one', () => {
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

describe('JSON Schema by hand', () => {
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

  test('without a validator of its own the value is held against the schema', async () => {
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
    ['a place deep inside', { id: 'a', items: [{ sku: 'x' }, { sku: 1 }] }, /^items\.1\.sku: .*string/],
    ['a field nobody knows', { id: 'a', colour: 'red' }, /colour/],
    ['no object at all', 'a', /object/],
    ['a key with a slash', { id: 'a', 'a/b': 1 }, /^a\/b: /],
  ])('%s is refused, and named', async (_, value, sentence) => {
    const issues = await issuesOf({ jsonSchema }, value)
    expect(issues.some((issue) => sentence.test(issue))).toBe(true)
  })

  test('every wrong field is named, and not the object around it again', async () => {
    const issues = await issuesOf({ jsonSchema }, { id: 7, count: 'many' })
    expect(issues).toHaveLength(2)
    expect(issues.map((issue) => issue.split(':')[0])).toEqual(['id', 'count'])
  })

  test.each([
    [
      'a reference into nowhere',
      { type: 'object', properties: { a: { $ref: '#/$defs/b' } } },
      /#\/\$defs\/b points nowhere at #\/properties\/a/,
    ],
    [
      'a type there is not',
      { type: 'object', properties: { a: { type: 'strin' } } },
      /there is no type "strin"/,
    ],
    [
      'a pattern that does not compile',
      { anyOf: [{ pattern: '(' }] },
      /the pattern does not compile .* at #\/anyOf\/0/,
    ],
  ])('%s is told to its author, not to the model', (_, jsonSchema, message) => {
    expect(() => compile({ jsonSchema: jsonSchema as never })).toThrow(message)
  })

  test.each([
    ['a property named type', { properties: { type: { type: 'string' } } }],
    [
      'a reference to a definition',
      { $defs: { a: { type: 'string' } }, properties: { x: { $ref: '#/$defs/a' } } },
    ],
    ['a keyword nobody knows', { 'x-ui': { type: 'slider' } }],
    ['data that looks like a schema', { enum: [{ type: 'banana' }] }],
  ])('%s is no flaw', (_, jsonSchema) => {
    expect(() => compile({ jsonSchema: jsonSchema as never })).not.toThrow()
  })

  test('an issue names the field that is wrong, not those around it', async () => {
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

  test('its own validator decides instead of the schema', async () => {
    const validate = (value: unknown) =>
      value === 'magic' ? { value: 42 } : { issues: [{ message: 'no', path: ['id'] }] }
    const compiled = compile({ jsonSchema, validate })
    expect(compiled.check('magic')).toEqual({ value: 42 })
    expect(compiled.check({ id: 'a' })).toEqual({ issues: ['id: no'] })
  })

  test('its own validator may take its time', async () => {
    const validate = async (value: unknown) => ({ value: [value] })
    expect(await compile({ jsonSchema, validate }).check(1)).toEqual({ value: [1] })
  })

  test('a validator that is none is refused', () => {
    expect(refusal({ jsonSchema, validate: true })).toBe(
      'the input.validate must be a function, not a boolean',
    )
  })

  test('a schema that is no JSON is refused', () => {
    expect(refusal({ jsonSchema: { type: 'object', default: 1n } })).toContain(
      'the input.jsonSchema is not JSON',
    )
  })
})

test('what a schema lets through is known to the compiler', () => {
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
