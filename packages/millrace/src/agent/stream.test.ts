import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, failOnUnhandledRejections, gate, of, pairs, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

test('stream() starts the run, and its first event is there without waiting for the model', async () => {
  const run = agent({ model: scriptedModel(script.hanging()) }).stream('hi')
  const { value } = await run[Symbol.asyncIterator]().next()
  expect(value).toMatchObject({ type: 'run-start', input: [{ role: 'user', content: 'hi' }] })
  run.cancel()
})

test('a run continues without a reader', async () => {
  const model = scriptedModel(script.text('done'))
  const { result } = agent({ model }).stream('hi')
  expect(await result).toMatchObject({ outcome: 'completed', text: 'done', finish: 'stop' })
})

test('a reader that keeps up gets deltas in order as they are produced', async () => {
  const clock = fakeClock()
  const model = scriptedModel(script.text('abcdefgh'), { deltaChars: 3, paceMs: 10, clock })
  const run = agent({ model, clock }).stream('hi')
  const seen: [number, string][] = []
  const reading = (async () => {
    for await (const text of run.text()) seen.push([clock.now(), text])
  })()
  await clock.until(reading)
  expect(seen).toEqual([
    [10, 'abc'],
    [20, 'def'],
    [30, 'gh'],
  ])
})

test('the events of a two-round run with a tool, in full', async () => {
  const model = scriptedModel(
    [
      [
        { text: 'Looking.' },
        { call: 'echo', input: { value: 'x' } },
        { usage: { inputTokens: 10, outputTokens: 5 } },
      ],
      [
        { reasoning: 'hm', opaque: { provider: 'scripted', data: 'sig' } },
        { text: 'Found x.' },
        { usage: { inputTokens: 20, outputTokens: 4 } },
      ],
    ],
    { deltaChars: 100 },
  )
  const run = agent({ name: 'finder', model, tools: [echo] }).stream('find x')
  const events = await collect(run)
  const timeless = JSON.parse(
    JSON.stringify(events, (key, value) =>
      ['ms', 'overlapMs', 'firstEventMs', 'tokensPerSecond'].includes(key)
        ? undefined
        : key === 'runId'
          ? 'R'
          : value,
    ),
  )
  expect(timeless).toEqual([
    {
      type: 'run-start',
      version: 2,
      runId: 'R',
      agent: 'finder',
      input: [{ role: 'user', content: 'find x' }],
    },
    { type: 'round-start', round: 1, model: 'scripted' },
    { type: 'text', text: 'Looking.' },
    { type: 'tool-input-start', callId: 'call_1', name: 'echo' },
    { type: 'tool-input', callId: 'call_1', delta: '{"value":"x"}' },
    { type: 'tool-call', callId: 'call_1', name: 'echo', input: { value: 'x' } },
    { type: 'tool-start', callId: 'call_1', name: 'echo', attempt: 1 },
    {
      type: 'round-end',
      round: 1,
      model: 'scripted',
      finish: 'tool-calls',
      usage: { inputTokens: 10, outputTokens: 5 },
      context: { tokens: 15, system: 0, tools: 11, history: 4, results: 0 },
      timings: {},
    },
    {
      type: 'tool-result',
      callId: 'call_1',
      name: 'echo',
      output: [{ type: 'text', text: 'x' }],
      status: 'ok',
      isError: false,
    },
    { type: 'round-start', round: 2, model: 'scripted' },
    { type: 'reasoning', text: 'hm' },
    { type: 'part-end', part: 'reasoning', opaque: { provider: 'scripted', data: 'sig' } },
    { type: 'text', text: 'Found x.' },
    {
      type: 'round-end',
      round: 2,
      model: 'scripted',
      finish: 'stop',
      usage: { inputTokens: 20, outputTokens: 4 },
      context: { tokens: 24, system: 0, tools: 15, history: 8, results: 1 },
      timings: {},
    },
    {
      type: 'run-end',
      outcome: 'completed',
      finish: 'stop',
      usage: {
        inputTokens: 30,
        outputTokens: 9,
        reasoningTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      },
    },
  ])
  expect(await run.result).toMatchObject({
    text: 'Found x.',
    rounds: 2,
    usage: { inputTokens: 30, outputTokens: 9 },
    messages: [
      { role: 'user', content: 'find x' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', callId: 'call_1', name: 'echo', input: { value: 'x' } },
        ],
      },
      { role: 'tool', callId: 'call_1', name: 'echo', content: [{ type: 'text', text: 'x' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', opaque: { provider: 'scripted', data: 'sig' } },
          { type: 'text', text: 'Found x.' },
        ],
      },
    ],
  })
})

