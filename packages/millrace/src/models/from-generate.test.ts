import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { ModelEvent, ModelRequest } from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import type { Generate } from './from-generate.ts'
import { fromGenerate } from './from-generate.ts'

const request: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], settings: {} }
const never = new AbortController().signal

async function eventsOf(generate: Generate): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of fromGenerate(generate).stream(request, { signal: never })) events.push(event)
  return events
}

/** What a function without type checks may return. */
const returning = (answer: unknown) => eventsOf(async () => answer as never)

describe('a whole answer', () => {
  test('that is a string arrives as one delta and done', async () => {
    expect(await eventsOf(async () => 'Hello there.')).toStrictEqual([
      { type: 'text', text: 'Hello there.' },
      { type: 'done', finish: 'stop' },
    ])
  })

  test('may be returned without a promise', async () => {
    expect(await eventsOf(() => 'Hello.')).toHaveLength(2)
  })

  test('is emitted in the order reasoning, text, calls, done', async () => {
    const events = await eventsOf(async () => ({
      calls: [
        { name: 'look', input: { id: 1 } },
        { name: 'find', arguments: '{"q": "x"}', id: 'mine' },
      ],
      text: 'I look.',
      reasoning: 'hm',
      usage: { inputTokens: 3, outputTokens: 4 },
      metadata: { id: 'r1' },
    }))
    expect(events).toStrictEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'part-end', part: 'reasoning' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-input-start', callId: 'call_1', name: 'look' },
      { type: 'tool-input', callId: 'call_1', delta: '{"id":1}' },
      { type: 'tool-call', callId: 'call_1', name: 'look', input: { id: 1 } },
      { type: 'tool-input-start', callId: 'mine', name: 'find' },
      { type: 'tool-input', callId: 'mine', delta: '{"q": "x"}' },
      { type: 'tool-call', callId: 'mine', name: 'find', input: { q: 'x' } },
      {
        type: 'done',
        finish: 'tool-calls',
        usage: { inputTokens: 3, outputTokens: 4 },
        metadata: { id: 'r1' },
      },
    ])
  })

  test('that is empty emits only done', async () => {
    expect(await eventsOf(async () => ({}))).toStrictEqual([{ type: 'done', finish: 'stop' }])
  })

  test('a call without input gets an empty object', async () => {
    const events = await eventsOf(async () => ({
      calls: [{ name: 'look' }, { name: 'look', arguments: '' }],
    }))
    const calls = events.filter((event) => event.type === 'tool-call')
    expect(calls.map(({ callId, input, problem }) => [callId, input, problem])).toEqual([
      ['call_1', {}, undefined],
      ['call_2', {}, undefined],
    ])
  })

  test('arguments that are not JSON make a call with a problem', async () => {
    const events = await eventsOf(async () => ({ calls: [{ name: 'look', arguments: '{"id":' }] }))
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      input: {},
      raw: '{"id":',
      problem: expect.stringContaining('not valid JSON'),
    })
  })

  test('a call that the token limit cut off is not closed, but earlier calls are', async () => {
    const events = await eventsOf(async () => ({
      finish: 'length',
      calls: [
        { name: 'look', arguments: '{"id":1}' },
        { name: 'find', arguments: '{"q":"wha' },
      ],
    }))
    expect(events.map(({ type }) => type)).toEqual([
      'tool-input-start',
      'tool-input',
      'tool-call',
      'tool-input-start',
      'tool-input',
      'done',
    ])
    expect(events.at(-1)).toStrictEqual({ type: 'done', finish: 'length' })
  })

  test('a call that was cut off does not run', async () => {
    const ran: unknown[] = []
    const model = fromGenerate(() => ({ calls: [{ name: 'del', arguments: '' }], finish: 'length' }))
    await agent({
      model,
      tools: [
        tool({ name: 'del', description: 'Deletes', input: z.object({}), run: (input) => ran.push(input) }),
      ],
    }).run('x')
    expect(ran).toEqual([])
  })
})

