import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, type CallTypesOf, type Run } from '../agent/index.ts'
import { isMillraceError, type JsonObject } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { DeepPartial, Tool, ToolContext } from './tool.ts'
import { tool } from './tool.ts'

const good = {
  name: 'look_up-2',
  description: 'Finds an order',
  input: z.object({ id: z.string() }),
  run: () => 'found',
}

function errorOf(options: unknown): string {
  try {
    tool(options as never)
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input' && error.op === 'tool') return error.message
    throw error
  }
  throw new Error('it did not throw')
}

describe('a tool', () => {
  test('has its defaults', () => {
    const made = tool(good)
    expect(made).toMatchObject({
      name: 'look_up-2',
      description: 'Finds an order',
      exclusive: false,
      repeat: 'never',
      polling: false,
      timeoutMs: undefined,
      maxResultChars: undefined,
      onInput: undefined,
    })
    expect(made.inputSchema).toMatchObject({ type: 'object', properties: { id: { type: 'string' } } })
    expect(made.approve({}, { callId: 'c', context: undefined })).toBe(false)
  })

  test('keeps its options', () => {
    const onInput = () => {}
    const options = {
      timeoutMs: 5,
      exclusive: true,
      repeat: 'safe',
      polling: true,
      maxResultChars: 9,
      onInput,
    } as const
    expect(tool({ ...good, ...options })).toMatchObject(options)
    expect(tool({ ...good, timeoutMs: Number.POSITIVE_INFINITY }).timeoutMs).toBe(Number.POSITIVE_INFINITY)
  })

  test('needs approval always, never, or depending on its input', () => {
    const asks = (approve: boolean | (() => string)) =>
      tool({ ...good, approve }).approve({}, { callId: 'c', context: undefined })
    expect(asks(true)).toBe(true)
    expect(asks(false)).toBe(false)
    expect(asks(() => 'over 100')).toBe('over 100')
  })

  test('whose schema has no type takes an object', () => {
    expect(tool({ ...good, input: { jsonSchema: {} } }).inputSchema).toEqual({ type: 'object' })
    const jsonSchema = { properties: { id: { type: 'string' } } }
    expect(tool({ ...good, input: { jsonSchema } }).inputSchema).toEqual({ type: 'object', ...jsonSchema })
  })
})