test('what a reader sees does not depend on when it starts reading', async () => {
  const model = scriptedModel(
    [[{ text: 'one two three' }, { call: 'echo', input: { value: 'long enough to be cut' } }], 'the end'],
    { deltaChars: 2 },
  )
  const run = agent({ model, tools: [echo] }).stream('go')
  const live = await collect(run)
  const late = await collect(run)
  const joined = (events: typeof live) => {
    const text = of(events, 'text')
      .map((event) => event.text)
      .join('')
    const input = of(events, 'tool-input')
      .map((event) => event.delta)
      .join('')
    return {
      text,
      input,
      others: events.filter((event) => event.type !== 'text' && event.type !== 'tool-input'),
    }
  }
  expect(joined(late)).toEqual(joined(live))
  expect(live.length).toBeGreaterThan(late.length)
})

test('a tool starts when its call closes, while the model is still generating', async () => {
  const clock = fakeClock()
  const slow = gate()
  const model = scriptedModel([[{ call: 'gate' }, { text: 'I keep talking meanwhile.' }], 'done'], {
    deltaChars: 5,
    paceMs: 10,
    clock,
  })
  const run = agent({ model, tools: [slow.tool], clock }).stream('go')
  const events = collect(run)
  await clock.advance(1000)
  slow.open('opened')
  await clock.until(events)
  const types = typesOf(await events)
  expect(types.indexOf('tool-start')).toBe(types.indexOf('tool-call') + 1)
  expect(types.indexOf('tool-start')).toBeLessThan(types.indexOf('text'))
  expect(types.indexOf('tool-result')).toBeGreaterThan(types.indexOf('round-end'))
})

test('a result reports how long the tool overlapped with the generation', async () => {
  const clock = fakeClock()
  const slow = gate()
  const model = scriptedModel([[{ call: 'gate' }, { pause: 300 }, { text: 'x' }], 'done'], { clock })
  const run = agent({ model, tools: [slow.tool], clock }).stream('go')
  await clock.advance(400)
  slow.open('opened')
  const [result] = of(await collect(run), 'tool-result')
  expect(result).toMatchObject({ ms: 400, overlapMs: 300 })
})

test('a round reports time to first event, duration and tokens per second', async () => {
  const clock = fakeClock()
  const model = scriptedModel(
    [[{ pause: 200 }, { text: 'ab' }, { pause: 500 }, { usage: { outputTokens: 10 } }]],
    { clock },
  )
  const run = agent({ model, clock }).stream('go')
  const [end] = of(await clock.until(collect(run)), 'round-end')
  expect(end?.timings).toEqual({ firstEventMs: 200, ms: 700, tokensPerSecond: 20 })
})

test("round 1's text is delivered before its tool has finished, and round 2 gets message and result", async () => {
  const slow = gate()
  const model = scriptedModel([[{ text: 'One moment.' }, { call: 'gate' }], 'Thanks.'])
  const run = agent({ model, tools: [slow.tool], system: 'Be kind.' }).stream('go')
  const words = run.text()[Symbol.asyncIterator]()
  expect((await words.next()).value).toBe('One moment.')
  await slow.started
  expect(model.requests).toHaveLength(1)
  slow.open('opened')
  await run.result
  expect(model.requests[1]?.messages).toEqual([
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'One moment.' },
        { type: 'tool-call', callId: 'call_1', name: 'gate', input: {} },
      ],
    },
    { role: 'tool', callId: 'call_1', name: 'gate', content: [{ type: 'text', text: 'opened' }] },
  ])
})

test('results are in the history in call order, whichever tool finishes first', async () => {
  const [a, b] = [gate('a'), gate('b')]
  const model = scriptedModel([[{ call: 'a' }, { call: 'b' }], 'done'])
  const run = agent({ model, tools: [a.tool, b.tool] }).stream('go')
  await Promise.all([a.started, b.started])
  b.open('B')
  await new Promise(setImmediate)
  a.open('A')
  const events = await collect(run)
  expect(of(events, 'tool-result').map((event) => event.name)).toEqual(['b', 'a'])
  expect(pairs(await run.result)).toEqual([
    ['call_1', 'A'],
    ['call_2', 'B'],
  ])
})

