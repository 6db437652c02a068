import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Message, Model, ModelEvent } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, gate, of, pairs, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'

const callEcho = (value: string): ScriptRound => [{ call: 'echo', input: { value } }]
const broken = { code: 'stream_error', message: 'connection reset' } as const

/** A model that says exactly these events, whatever is asked. */
function raw(rounds: readonly (readonly ModelEvent[])[]): Model {
  const inner = scriptedModel([])
  let round = 0
  return {
    ...inner,
    async *stream() {
      yield* rounds[round++] ?? []
    },
  }
}

describe('rounds', () => {
  test('with maxRounds 3 a model that always calls tools is asked 4 times and runs them 3 times', async () => {
    const model = scriptedModel((_, index) => callEcho(`v${index}`))
    const run = agent({ model, tools: [echo], maxRounds: 3 }).stream('go')
    const events = await collect(run)
    expect(model.requests).toHaveLength(4)
    expect(of(events, 'round-start').map((event) => event.round)).toEqual([1, 2, 3, 4])
    expect(of(events, 'tool-start')).toHaveLength(3)
    expect(events.at(-1)).toMatchObject({ outcome: 'max-rounds', finish: 'tool-calls' })
    expect(pairs(await run.result)).toEqual([
      ['call_1', 'v0'],
      ['call_2', 'v1'],
      ['call_3', 'v2'],
      ['call_4', 'Not run: the limit of 3 rounds with tools is reached.'],
    ])
  })

  test('a run can have its own maxRounds, and 0 runs nothing', async () => {
    const model = scriptedModel([callEcho('v')])
    const result = await agent({ model, tools: [echo] }).run('go', { maxRounds: 0 })
    expect(result).toMatchObject({ outcome: 'max-rounds', rounds: 1 })
  })

  test('rounds without tools do not count: an answer after the last tool round completes', async () => {
    const model = scriptedModel([callEcho('a'), 'done'])
    expect(await agent({ model, tools: [echo], maxRounds: 1 }).run('go')).toMatchObject({
      outcome: 'completed',
      text: 'done',
    })
  })

  test('an answer cut off by length is truncated', async () => {
    const model = scriptedModel([[{ text: 'And then' }, { finish: 'length' }]])
    expect(await agent({ model }).run('go')).toMatchObject({
      outcome: 'truncated',
      finish: 'length',
      text: 'And then',
    })
  })

  test('a call cut off by length is never run, and is answered as such', async () => {
    const model = scriptedModel([
      [
        { call: 'echo', input: { value: 'whole' } },
        { call: 'echo', raw: '{"value":"ha"}', cut: true },
        { finish: 'length' },
      ],
    ])
    const run = agent({ model, tools: [echo] }).stream('go')
    const events = await collect(run)
    expect(of(events, 'tool-start').map((event) => event.callId)).toEqual(['call_1'])
    expect(of(events, 'tool-call')[1]).toMatchObject({
      callId: 'call_2',
      input: {},
      raw: '{"value":"ha"}',
      problem: expect.stringMatching(/cut off/),
    })
    expect(events.at(-1)).toMatchObject({ outcome: 'truncated' })
    expect(pairs(await run.result)).toEqual([
      ['call_1', 'whole'],
      ['call_2', 'Not run: the arguments were cut off by the limit of output tokens.'],
    ])
  })

  test('a call the model never closed is not run either, though its arguments are valid JSON', async () => {
    const model = scriptedModel([[{ call: 'echo', raw: '{"value":"x"}', cut: true }], 'done'])
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(of(await collect(run), 'tool-start')).toEqual([])
    expect(pairs(await run.result)[0]?.[1]).toMatch(/never finished by the model/)
  })

  test('complete calls are run whatever the finish reason says', async () => {
    const model = scriptedModel([[{ call: 'echo', input: { value: 'x' } }, { finish: 'stop' }], 'done'])
    expect(pairs(await agent({ model, tools: [echo] }).run('go'))).toEqual([['call_1', 'x']])
  })

  test('at most 32 calls of a round are run', async () => {
    const model = scriptedModel([
      Array.from({ length: 40 }, (_, index) => ({ call: 'echo', input: { value: String(index) } })),
      'ok',
    ])
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(of(await collect(run), 'tool-start')).toHaveLength(32)
    const results = pairs(await run.result)
    expect(results[31]).toEqual(['call_32', '31'])
    expect(results[32]?.[1]).toMatch(/at most 32 calls/)
  })

  test('tools run side by side, at most 8 at once', async () => {
    let [running, most] = [0, 0]
    const busy = tool({
      name: 'busy',
      description: 'Takes a while',
      input: z.object({}),
      run: async () => {
        most = Math.max(most, ++running)
        await new Promise(setImmediate)
        running--
      },
    })
    const model = scriptedModel([Array.from({ length: 20 }, () => ({ call: 'busy' })), 'ok'])
    await agent({ model, tools: [busy] }).run('go')
    expect(most).toBe(8)
  })

  test('usage is summed over rounds', async () => {
    const model = scriptedModel([
      [
        { call: 'echo', input: { value: 'x' } },
        { usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 } },
      ],
      [{ text: 'ok' }, { usage: { inputTokens: 20, outputTokens: 3, reasoningTokens: 1 } }],
    ])
    const { usage } = await agent({ model, tools: [echo] }).run('go')
    expect(usage).toEqual({
      inputTokens: 30,
      outputTokens: 5,
      reasoningTokens: 1,
      cacheReadTokens: 4,
      cacheWriteTokens: 0,
    })
  })
})