describe('an invalid definition is rejected, naming the tool', () => {
  const named = 'tool "look_up-2": '
  test.each<[string, unknown, string]>([
    ['no options', undefined, 'tool() takes one object of options, not undefined'],
    ['a list', [good], 'tool() takes one object of options, not an array'],
    ['no name', { ...good, name: undefined }, 'its name must be 1 to 64 letters, digits, _ or -'],
    ['an empty name', { ...good, name: '' }, 'tool "": its name must be'],
    ['a name with a space', { ...good, name: 'look up' }, 'tool "look up": its name must be'],
    ['a name with a newline', { ...good, name: 'look\n' }, 'its name must be'],
    ['a name with other letters', { ...good, name: 'größe' }, 'its name must be'],
    ['a name that is too long', { ...good, name: 'x'.repeat(65) }, 'its name must be'],
    ['no description', { ...good, description: undefined }, `${named}it needs a description`],
    ['a blank description', { ...good, description: ' \n' }, `${named}it needs a description`],
    [
      'a run that is not a function',
      { ...good, run: 'ls' },
      `${named}the option 'run' must be a function, not a string`,
    ],
    ['zero timeout', { ...good, timeoutMs: 0 }, `${named}the option 'timeoutMs' must be a positive number`],
    [
      'negative timeout',
      { ...good, timeoutMs: -1 },
      `${named}the option 'timeoutMs' must be a positive number`,
    ],
    [
      'a timeout that is NaN',
      { ...good, timeoutMs: Number.NaN },
      `${named}the option 'timeoutMs' must be a positive number`,
    ],
    [
      'a timeout as a string',
      { ...good, timeoutMs: '5000' },
      `${named}the option 'timeoutMs' must be a positive number`,
    ],
    [
      'zero maxResultChars',
      { ...good, maxResultChars: 0 },
      `${named}the option 'maxResultChars' must be a whole number of at least 1`,
    ],
    [
      'maxResultChars as a string',
      { ...good, maxResultChars: '10' },
      `${named}the option 'maxResultChars' must be a whole number of at least 1`,
    ],
    [
      'an invalid repeat',
      { ...good, repeat: 'always' },
      `${named}the option 'repeat' must be 'safe' or 'never'`,
    ],
    [
      'an invalid approve',
      { ...good, approve: 'yes' },
      `${named}the option 'approve' must be true, false or a function`,
    ],
    ['an invalid onInput', { ...good, onInput: true }, `${named}the option 'onInput' must be a function`],
    [
      'a misspelled option',
      { ...good, aprove: true },
      "the option 'aprove' does not exist: did you mean 'approve'?",
    ],
    [
      'a function by another name',
      { ...good, run: undefined, execute: () => 1 },
      `${named}the option 'execute' does not exist`,
    ],
    ['exclusive as a string', { ...good, exclusive: 'no' }, "the option 'exclusive' must be true or false"],
    ['no input', { ...good, input: undefined }, "the input of tool 'look_up-2' must be a schema"],
    [
      'a schema without JSON Schema',
      { ...good, input: v.object({}) },
      "the input of tool 'look_up-2' is a valibot schema that cannot describe itself as JSON Schema",
    ],
    [
      'a list at the top level',
      { ...good, input: z.array(z.string()) },
      'must be an object at the top level, not type "array"',
    ],
    [
      'a string at the top level',
      { ...good, input: z.string() },
      'not type "string": wrap it, as in { value: … }',
    ],
    [
      'a union at the top level',
      { ...good, input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) },
      "must be an object at the top level, not 'anyOf'",
    ],
    [
      'several types at the top level',
      { ...good, input: { jsonSchema: { type: ['object', 'null'] } } },
      'not type ["object","null"]',
    ],
  ])('%s', (_, options, sentence) => {
    expect(errorOf(options)).toContain(sentence)
  })

  test('a name of 64 letters is not too long', () => {
    expect(tool({ ...good, name: 'x'.repeat(64) }).name).toHaveLength(64)
  })
})

describe('the type of the input is inferred from the schema', () => {
  const described = { name: 'a', description: 'a' }

  test('of zod, after its transforms', () => {
    tool({
      ...described,
      input: z.object({
        id: z.string(),
        n: z.string().transform(Number),
        kind: z.enum(['a', 'b']).optional(),
      }),
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string; n: number; kind?: 'a' | 'b' | undefined }>()
      },
      approve: (input) => {
        expectTypeOf(input.n).toEqualTypeOf<number>()
        return input.n > 100
      },
    })
  })

  test('of arktype', () => {
    tool({
      ...described,
      input: type({ id: 'string', 'count?': 'number' }),
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string; count?: number }>()
      },
    })
  })

  test('of valibot with its adapter', () => {
    tool({
      ...described,
      input: toStandardJsonSchema(
        v.object({ id: v.string(), count: v.pipe(v.string(), v.transform(Number)) }),
      ),
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string; count: number }>()
      },
    })
  })

  test('of a custom validator, or any JSON object without one', () => {
    const jsonSchema = { type: 'object' }
    tool({
      ...described,
      input: { jsonSchema, validate: (value: unknown) => ({ value: { id: String(value) } }) },
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string }>()
      },
    })
    tool({
      ...described,
      input: {
        jsonSchema,
        validate: async (value: unknown) =>
          typeof value === 'string' ? { value: { id: value } } : { issues: [{ message: 'no' }] },
      },
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string }>()
      },
    })
    tool({
      ...described,
      input: { jsonSchema },
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>()
      },
    })
  })

  test('an unknown field is a type error', () => {
    tool({
      ...described,
      input: z.object({ id: z.string() }),
      // @ts-expect-error: unknown field
      run: ({ name }) => name,
    })
    tool({
      ...described,
      input: z.object({ id: z.string() }),
      // @ts-expect-error: it is a string
      run: (input: { id: number }) => input,
    })
  })

  test('partial input may lack any part', () => {
    expectTypeOf<DeepPartial<{ id: string; items: { sku: string }[] }>>().toEqualTypeOf<{
      id?: string
      items?: { sku?: string }[]
    }>()
    tool({
      ...described,
      input: z.object({ id: z.string(), at: z.object({ line: z.number() }) }),
      run: () => '',
      onInput: (partial, { callId }) => {
        expectTypeOf(partial.at?.line).toEqualTypeOf<number | undefined>()
        expectTypeOf(callId).toEqualTypeOf<string>()
      },
    })
  })

  test('the context of a tool is typed', () => {
    tool({
      ...good,
      run: (_, context) => {
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
        expectTypeOf(context.callId).toEqualTypeOf<string>()
        expectTypeOf(context.runId).toEqualTypeOf<string>()
        expectTypeOf(context.idempotencyKey).toEqualTypeOf<string>()
        expectTypeOf(context.attempt).toEqualTypeOf<number>()
        expectTypeOf(context.progress).toEqualTypeOf<(data: unknown) => void>()
        expectTypeOf(context.context).toEqualTypeOf<unknown>()
      },
    })
  })
})

