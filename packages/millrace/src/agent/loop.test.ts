import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { callEcho, collect, echo, failOnUnhandledRejections, gate, of, pairs } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('rounds', () => {
  test('with maxRounds 3, a model that always calls tools runs 4 rounds, 3 of them with tools', async () => {
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

  test('a call cut off by length is never run, and its result says so', async () => {
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
      ['call_2', 'Not run: the arguments were cut off by the output token limit.'],
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

  test('tools run in parallel, at most 8 at once', async () => {
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

describe('errors of the model', () => {
  test('an unknown tool, bad JSON and bad arguments are reported to it, and the run continues', async () => {
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
})

test('a result has the status of the call', async () => {
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
    waits: 'canceled',
  })
})

describe('repeated calls', () => {
  test('a call repeated with the same result gets a warning from the third time on and is blocked from the sixth', async () => {
    const model = scriptedModel((_, index) => (index < 7 ? callEcho('again') : 'I give up'))
    const run = agent({ model, tools: [echo] }).stream('go')
    const events = await collect(run)
    expect(of(events, 'tool-start')).toHaveLength(5)
    const results = pairs(await run.result).map(([, text]) => text)
    expect(results[1]).toBe('again')
    expect(results[2]).toMatch(/^again,\[Note: .* 3rd time/)
    expect(results[4]).toMatch(/5th time/)
    expect(results[5]).toMatch(/^Not run: this exact call has returned the same result 5 times/)
    expect(results[6]).toMatch(/^Not run/)
  })

  test('the limits can be changed and turned off', async () => {
    const model = () => scriptedModel((_, index) => (index < 7 ? callEcho('again') : 'done'))
    const off = agent({ model: model(), tools: [echo], repeatLimits: false }).stream('go')
    expect(of(await collect(off), 'tool-start')).toHaveLength(7)
    const strict = agent({ model: model(), tools: [echo], repeatLimits: { warn: 2, block: 2 } }).stream('go')
    expect(of(await collect(strict), 'tool-start')).toHaveLength(1)
  })
})

describe('requests', () => {
  test('settings of agent and run are merged, tools are sent in order', async () => {
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
      ['echo', 'Returns its input'],
      ['alpha', 'Second'],
    ])
    expect(model.requests[0]?.tools[0]?.inputSchema).toMatchObject({
      type: 'object',
      properties: { value: { type: 'string' } },
    })
  })

  test('an image result is replaced by a note for a model that does not accept images', async () => {
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
      { type: 'text', text: '[an image was left out: this model does not accept images]' },
    ])
  })

  test('a provider tool is emitted and part of the assistant message, also after a retraction', async () => {
    const opaque = { provider: 'scripted', data: { id: 's' } }
    const search = { providerTool: 'search', input: { q: 1 }, output: 'found', opaque }
    const model = scriptedModel([
      [search, { error: { code: 'overloaded' } }],
      [search, { text: 'There.' }],
    ])
    const run = agent({ model, retry: { baseMs: 0 } }).stream('go')
    const emitted = of(await collect(run), 'provider-tool')
    expect(emitted).toMatchObject([
      { name: 'search', output: 'found' },
      { name: 'search', output: 'found' },
    ])
    expect((await run.result).messages.at(-1)?.content).toMatchObject([
      { type: 'provider-tool', name: 'search', input: { q: 1 }, output: 'found', opaque },
      { type: 'text', text: 'There.' },
    ])
  })

  test('the settings of a run override those of the agent, and objects are merged', async () => {
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

  test('strict is sent to the model only if the tool sets it', async () => {
    const tools = [undefined, true, false].map((strict, index) =>
      tool({ name: `t${index}`, description: 'd', input: z.object({}), run: () => '', strict }),
    )
    const model = scriptedModel(['hello'])
    await agent({ model, tools }).run('go')
    expect(model.requests[0]?.tools.map(({ strict }) => strict)).toEqual([undefined, true, false])
    expect(model.requests[0]?.tools[0]).not.toHaveProperty('strict')
  })
})

describe('onToolError: fail', () => {
  test('ends the run at the first failed call, with a result for every call', async () => {
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

  test('keeps the usage of the interrupted round', async () => {
    const model = scriptedModel([
      [{ call: 'echo', raw: '{"va', cut: true }, { usage: { outputTokens: 9 } }, { finish: 'length' }],
    ])
    const run = agent({ model, tools: [echo], onToolError: 'fail' }).stream('go')
    const events = await collect(run)
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'tool_failed' },
      usage: { outputTokens: 9 },
    })
    expect(of(events, 'round-end')).toMatchObject([{ finish: 'length', usage: { outputTokens: 9 } }])
    expect(events.at(-1)).toMatchObject({ usage: { outputTokens: 9 } })
  })

  test('ends the run at a timeout', async () => {
    const clock = fakeClock()
    const stuck = gate()
    const model = scriptedModel(script.tool('gate', {}, 'Not reached.'))
    const run = agent({ model, tools: [stuck.tool], clock, toolTimeoutMs: 700, onToolError: 'fail' }).stream(
      'go',
    )
    const result = await clock.until(run.result)
    expect(clock.now()).toBe(700)
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'tool_failed' } })
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ status: 'timeout' }])
    expect((await stuck.started).aborted).toBe(true)
    expect(model.requests).toHaveLength(1)
  })
})

describe('defaults', () => {
  test('ten rounds run tools', async () => {
    const model = scriptedModel((_, index) => [{ call: 'echo', input: { value: `${index}` } }])
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'max-rounds', rounds: 11 })
    expect(of(await collect(run), 'tool-start')).toHaveLength(10)
  })

  test('a model reads 50,000 characters of a result', async () => {
    const long = (length: number) =>
      tool({ name: `long${length}`, description: 'Long', input: z.object({}), run: () => 'x'.repeat(length) })
    const model = scriptedModel(
      script.parallel(
        [
          ['long50000', {}],
          ['long50001', {}],
        ],
        'Done.',
      ),
    )
    const run = agent({ model, tools: [long(50_000), long(50_001)] }).stream('go')
    const results = of(await collect(run), 'tool-result')
    expect(results.map(({ shown }) => shown !== undefined)).toEqual([false, true])
  })

  test('eight calls run at once', async () => {
    const clock = fakeClock()
    const stuck = gate()
    const model = scriptedModel([Array.from({ length: 12 }, () => ({ call: 'gate' })), 'Done.'])
    const run = agent({ model, tools: [stuck.tool], clock }).stream('go')
    await clock.advance(10)
    expect(stuck.runs).toBe(8)
    stuck.open('ok')
    await clock.until(run.result)
    expect(stuck.runs).toBe(12)
  })
})