describe('what a model gets wrong', () => {
  test('an unknown tool, bad JSON and bad arguments are told to it, and the run goes on', async () => {
    const model = scriptedModel([
      [
        { call: 'ehco', input: { value: 'x' } },
        { call: 'echo', raw: '{"value": }' },
        { call: 'echo', input: { value: 7 } },
      ],
      'sorry',
    ])
    const run = agent({ model, tools: [echo] }).stream('go')
    const events = await collect(run)
    expect(of(events, 'tool-start')).toEqual([])
    expect(of(events, 'tool-result').every((event) => event.isError)).toBe(true)
    const [unknown, json, schema] = pairs(await run.result).map(([, text]) => text)
    expect(unknown).toMatch(/Did you mean 'echo'\?/)
    expect(json).toMatch(/not valid JSON/)
    expect(schema).toMatch(/value: .*expected string/)
    expect(of(events, 'tool-call')[1]).toMatchObject({ input: {}, raw: '{"value": }' })
  })

  test('the same id for two calls, or none at all, gives each call its own', async () => {
    const call = (callId: string, value: string): ModelEvent => ({
      type: 'tool-call',
      callId,
      name: 'echo',
      input: { value },
    })
    const model = raw([
      [
        call('', 'a'),
        call('', 'b'),
        call('c1', 'c'),
        call('c1', 'd'),
        { type: 'done', finish: 'tool-calls' },
      ],
      [call('c1', 'e'), { type: 'done', finish: 'tool-calls' }],
      [
        { type: 'text', text: 'ok' },
        { type: 'done', finish: 'stop' },
      ],
    ])
    const result = await agent({ model, tools: [echo] }).run('go')
    expect(pairs(result)).toEqual([
      ['call_1', 'a'],
      ['call_1_2', 'b'],
      ['c1', 'c'],
      ['c1_2', 'd'],
      ['c1_3', 'e'],
    ])
  })

  test('ids used in the history that was handed in are not used again', async () => {
    const history: Message[] = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'call_1', name: 'echo', input: { value: 'x' } }],
      },
      { role: 'tool', callId: 'call_1', name: 'echo', content: [{ type: 'text', text: 'x' }] },
      { role: 'user', content: 'b' },
    ]
    const result = await agent({ model: scriptedModel([callEcho('y'), 'ok']), tools: [echo] }).run(history)
    expect(pairs(result)).toEqual([
      ['call_1', 'x'],
      ['call_1_2', 'y'],
    ])
  })

  test.each<[string, ModelEvent]>([
    ['arguments of a call it has not begun', { type: 'tool-input', callId: 'x', delta: '{' }],
    ['an event nobody knows', { type: 'banana' } as never],
  ])('%s end the run with llm_error', async (_, event) => {
    expect((await agent({ model: raw([[event]]) }).stream('go').result).error).toMatchObject({
      code: 'llm_error',
    })
  })

  test('empty deltas are not passed on', async () => {
    const model = raw([
      [
        { type: 'text', text: '' },
        { type: 'reasoning', text: '' },
        { type: 'text', text: 'a' },
        { type: 'done', finish: 'stop' },
      ],
    ])
    expect(typesOf(await collect(agent({ model }).stream('go')))).toEqual([
      'run-start',
      'round-start',
      'text',
      'round-end',
      'run-end',
    ])
  })

  test('a model that throws before it gives a stream fails the run, not stream()', async () => {
    const model: Model = {
      ...scriptedModel([]),
      stream: () => {
        throw new TypeError('no socket')
      },
    }
    expect((await agent({ model }).stream('go').result).error).toMatchObject({
      code: 'llm_error',
      message: 'no socket',
    })
  })
})