describe('the return value is checked', () => {
  test.each<[unknown, string]>([
    [undefined, ' must be a string or an object such as { text, calls }, not undefined'],
    [null, ' must be a string or an object such as { text, calls }, not null'],
    [['a'], ' must be a string or an object such as { text, calls }, not an array'],
    [{ text: 3 }, ': text must be a string, not a number'],
    [{ txt: 'a' }, ': txt does not exist: did you mean text?'],
    [{ choices: [] }, ': choices does not exist'],
    [{ finish: 'done' }, ": finish must be 'stop' or 'tool-calls'"],
    [{ usage: 3 }, ': usage must be an object, not a number'],
    [{ calls: {} }, ': calls must be an array, not an object'],
    [{ calls: ['a'] }, ': calls[0] must be an object such as { name, input }, not a string'],
    [{ calls: [{}] }, ': calls[0] has no name'],
    [{ calls: [{ name: 'a', input: 'x' }] }, ': calls[0].input must be an object, not a string'],
    [
      { calls: [{ name: 'a' }, { name: 'a', input: { n: 1n } }] },
      ': calls[1].input cannot be serialized as JSON',
    ],
    [
      { calls: [{ name: 'a', arguments: {} }] },
      ": calls[0].arguments must be the arguments as JSON text, not an object: pass an object as 'input'",
    ],
    [{ calls: [{ name: 'a', args: {} }] }, ': calls[0].args does not exist'],
    [{ calls: [{ name: 'a', input: {}, arguments: '{}' }] }, ': calls[0] has both input and arguments'],
  ])('%o is rejected', async (answer, problem) => {
    await expect(returning(answer)).rejects.toMatchObject({
      code: 'llm_error',
      op: 'model.stream',
      message: expect.stringContaining(`the return value of the fromGenerate() function${problem}`),
    })
  })

  test('invalid counts are left out of the usage', async () => {
    const events = await returning({ text: 'a', usage: { inputTokens: 3, outputTokens: 'many', total: 9 } })
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 3 } })
  })

  test('a generator is rejected', async () => {
    async function* words() {
      yield 'a'
    }
    await expect(eventsOf(words as never)).rejects.toMatchObject({
      code: 'llm_error',
      message: expect.stringContaining('is a stream'),
    })
  })
})

describe('the model', () => {
  test('has its id and provider, and does not stream', () => {
    expect(fromGenerate(() => '')).toMatchObject({
      id: 'generate',
      provider: 'generate',
      capabilities: {
        tools: true,
        images: false,
        files: false,
        reasoning: false,
        streaming: false,
        structuredOutput: false,
      },
    })
    const options = { id: 'mine', provider: 'house', capabilities: { images: true, streaming: true } }
    expect(fromGenerate(() => '', options)).toMatchObject({
      id: 'mine',
      provider: 'house',
      capabilities: { tools: true, images: true, streaming: false },
    })
  })

  test('is rejected if streaming is required', () => {
    const make = () => agent({ model: fromGenerate(() => 'a'), requireStreaming: true })
    expect(make).toThrow(expect.objectContaining({ code: 'streaming_not_supported' }))
  })

  test.each<[unknown, object, string]>([
    ['gpt', {}, 'fromGenerate() takes a function such as async'],
    [() => '', { model: 'x' }, "the option of fromGenerate() 'model' does not exist"],
    [() => '', { id: '' }, "the option of fromGenerate() 'id' must be text"],
    [() => '', null as never, 'must be an object, not null'],
  ])('%s with %j is rejected', (generate, options, message) => {
    expect(() => fromGenerate(generate as Generate, options)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(message) }),
    )
  })

  test('passes the request and a signal that is aborted on cancel', async () => {
    const given = Promise.withResolvers<{ request: ModelRequest; signal: AbortSignal }>()
    const model = fromGenerate((request, { signal }) => {
      given.resolve({ request, signal })
      return new Promise(() => {})
    })
    const run = agent({ model, system: 'Be kind.' }).stream('hi')
    const { request, signal } = await given.promise
    expect(request.messages[0]).toEqual({ role: 'system', content: 'Be kind.' })
    run.cancel()
    expect((await run.result).outcome).toBe('canceled')
    expect(signal.aborted).toBe(true)
  })

  test('an answer after the abort is not emitted', async () => {
    const controller = new AbortController()
    const model = fromGenerate(async () => {
      controller.abort(new Error('enough'))
      return 'too late'
    })
    const first = model.stream(request, { signal: controller.signal })[Symbol.asyncIterator]().next()
    await expect(first).rejects.toThrow('enough')
  })

  test('an error of the function fails the run with its message', async () => {
    const model = fromGenerate(async () => {
      throw new Error('no luck')
    })
    const { outcome, error } = await agent({ model }).stream('hi').result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'llm_error', message: 'no luck' })
  })

  test('runs tools and answers like any other model', async () => {
    const add = tool({
      name: 'add',
      description: 'Adds',
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => a + b,
    })
    const model = fromGenerate(async ({ messages, tools }) => {
      const last = messages.at(-1)
      if (last?.role === 'user') return { calls: [{ name: tools[0]?.name ?? '', input: { a: 1, b: 2 } }] }
      return `It is ${JSON.stringify(last?.content)}.`
    })
    const { text, rounds } = await agent({ model, tools: [add] }).run('1 + 2?')
    expect([text, rounds]).toEqual(['It is [{"type":"json","value":3}].', 2])
  })
})
