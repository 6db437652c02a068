import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Model } from '../protocol/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, gate, of, pairs, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'

test('a run is started by stream() itself and its first event is there without waiting for the model', async () => {
  const run = agent({ model: scriptedModel(script.hanging()) }).stream('hi')
  const { value } = await run[Symbol.asyncIterator]().next()
  expect(value).toMatchObject({ type: 'run-start', input: [{ role: 'user', content: 'hi' }] })
  run.cancel()
})

test('an unread run goes on by itself', async () => {
  const model = scriptedModel(script.text('done'))
  const { result } = agent({ model }).stream('hi')
  expect(await result).toMatchObject({ outcome: 'completed', text: 'done', finish: 'stop' })
})

test('deltas come in order as they are produced, to a reader that keeps up', async () => {
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
      version: 1,
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

test('what a reader sees does not depend on when it began to read', async () => {
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

test('a tool whose call closes first starts while the model is still talking', async () => {
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

test('the time a tool ran beside the model is told', async () => {
  const clock = fakeClock()
  const slow = gate()
  const model = scriptedModel([[{ call: 'gate' }, { pause: 300 }, { text: 'x' }], 'done'], { clock })
  const run = agent({ model, tools: [slow.tool], clock }).stream('go')
  await clock.advance(400)
  slow.open('opened')
  const [result] = of(await collect(run), 'tool-result')
  expect(result).toMatchObject({ ms: 400, overlapMs: 300 })
})

test('time to first event, duration and tokens per second of a round are told', async () => {
  const clock = fakeClock()
  const model = scriptedModel(
    [[{ pause: 200 }, { text: 'ab' }, { pause: 500 }, { usage: { outputTokens: 10 } }]],
    { clock },
  )
  const run = agent({ model, clock }).stream('go')
  const [end] = of(await clock.until(collect(run)), 'round-end')
  expect(end?.timings).toEqual({ firstEventMs: 200, ms: 700, tokensPerSecond: 20 })
})

test("round 1's words are delivered before its tool has finished, and round 2 is asked with message and result", async () => {
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

test('results enter the history in call order, whichever tool is first', async () => {
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

test('cancelling closes the stream with stream_interrupted as its last event', async () => {
  const run = agent({ model: scriptedModel(script.hanging('Half a')) }).stream('hi')
  const reader = run[Symbol.asyncIterator]()
  const seen = [await reader.next(), await reader.next(), await reader.next()]
  expect(seen.at(-1)?.value).toMatchObject({ type: 'text', text: 'Half a' })
  run.cancel('changed my mind')
  expect((await reader.next()).value).toMatchObject({ type: 'round-end', finish: 'interrupted' })
  expect((await reader.next()).value).toMatchObject({
    type: 'run-end',
    outcome: 'cancelled',
    error: { code: 'stream_interrupted', message: 'changed my mind' },
  })
  expect(await reader.next()).toEqual({ done: true, value: undefined })
  expect(await run.result).toMatchObject({
    outcome: 'cancelled',
    text: 'Half a',
    messages: [{}, { role: 'assistant', content: [{ text: 'Half a' }] }],
  })
})

test('cancel reaches the model and every tool, and does not wait for one that ignores it', async () => {
  const slow = gate()
  let modelSignal: AbortSignal | undefined
  const inner = scriptedModel([[{ call: 'gate' }, { hang: true }]])
  const model: Model = {
    ...inner,
    stream(request, options) {
      modelSignal = options.signal
      return inner.stream(request, options)
    },
  }
  const run = agent({ model, tools: [slow.tool] }).stream('go')
  const toolSignal = await slow.started
  run.cancel('enough')
  // No timer, no further turn: the end is in the log when cancel() returns.
  const late = collect(run)
  slow.open('too late')
  const events = await late
  expect([modelSignal?.aborted, toolSignal.aborted]).toEqual([true, true])
  expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
  expect(pairs(await run.result)).toEqual([['call_1', 'Not finished: enough.']])
  await new Promise(setImmediate)
  expect(await collect(run)).toEqual(events)
})

test("the caller's signal cancels, and a run that is over lets go of it", async () => {
  const controller = new AbortController()
  const one = agent({ model: scriptedModel(script.hanging()) })
  const run = one.stream('hi', { signal: controller.signal })
  controller.abort(new Error('page closed'))
  expect((await run.result).error).toMatchObject({ code: 'stream_interrupted', message: 'page closed' })
  const already = one.stream('hi', { signal: AbortSignal.abort() })
  expect(await already.result).toMatchObject({ outcome: 'cancelled', rounds: 0 })
})

test('cancelling a run that is over changes nothing', async () => {
  const run = agent({ model: scriptedModel(script.text('done')) }).stream('hi')
  await run.result
  run.cancel()
  expect((await collect(run)).at(-1)).toMatchObject({ outcome: 'completed' })
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

test('run() gives the result of a run that did not fail, also if it was cancelled', async () => {
  const done = await agent({ model: scriptedModel(script.text('yes')) }).run('hi')
  expect(done).toMatchObject({ outcome: 'completed', text: 'yes' })
  const signal = AbortSignal.abort()
  expect(await agent({ model: scriptedModel(script.text('yes')) }).run('hi', { signal })).toMatchObject({
    outcome: 'cancelled',
  })
})

test('a hundred runs at once do not mix', async () => {
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

test('steering reaches the next round, behind the results', async () => {
  const slow = gate()
  const model = scriptedModel([[{ call: 'gate' }], 'As you wish.'])
  const run = agent({ model, tools: [slow.tool] }).stream('go')
  await slow.started
  expect(run.steer('in French, please')).toBe(true)
  slow.open('opened')
  const { messages } = await run.result
  expect(model.requests[1]?.messages.slice(-2)).toMatchObject([
    { role: 'tool' },
    { role: 'user', content: 'in French, please' },
  ])
  expect(messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant'])
  expect(of(await collect(run), 'input')).toMatchObject([{ mode: 'steer' }])
})

test('a run that was about to end answers what was said to it meanwhile', async () => {
  const clock = fakeClock()
  const model = scriptedModel([[{ text: 'First.' }, { pause: 50 }], 'Second.'], { clock })
  const run = agent({ model, clock }).stream('go')
  await clock.advance(20)
  run.steer('and then?')
  expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed', text: 'Second.', rounds: 2 })
  expect(run.steer('too late')).toBe(false)
})

test('nonsense is not said to a run', () => {
  const run = agent({ model: scriptedModel(script.hanging()) }).stream('go')
  expect(() => run.steer('  ')).toThrow(/empty/)
  expect(() => run.steer({ role: 'assistant', content: [] } as never)).toThrow(/only a user message/)
  run.cancel()
})

test('a web stream gives the events, and cancelling it only stops the reading', async () => {
  const run = agent({ model: scriptedModel(script.text('a longer answer than one delta')) }).stream('hi')
  const events = []
  for await (const event of run.toReadableStream()) events.push(event)
  expect(typesOf(events).at(-1)).toBe('run-end')

  const other = agent({ model: scriptedModel(script.text('yes')) }).stream('hi')
  await other.toReadableStream().cancel()
  expect(await other.result).toMatchObject({ outcome: 'completed' })
})

test('a reader that leaves does not disturb the run or other readers', async () => {
  const run = agent({ model: scriptedModel(script.text('a longer answer than one delta')) }).stream('hi')
  for await (const event of run) if (event.type === 'text') break
  expect((await collect(run)).at(-1)).toMatchObject({ type: 'run-end' })
})

test("a tool is given its call's ids, the caller's context, and a key that does not change", async () => {
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

test('a tool can watch its arguments arrive', async () => {
  const seen: string[] = []
  const write = tool({
    name: 'write',
    description: 'Writes',
    input: z.object({ path: z.string(), text: z.string() }),
    onInput: (partial, { callId }) => seen.push(`${callId} ${JSON.stringify(partial)}`),
    run: () => 'written',
  })
  const model = scriptedModel(script.tool('write', { path: 'a', text: 'hello' }, 'ok'), { deltaChars: 8 })
  await agent({ model, tools: [write] }).run('go')
  expect(seen).toEqual([
    'call_1 {}',
    'call_1 {"path":"a"}',
    'call_1 {"path":"a","text":"hell"}',
    'call_1 {"path":"a","text":"hello"}',
  ])
})

test('a tool that fails while its arguments arrive is not run, and the model is told', async () => {
  const write = tool({
    name: 'write',
    description: 'Writes',
    input: z.object({ path: z.string() }),
    onInput: () => {
      throw new Error('no such display')
    },
    run: () => expect.unreachable(),
  })
  const result = await agent({
    model: scriptedModel(script.tool('write', { path: 'a' }, 'ok')),
    tools: [write],
  }).run('go')
  expect(pairs(result)[0]?.[1]).toMatch(/no such display/)
})