test('a result tells what became of the call', async () => {
  const clock = fakeClock()
  const throws = tool({
    name: 'throws',
    description: 'x',
    input: z.object({}),
    run: () => Promise.reject(new Error('no')),
  })
  const hangs = tool({
    name: 'hangs',
    description: 'x',
    input: z.object({}),
    timeoutMs: 10,
    run: () => new Promise(() => {}),
  })
  const waits = tool({
    name: 'waits',
    description: 'x',
    input: z.object({}),
    run: () => new Promise(() => {}),
  })
  const names = ['echo', 'throws', 'hangs', 'nothing', 'blocked', 'waits']
  const model = scriptedModel([names.map((call) => ({ call, input: { value: 'x' } }))], { clock })
  const blocked = tool({ name: 'blocked', description: 'x', input: z.object({}), run: () => 1 })
  const run = agent({
    model,
    clock,
    tools: [echo, throws, hangs, blocked, waits],
    beforeCall: ({ name }) => (name === 'blocked' ? { block: 'not today' } : undefined),
  }).stream('go')
  await clock.advance(20)
  run.cancel()
  const results = of(await collect(run), 'tool-result')
  expect(Object.fromEntries(results.map(({ name, status }) => [name, status]))).toEqual({
    echo: 'ok',
    throws: 'failed',
    hangs: 'timeout',
    nothing: 'rejected',
    blocked: 'blocked',
    waits: 'cancelled',
  })
})