test('a failure is the last event and in the result; run() rejects with it', async () => {
  const failing = () =>
    agent({ model: scriptedModel(script.failing({ code: 'auth', message: 'bad key', status: 401 })) })
  const run = failing().stream('hi')
  expect((await collect(run)).at(-1)).toMatchObject({
    type: 'run-end',
    outcome: 'failed',
    error: { op: 'model.stream', code: 'auth', message: 'bad key', retryable: false, status: 401 },
  })
  expect((await run.result).error).toMatchObject({ name: 'MillraceError', code: 'auth', status: 401 })
  await expect(failing().run('hi')).rejects.toMatchObject({ code: 'auth' })
})

test('run() resolves to the result of a run that did not fail, also if it was canceled', async () => {
  const done = await agent({ model: scriptedModel(script.text('yes')) }).run('hi')
  expect(done).toMatchObject({ outcome: 'completed', text: 'yes' })
  const signal = AbortSignal.abort()
  expect(await agent({ model: scriptedModel(script.text('yes')) }).run('hi', { signal })).toMatchObject({
    outcome: 'canceled',
  })
})

test('100 parallel runs do not mix', async () => {
  const clock = fakeClock()
  const model = scriptedModel(
    ({ messages }) => {
      const asked = messages.find((message) => message.role === 'user')?.content as string
      return messages.some((message) => message.role === 'tool')
        ? `answer to ${asked}`
        : [{ call: 'echo', input: { value: asked } }]
    },
    { deltaChars: 3, paceMs: 1, clock },
  )
  const one = agent({ model, tools: [echo], clock })
  const runs = Array.from({ length: 100 }, (_, index) => one.stream(`question ${index}`))
  const results = await clock.until(Promise.all(runs.map((run) => run.result)))
  for (const [index, result] of results.entries()) {
    expect(result.text).toBe(`answer to question ${index}`)
    expect(pairs(result).map(([, text]) => text)).toEqual([`question ${index}`])
  }
  expect(new Set(results.map((result) => result.runId)).size).toBe(100)
})

test('a web stream has the events, and canceling it does not cancel the run', async () => {
  const run = agent({ model: scriptedModel(script.text('a longer answer than one delta')) }).stream('hi')
  const events = []
  for await (const event of run.toReadableStream()) events.push(event)
  expect(typesOf(events).at(-1)).toBe('run-end')

  const other = agent({ model: scriptedModel(script.text('yes')) }).stream('hi')
  await other.toReadableStream().cancel()
  expect(await other.result).toMatchObject({ outcome: 'completed' })
})

test('a reader that stops does not affect the run or other readers', async () => {
  const run = agent({ model: scriptedModel(script.text('a longer answer than one delta')) }).stream('hi')
  for await (const event of run) if (event.type === 'text') break
  expect((await collect(run)).at(-1)).toMatchObject({ type: 'run-end' })
})

test("a tool gets its call's ids, the caller's context, and a stable key", async () => {
  const seen: unknown[] = []
  const spy = tool({
    name: 'spy',
    description: 'Looks around',
    input: z.object({}),
    run: (_, { callId, runId, idempotencyKey, attempt, context, signal }) => {
      seen.push({ callId, runId, idempotencyKey, attempt, context, aborted: signal.aborted })
    },
  })
  const run = agent({ model: scriptedModel(script.tool('spy', {}, 'ok')), tools: [spy] }).stream('go', {
    context: { user: 7 },
  })
  await run.result
  expect(seen).toEqual([
    {
      callId: 'call_1',
      runId: run.id,
      idempotencyKey: `${run.id}:call_1`,
      attempt: 1,
      context: { user: 7 },
      aborted: false,
    },
  ])
})

describe('a reader that stops while it waits', () => {
  const waiting = () => agent({ model: scriptedModel(script.hanging()) }).stream('go')

  test.each(['text', 'partials'] as const)('%s() is closed at once', async (which) => {
    const run = waiting()
    const iterator = run[which]()[Symbol.asyncIterator]()
    const next = iterator.next()
    // Wait until it has read everything and really waits.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    run.cancel()
  })

  test('a web stream of the text can be canceled', async () => {
    const run = waiting()
    const from = (ReadableStream as unknown as { from(words: AsyncIterable<string>): ReadableStream<string> })
      .from
    const reader = from(run.text()).getReader()
    const read = reader.read()
    await new Promise((resolve) => setImmediate(resolve))
    await reader.cancel()
    expect(await read).toMatchObject({ done: true })
    await run.toReadableStream().cancel()
    run.cancel()
    expect((await run.result).outcome).toBe('canceled')
  })
})
