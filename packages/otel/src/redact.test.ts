import { AlwaysOffSampler } from '@opentelemetry/sdk-trace'
import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ContentLocation, Redact } from './index.ts'
import { measured, named, only, treeOf } from './otel.test-kit.ts'

const add = tool({
  name: 'add',
  description: 'Adds',
  input: z.object({ to: z.number() }),
  run: ({ to }) => ({ sum: to + 1 }),
})
const breaks = tool({
  name: 'breaks',
  description: 'Breaks',
  input: z.object({}),
  run() {
    throw new Error('it broke')
  },
})

/** A run with every kind of content to redact, which fails in the end. */
async function redacted(redact: Redact, options: Parameters<typeof measured>[0] = {}) {
  const seen = measured({ content: true, redact, ...options })
  const model = scriptedModel(
    [
      [{ text: 'Hm.' }, { call: 'add', input: { to: 1 } }, { call: 'breaks' }],
      [{ text: 'Oh.' }, { error: { code: 'auth', message: 'no key' } }],
    ],
    { id: 'gpt' },
  )
  const desk = agent({
    name: 'desk',
    model,
    system: 'Be brief.',
    tools: [add, breaks],
    telemetry: seen.telemetry,
  })
  const result = await desk.stream('Well?').result
  return { spans: seen.spans(), model, result }
}

const contentAttribute = /messages|instructions|definitions|tool\.call\.(arguments|result)/
const contentIn = ({ spans }: Awaited<ReturnType<typeof redacted>>) =>
  spans.flatMap(({ name, attributes, status }) => [
    ...Object.keys(attributes)
      .filter((attribute) => contentAttribute.test(attribute))
      .map((attribute) => `${name}: ${attribute}`),
    ...(status.message === undefined ? [] : [`${name}: status`]),
  ])

const tree = ['invoke_agent desk', '  chat gpt', '  execute_tool add', '  execute_tool breaks', '  chat gpt']

describe('redact', () => {
  test('is called for each piece of content, with its location', async () => {
    const locations: ContentLocation[] = []
    const traced = await redacted((value, location) => {
      locations.push(location)
      return value
    })
    const sorted = locations
      .map(({ attribute, agent, tool }) => [attribute, agent, tool].join(' ').trim())
      .toSorted()
    expect(sorted).toEqual([
      'error.message desk',
      'error.message desk',
      'error.message desk breaks',
      'gen_ai.input.messages desk',
      'gen_ai.input.messages desk',
      'gen_ai.input.messages desk',
      'gen_ai.output.messages desk',
      'gen_ai.output.messages desk',
      'gen_ai.output.messages desk',
      'gen_ai.system_instructions desk',
      'gen_ai.system_instructions desk',
      'gen_ai.tool.call.arguments desk add',
      'gen_ai.tool.call.arguments desk breaks',
      'gen_ai.tool.call.result desk add',
      'gen_ai.tool.call.result desk breaks',
      'gen_ai.tool.definitions desk',
      'gen_ai.tool.definitions desk',
    ])
    expect(contentIn(traced)).toHaveLength(locations.length)
  })

  test('replaces the content: strings as they are, anything else as JSON', async () => {
    const { spans } = await redacted((_, { attribute }) =>
      attribute === 'gen_ai.input.messages'
        ? '[gone]'
        : attribute === 'error.message'
          ? 'sorry'
          : { gone: true },
    )
    const run = only(spans, 'invoke_agent desk')
    expect(run.attributes['gen_ai.input.messages']).toBe('[gone]')
    expect(run.attributes['gen_ai.output.messages']).toBe('{"gone":true}')
    expect(run.status.message).toBe('sorry')
    expect(only(spans, 'execute_tool breaks').status.message).toBe('sorry')
    expect(only(spans, 'execute_tool add').attributes['gen_ai.tool.call.arguments']).toBe('{"gone":true}')
  })

  test('can keep one piece and drop another', async () => {
    const { spans } = await redacted((value, { tool }) => (tool === 'add' ? undefined : value))
    expect(only(spans, 'execute_tool add').attributes).not.toHaveProperty('gen_ai.tool.call.arguments')
    expect(only(spans, 'execute_tool breaks').attributes['gen_ai.tool.call.arguments']).toBe('{}')
  })

  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  test.each<[string, () => unknown]>([
    ['returns undefined', () => undefined],
    ['returns a value that is not JSON', () => () => 'x'],
    ['returns a cyclic value', () => cyclic],
    [
      'throws',
      () => {
        throw new Error('no idea')
      },
    ],
    ['is async', async () => 'later'],
    ['is async and rejects', () => Promise.reject(new Error('later'))],
  ])('that %s drops the content, and nothing else', async (_, redact) => {
    const traced = await redacted(redact as Redact)
    expect(contentIn(traced)).toEqual([])
    expect(treeOf(traced.spans)).toEqual(tree)
    expect(only(traced.spans, 'invoke_agent desk').attributes['error.type']).toBe('auth')
    expect(traced.result.outcome).toBe('failed')
  })

  test('may modify its argument, which is a copy', async () => {
    const plain = await redacted((value) => value)
    const traced = await redacted((value) => {
      if (Array.isArray(value)) value.splice(0)
      else if (typeof value === 'object')
        for (const name of Object.keys(value ?? {})) Reflect.deleteProperty(value as object, name)
      return value
    })
    expect(only(traced.spans, 'invoke_agent desk').attributes['gen_ai.input.messages']).toBe('[]')
    expect(traced.model.requests).toEqual(plain.model.requests)
    expect(traced.result.messages).toEqual(plain.result.messages)
  })

  test('is not called for a span that is not recorded', async () => {
    let calls = 0
    const count: Redact = (value) => {
      calls++
      return value
    }
    const { spans } = await redacted(count, { sampler: new AlwaysOffSampler() })
    expect(spans).toEqual([])
    expect(calls).toBe(0)
    expect(named((await redacted(count)).spans, 'chat gpt')).toHaveLength(2)
    expect(calls).toBeGreaterThan(0)
  })
})