describe('failures', () => {
  test('a failure before anything was shown is retried after a wait with jitter, and nothing is taken back', async () => {
    const clock = fakeClock()
    const model = scriptedModel([...script.failing(broken), ...script.failing(broken), 'at last'], { clock })
    const run = agent({ model, clock, retry: { baseMs: 1000 } }).stream('go')
    const events = await clock.until(collect(run))
    const retries = of(events, 'round-retry')
    expect(retries).toMatchObject([
      { round: 1, attempt: 2, error: { code: 'stream_error' } },
      { round: 1, attempt: 3 },
    ])
    expect(retries[0]?.delayMs).toBeGreaterThanOrEqual(500)
    expect(retries[0]?.delayMs).toBeLessThanOrEqual(1000)
    expect(retries[1]?.delayMs).toBeGreaterThanOrEqual(1000)
    expect(clock.now()).toBe((retries[0]?.delayMs ?? 0) + (retries[1]?.delayMs ?? 0))
    expect(typesOf(events)).not.toContain('round-retract')
    expect(await run.result).toMatchObject({ text: 'at last', rounds: 1 })
  })

  test("the provider's own delay is honoured, and one beyond reason is not waited for", async () => {
    const clock = fakeClock()
    const limited = (retryAfterMs: number) =>
      script.failing({ code: 'rate_limit', message: 'slow down', retryAfterMs })
    const patient = agent({ model: scriptedModel([...limited(20_000), 'ok']), clock }).stream('go')
    expect(await clock.until(patient.result)).toMatchObject({ outcome: 'completed' })
    expect(clock.now()).toBe(20_000)
    const hopeless = agent({ model: scriptedModel([...limited(3_600_000), 'ok']), clock }).stream('go')
    expect((await hopeless.result).error).toMatchObject({ code: 'rate_limit' })
    expect(clock.now()).toBe(20_000)
  })

  test('what will not pass by itself is not retried', async () => {
    const model = scriptedModel([...script.failing({ code: 'auth', message: 'bad key' }), 'never asked for'])
    expect((await agent({ model }).stream('go').result).error).toMatchObject({ code: 'auth' })
    expect(model.requests).toHaveLength(1)
  })

  test('attempts are limited, and the last failure is told', async () => {
    const clock = fakeClock()
    const model = scriptedModel(() => [{ error: broken }])
    const run = agent({ model, clock, retry: { attempts: 4 } }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({
      outcome: 'failed',
      error: { message: 'connection reset' },
    })
    expect(model.requests).toHaveLength(4)
  })

  test('after words were shown the round is retracted and told again', async () => {
    const clock = fakeClock()
    const model = scriptedModel([...script.failing(broken, 'Half an ans'), 'A whole answer'])
    const run = agent({ model, clock }).stream('go')
    const events = await clock.until(collect(run))
    expect(typesOf(events)).toEqual([
      'run-start',
      'round-start',
      'text',
      'round-retract',
      'round-retry',
      'text',
      'text',
      'round-end',
      'run-end',
    ])
    expect(of(events, 'round-retract')).toEqual([
      { type: 'round-retract', round: 1, reason: 'connection reset' },
    ])
    const { messages } = await run.result
    expect(messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'A whole answer' }],
    })
  })

  test('a failure after a tool has started keeps the round as far as it closed and does not run that tool again', async () => {
    const clock = fakeClock()
    const slow = gate()
    const model = scriptedModel([
      [
        { text: 'Starting. ' },
        { call: 'gate' },
        { call: 'echo', raw: '{"value":"un', cut: true },
        { error: broken },
      ],
      'Finished.',
    ])
    const run = agent({ model, tools: [slow.tool, echo], clock }).stream('go')
    await clock.advance(5000)
    slow.open('opened')
    const events = await clock.until(collect(run))
    expect(slow.runs).toBe(1)
    expect(typesOf(events)).not.toContain('round-retract')
    expect(of(events, 'round-end').map((event) => event.finish)).toEqual(['interrupted', 'stop'])
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Starting. ' },
          { type: 'tool-call', callId: 'call_1', name: 'gate', input: {} },
        ],
      },
      { role: 'tool', callId: 'call_1', name: 'gate', content: [{ type: 'text', text: 'opened' }] },
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Finished.' })
  })

  test('a round retracted while its call waited to run drops that call', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<void>()
    const model = scriptedModel([
      [{ call: 'echo', input: { value: 'never' } }, { error: broken }],
      callEcho('once'),
      'ok',
    ])
    let asks = 0
    const run = agent({
      model,
      tools: [echo],
      clock,
      beforeCall: () => (asks++ === 0 ? asked.promise : undefined),
    }).stream('go')
    await clock.advance(10_000)
    asked.resolve()
    const events = await clock.until(collect(run))
    expect(of(events, 'tool-start')).toHaveLength(1)
    expect(pairs(await run.result).map(([, text]) => text)).toEqual(['once'])
  })

  test('a stream that ends without its terminal event is a failure', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ text: 'And' }, { end: true }], 'And so on'])
    const events = await clock.until(collect(agent({ model, clock }).stream('go')))
    expect(of(events, 'round-retry')).toMatchObject([{ error: { code: 'stream_error', retryable: true } }])
  })

  test('when a model is given up the next of the list is asked, and kept for the rest of the run', async () => {
    const clock = fakeClock()
    const first = scriptedModel(() => [{ error: broken }], { id: 'first' })
    const second = scriptedModel([callEcho('x'), 'done'], { id: 'second' })
    const run = agent({ model: [first, second], tools: [echo], clock }).stream('go')
    const events = await clock.until(collect(run))
    expect(first.requests).toHaveLength(3)
    expect(of(events, 'round-retry').map((event) => event.model)).toEqual(['first', 'first', 'second'])
    expect(of(events, 'round-end').map((event) => event.model)).toEqual(['second', 'second'])
    expect(of(events, 'round-start')[1]?.model).toBe('second')
  })

  test('what cannot pass is taken to the next model at once', async () => {
    const first = scriptedModel(script.failing({ code: 'auth', message: 'bad key' }))
    const second = scriptedModel(['hello'], { id: 'second', capabilities: { images: false } })
    const image = { role: 'user', content: [{ type: 'image', url: 'https://example.test/cat.png' }] } as const
    const run = agent({ model: [first, second] }).stream(image)
    expect(of(await collect(run), 'round-retry')).toMatchObject([{ model: 'second', delayMs: 0 }])
    expect(second.requests[0]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: '[an image was left out: this model takes none]' }] },
    ])
  })

  test('a file is only mentioned to a next model that takes none', async () => {
    const first = scriptedModel(script.failing({ code: 'auth', message: 'bad key' }))
    const second = scriptedModel(['hello'], { capabilities: { files: false } })
    const file = { type: 'file', mediaType: 'application/pdf', data: 'AAAA' } as const
    await agent({ model: [first, second] }).run({ role: 'user', content: [file] })
    expect(first.requests[0]?.messages).toEqual([{ role: 'user', content: [file] }])
    expect(second.requests[0]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: '[a file was left out: this model takes none]' }] },
    ])
  })

  test('a tool that the provider runs is told, and is part of what the model said, also after a retraction', async () => {
    const opaque = { provider: 'scripted', data: { id: 's' } }
    const search = { providerTool: 'search', input: { q: 1 }, output: 'found', opaque }
    const model = scriptedModel([
      [search, { error: { code: 'overloaded' } }],
      [search, { text: 'There.' }],
    ])
    const run = agent({ model, retry: { baseMs: 0 } }).stream('go')
    const told = of(await collect(run), 'provider-tool')
    expect(told).toMatchObject([
      { name: 'search', output: 'found' },
      { name: 'search', output: 'found' },
    ])
    expect((await run.result).messages.at(-1)?.content).toMatchObject([
      { type: 'provider-tool', name: 'search', input: { q: 1 }, output: 'found', opaque },
      { type: 'text', text: 'There.' },
    ])
  })

  test('the settings of a run lie over those of the agent, and what they add is joined', async () => {
    const model = scriptedModel(['hello'])
    const settings = { temperature: 0, seed: 1, extra: { a: 1 }, headers: { x: '1' } }
    const changed = { temperature: 1, extra: { b: 2 }, headers: { y: '2' } }
    await agent({ model, settings }).run('go', { settings: changed })
    expect(model.requests[0]?.settings).toEqual({
      temperature: 1,
      seed: 1,
      extra: { a: 1, b: 2 },
      headers: { x: '1', y: '2' },
    })
  })

  test('whether a tool is strict reaches the model, and only if it was said', async () => {
    const tools = [undefined, true, false].map((strict, index) =>
      tool({ name: `t${index}`, description: 'd', input: z.object({}), run: () => '', strict }),
    )
    const model = scriptedModel(['hello'])
    await agent({ model, tools }).run('go')
    expect(model.requests[0]?.tools.map(({ strict }) => strict)).toEqual([undefined, true, false])
    expect(model.requests[0]?.tools[0]).not.toHaveProperty('strict')
  })

  test("onToolError 'fail' ends the run at the first call that goes wrong, with everything answered", async () => {
    const slow = gate()
    const model = scriptedModel([[{ call: 'gate' }, { call: 'nothing' }, { text: 'still talking' }]])
    const run = agent({ model, tools: [slow.tool], onToolError: 'fail' }).stream('go')
    const result = await run.result
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'tool_failed', message: expect.stringMatching(/nothing/) },
    })
    expect(pairs(result)).toHaveLength(2)
    await expect(
      agent({ model: scriptedModel(script.tool('bad', {}, 'x')), onToolError: 'fail' }).run('go'),
    ).rejects.toMatchObject({ code: 'tool_failed' })
  })
})