describe('the type of the caller’s context', () => {
  interface App {
    readonly userId: string
  }
  const model = scriptedModel(() => 'ok')
  const bare = tool(good)
  const ours = tool({
    ...good,
    name: 'ours',
    run: (_, { context }: ToolContext<App>) => context.userId,
    approve: (_, { context }) => {
      expectTypeOf(context).toEqualTypeOf<App>()
      return context.userId === 'guest'
    },
  })

  test('is inferred from the tool', () => {
    expectTypeOf(bare).toEqualTypeOf<Tool<unknown, string, { id: string }, string>>()
    expectTypeOf(ours).toEqualTypeOf<Tool<App, 'ours', { id: string }, string>>()
  })

  test('an agent whose tools need no context accepts any or none', async () => {
    const free = agent({ model, tools: [bare] })
    expectTypeOf(free).toEqualTypeOf<Agent<unknown, undefined>>()
    expectTypeOf(free.stream('hi')).toEqualTypeOf<Run<undefined>>()
    await free.run('hi')
    await free.run('hi', {})
    await free.run('hi', { context: { anything: true } })
    expectTypeOf(agent({ model })).toEqualTypeOf<Agent<unknown, undefined>>()
  })

  test('an agent whose tools need a context requires it', async () => {
    const bound = agent({ model, tools: [ours] })
    expectTypeOf(bound).toEqualTypeOf<
      Agent<App, undefined, undefined, CallTypesOf<readonly [typeof ours], undefined>>
    >()
    expectTypeOf(bound).toExtend<Agent<App, undefined>>()
    await bound.run('hi', { context: { userId: 'u1' } })
    // @ts-expect-error: the options are missing
    await bound.stream('hi').result
    // @ts-expect-error: the context is missing
    await bound.stream('hi', {}).result
    // @ts-expect-error: the wrong context
    await bound.stream('hi', { context: { user: 'u1' } }).result
    // @ts-expect-error: run() requires it like stream()
    await bound.run('hi')
    // @ts-expect-error: plan() requires it like stream()
    await bound.plan('hi').result
  })

  test('an agent with tools of both kinds requires it too, in any order', async () => {
    expectTypeOf(agent({ model, tools: [ours, bare] })).toEqualTypeOf<Agent<App, undefined>>()
    expectTypeOf(agent({ model, tools: [bare, ours] })).toEqualTypeOf<Agent<App, undefined>>()
    // @ts-expect-error: the options are missing
    await agent({ model, tools: [bare, ours] }).stream('hi').result
  })

  test('a list of tools without a context type neither requires nor forbids one', async () => {
    const tools: Tool[] = [bare, ours]
    await agent({ model, tools }).run('hi')
    await agent({ model, tools }).run('hi', { context: { userId: 'u1' } })
  })

  test('hooks have it too', () => {
    agent({
      model,
      tools: [ours],
      beforeCall: ({ context, input }) => {
        expectTypeOf(context).toEqualTypeOf<App>()
        expectTypeOf(input).toEqualTypeOf<JsonObject>()
      },
      afterCall: ({ context }) => {
        expectTypeOf(context).toEqualTypeOf<App>()
      },
    })
  })
})