describe('time', () => {
  test('a model that does not begin, or falls silent, is a time-out and retried', async () => {
    const clock = fakeClock()
    const model = scriptedModel([...script.hanging(), ...script.hanging('Hm'), 'Here'], { clock })
    const run = agent({ model, clock, firstEventMs: 1000, idleMs: 3000, retry: { baseMs: 0 } }).stream('go')
    const events = await clock.until(collect(run))
    expect(clock.now()).toBe(4000)
    expect(of(events, 'round-retry').map((event) => event.error.message)).toEqual([
      "the model 'scripted' did not begin to answer for 1000 ms",
      "the model 'scripted' fell silent for 3000 ms",
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Here' })
  })

  test('a slow model that keeps talking is not silent', async () => {
    const clock = fakeClock()
    const model = scriptedModel(script.text('x'.repeat(50)), { deltaChars: 1, paceMs: 900, clock })
    const run = agent({ model, clock, firstEventMs: 1000, idleMs: 1000 }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed' })
  })

  test('a model that ignores its signal does not hold up the retry', async () => {
    const clock = fakeClock()
    const deaf: Model = {
      ...scriptedModel([]),
      id: 'deaf',
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
    }
    const run = agent({
      model: [deaf, scriptedModel(['ok'])],
      clock,
      firstEventMs: 10,
      retry: { attempts: 1 },
    }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ text: 'ok' })
  })

  test('the deadline of a run ends it, tools and all', async () => {
    const clock = fakeClock()
    const slow = gate()
    const run = agent({
      model: scriptedModel(script.tool('gate', {}, 'ok')),
      tools: [slow.tool],
      clock,
      runMs: 5000,
    }).stream('go')
    const result = await clock.until(run.result)
    expect(clock.now()).toBe(5000)
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'timeout', retryable: false } })
    expect(pairs(result)[0]?.[1]).toMatch(/did not finish within 5000 ms/)
    expect((await slow.started).aborted).toBe(true)
  })

  test("a tool's time-out is told to the model, and its late result is not heard", async () => {
    const clock = fakeClock()
    const slow = gate()
    const run = agent({
      model: scriptedModel(script.tool('gate', {}, 'ok')),
      tools: [slow.tool],
      clock,
      toolTimeoutMs: 2000,
    }).stream('go')
    const result = await clock.until(run.result)
    slow.open('late')
    expect(clock.now()).toBe(2000)
    expect(pairs(result)).toEqual([['call_1', 'The tool did not finish within 2000 ms and was stopped.']])
  })
})

describe('circles', () => {
  test('a call repeated with the same result is pointed out from the third time and refused from the sixth', async () => {
    const model = scriptedModel((_, index) => (index < 7 ? callEcho('again') : 'I give up'))
    const run = agent({ model, tools: [echo] }).stream('go')
    const events = await collect(run)
    expect(of(events, 'tool-start')).toHaveLength(5)
    const results = pairs(await run.result).map(([, text]) => text)
    expect(results[1]).toBe('again')
    expect(results[2]).toMatch(/^again,\[Note: .* 3rd time/)
    expect(results[4]).toMatch(/5th time/)
    expect(results[5]).toMatch(/^Not run: this exact call has given the same result 5 times/)
    expect(results[6]).toMatch(/^Not run/)
  })

  test('it can be switched off, and set', async () => {
    const model = () => scriptedModel((_, index) => (index < 7 ? callEcho('again') : 'done'))
    const off = agent({ model: model(), tools: [echo], repeatLimits: false }).stream('go')
    expect(of(await collect(off), 'tool-start')).toHaveLength(7)
    const strict = agent({ model: model(), tools: [echo], repeatLimits: { warn: 2, refuse: 2 } }).stream('go')
    expect(of(await collect(strict), 'tool-start')).toHaveLength(1)
  })
})

describe('prepareRound', () => {
  test('changes model, messages, tools, system and settings for one round alone', async () => {
    const other = scriptedModel([callEcho('x')], { id: 'other' })
    const model = scriptedModel(['done'])
    const run = agent({
      model,
      tools: [echo],
      system: 'A',
      settings: { temperature: 1 },
      prepareRound: ({ round, messages }) =>
        round === 1
          ? {
              model: other,
              system: 'B',
              messages: messages.slice(-1),
              settings: { temperature: 0 },
              toolChoice: 'required',
            }
          : { tools: [] },
    }).stream([
      { role: 'user', content: 'old' },
      { role: 'assistant', content: 'older' },
      { role: 'user', content: 'new' },
    ])
    const { messages } = await run.result
    expect(other.requests[0]).toMatchObject({
      messages: [
        { role: 'system', content: 'B' },
        { role: 'user', content: 'new' },
      ],
      settings: { temperature: 0 },
      toolChoice: 'required',
    })
    expect(model.requests[0]).toMatchObject({ tools: [], settings: { temperature: 1 } })
    expect(model.requests[0]?.messages).toHaveLength(6)
    expect(messages).toHaveLength(6)
  })

  test('a hook that throws ends the run with hook_failed', async () => {
    const prepareRound = () => {
      throw new Error('no budget')
    }
    const { error } = await agent({ model: scriptedModel([]), prepareRound }).stream('go').result
    expect(error).toMatchObject({ code: 'hook_failed', message: 'prepareRound threw: no budget' })
  })

  test('what is said while the hook is thinking is heard in that very round', async () => {
    const thinking = Promise.withResolvers<void>()
    const model = scriptedModel(['ok'])
    const run = agent({ model, prepareRound: () => thinking.promise }).stream('go')
    await new Promise(setImmediate)
    run.steer('and quickly')
    thinking.resolve()
    const { messages } = await run.result
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'user', content: 'and quickly' },
    ])
    expect(messages).toHaveLength(3)
  })

  test('two tools of one name are refused there too', async () => {
    const { error } = await agent({
      model: scriptedModel([]),
      prepareRound: () => ({ tools: [echo, echo] }),
    }).stream('go').result
    expect(error).toMatchObject({
      code: 'hook_failed',
      message: expect.stringMatching(/two tools named 'echo'/),
    })
  })

  test('messages that leave a call unanswered are not sent', async () => {
    const model = scriptedModel([callEcho('x'), 'never'])
    const { error } = await agent({
      model,
      tools: [echo],
      prepareRound: ({ messages }) => ({ messages: messages.filter((message) => message.role !== 'tool') }),
    }).stream('go').result
    expect(error).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/'call_1' has no result/),
    })
    expect(model.requests).toHaveLength(1)
  })
})

describe('requests', () => {
  test('settings of agent and run are laid over each other, tools are told in order', async () => {
    const model = scriptedModel(['ok'])
    const second = tool({ name: 'alpha', description: 'Second', input: z.object({}), run: () => 1 })
    await agent({
      model,
      tools: [echo, second],
      settings: { temperature: 1, seed: 3 },
      toolChoice: 'none',
    }).run('go', { settings: { temperature: 0 } })
    expect(model.requests[0]).toMatchObject({ settings: { temperature: 0, seed: 3 }, toolChoice: 'none' })
    expect(model.requests[0]?.tools.map(({ name, description }) => [name, description])).toEqual([
      ['echo', 'Says it again'],
      ['alpha', 'Second'],
    ])
    expect(model.requests[0]?.tools[0]?.inputSchema).toMatchObject({
      type: 'object',
      properties: { value: { type: 'string' } },
    })
  })

  test('a tool that answers with a picture is understood by a model that sees none', async () => {
    const { toolContent } = await import('../tools/index.ts')
    const shot = tool({
      name: 'shot',
      description: 'Takes a picture',
      input: z.object({}),
      run: () => toolContent([{ type: 'image', data: new Uint8Array([1, 2, 3]), mediaType: 'image/png' }]),
    })
    const model = scriptedModel(script.tool('shot', {}, 'ok'), { capabilities: { images: false } })
    const { messages } = await agent({ model, tools: [shot] }).run('go')
    expect(messages.at(-2)?.content).toEqual([{ type: 'image', data: 'AQID', mediaType: 'image/png' }])
    expect(model.requests[1]?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: '[an image was left out: this model takes none]' },
    ])
  })
})
