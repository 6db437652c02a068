import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import { z } from 'zod'
import type { Clock, DoneEvent, Message, Model, ModelEvent, RunEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import type { ScriptRound, ScriptStep } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, gate, of, pairs, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions } from './options.ts'

// Each of these was a defect once, or a change to the code that no test noticed.

/** A model that says exactly these events, whatever a model may say. */
function rawModel(
  stream: (index: number, signal: AbortSignal) => unknown,
  { id = 'raw', ...capabilities }: { id?: string; tools?: boolean } = {},
): Model & { signals: AbortSignal[] } {
  const signals: AbortSignal[] = []
  return {
    ...scriptedModel([], { id, capabilities }),
    signals,
    stream(_, { signal }) {
      signals.push(signal)
      return stream(signals.length - 1, signal) as AsyncIterable<ModelEvent>
    },
  }
}

async function* saying(...events: unknown[]) {
  for (const event of events) yield event
}

const text = { type: 'text', text: 'Hi.' } as const
const done: DoneEvent = { type: 'done', finish: 'stop' }
const callOf = (callId: string, input: object = { value: callId }, name = 'echo') => ({
  type: 'tool-call',
  callId,
  name,
  input,
})

/** A clock that knows how many of its timers have neither fired nor been called off. */
function countingClock() {
  const clock = fakeClock()
  const pending = new Set<object>()
  const after: Clock['after'] = (ms, callback) => {
    const timer = {}
    pending.add(timer)
    const cancel = clock.after(ms, () => {
      pending.delete(timer)
      callback()
    })
    return () => {
      pending.delete(timer)
      cancel()
    }
  }
  return { ...clock, after, pending }
}

const rejections: unknown[] = []
const onRejection = (reason: unknown) => void rejections.push(reason)
beforeEach(() => {
  rejections.length = 0
  process.on('unhandledRejection', onRejection)
})
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', onRejection)
  vi.restoreAllMocks()
  expect(rejections).toEqual([])
})

const refund = tool({
  name: 'refund',
  description: 'Pays back',
  input: z.object({ amount: z.number() }),
  approve: true,
  run: ({ amount }) => `refunded ${amount}`,
})

describe('call ids', () => {
  test('a slash in the id of a call is the model’s own affair: the call runs and has its result', async () => {
    const model = scriptedModel([[{ call: 'echo', input: { value: 'x' }, id: 'functions/echo:0' }], 'Done.'])
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed' })
    expect(pairs(await run.result)).toEqual([['functions_echo:0', 'x']])
  })

  test('a call with a slash in its id can wait for a person', async () => {
    const model = scriptedModel([[{ call: 'refund', input: { amount: 5 }, id: 'a/b' }], 'Done.'])
    const first = agent({ model, tools: [refund] }).stream('go')
    const { outcome, approvals } = await first.result
    expect(outcome).toBe('suspended')
    const result = await first.resume({ callId: approvals[0]?.callId as string, approved: true }).result
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(pairs(result)).toEqual([['a_b', 'refunded 5']])
  })

  test('a slash in front of a sub-agent that asks does not hide what it asks', async () => {
    const clerk = agent({
      name: 'clerk',
      model: scriptedModel([[{ call: 'refund', input: { amount: 5 }, id: 'c/d' }], 'Settled.']),
      tools: [refund],
    })
    const model = scriptedModel([[{ call: 'clerk', input: { prompt: 'x' }, id: 'a/b' }], 'Done.'])
    const first = agent({ model, tools: [clerk.asTool({ description: 'Refunds' })] }).stream('go')
    const { outcome, approvals } = await first.result
    expect({ outcome, ids: approvals.map(({ callId }) => callId) }).toEqual({
      outcome: 'suspended',
      ids: ['a_b/c_d'],
    })
    const result = await first.resume({ callId: 'a_b/c_d', approved: true }).result
    expect(result.outcome).toBe('completed')
    expect(pairs(result)).toEqual([['a_b', 'Settled.']])
  })

  test('a call that is repeated word for word in one round runs once', async () => {
    const model = rawModel((index) =>
      index === 0 ? saying(callOf('a'), callOf('a'), callOf('b'), callOf('a'), done) : saying(done),
    )
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(of(await collect(run), 'tool-start').map(({ callId }) => callId)).toEqual(['a', 'b'])
    expect(pairs(await run.result)).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ])
  })

  test('two calls that only share their id both run, and so do two without any id', async () => {
    const model = rawModel((index) =>
      index === 0
        ? saying(
            callOf('a', { value: '1' }),
            callOf('a', { value: '2' }),
            callOf('', { value: '3' }),
            callOf('', { value: '3' }),
            done,
          )
        : saying(done),
    )
    expect(pairs(await agent({ model, tools: [echo] }).stream('go').result).map(([, text]) => text)).toEqual([
      '1',
      '2',
      '3',
      '3',
    ])
  })

  test('the same id and input announced anew is a second call', async () => {
    const start = { type: 'tool-input-start', callId: 'a', name: 'echo' }
    const model = rawModel((index) =>
      index === 0 ? saying(start, callOf('a'), start, callOf('a'), done) : saying(done),
    )
    expect(pairs(await agent({ model, tools: [echo] }).stream('go').result)).toEqual([
      ['a', 'a'],
      ['a_2', 'a'],
    ])
  })

  test('the id of a call that came to nothing is not used again', async () => {
    const model = scriptedModel([
      [{ call: 'echo', raw: '{"val', cut: true, id: 'a' }, { error: { code: 'stream_error' } }],
      [{ call: 'echo', input: { value: 'x' }, id: 'a' }],
      'Done.',
    ])
    const clock = fakeClock()
    const run = agent({ model, tools: [echo], clock }).stream('go')
    const result = await clock.until(run.result)
    expect(pairs(result)).toEqual([['a_2', 'x']])
    const ids = of(await collect(run), 'tool-input-start').map(({ callId }) => callId)
    expect(ids).toEqual(['a', 'a_2'])
  })

  test('a call begun in a round that was interrupted does not come back in the next', async () => {
    const model = scriptedModel([
      [
        { call: 'echo', input: { value: 'x' } },
        { call: 'echo', raw: '{"va', cut: true },
        { error: { code: 'stream_error' } },
      ],
      'Done.',
    ])
    const clock = fakeClock()
    const run = agent({ model, tools: [echo], clock }).stream('go')
    const result = await clock.until(run.result)
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.', rounds: 2 })
    expect(pairs(result)).toEqual([['call_1', 'x']])
    expect(of(await collect(run), 'tool-call')).toHaveLength(1)
  })
})

describe('what never waits', () => {
  // Real time: whether timers get their turn is the very question.
  async function* babble(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    while (!signal.aborted) yield { type: 'text', text: 'x' }
  }

  test('a model is stopped by a cancel from a timer', async () => {
    const model = rawModel((_, signal) => babble(signal))
    const run = agent({ model }).stream('go')
    setTimeout(() => run.cancel('enough'), 0)
    expect(await run.result).toMatchObject({ outcome: 'cancelled', error: { message: 'enough' } })
    expect(model.signals[0]?.aborted).toBe(true)
  })

  test('a model is stopped by the time limit of the run', async () => {
    const model = rawModel((_, signal) => babble(signal))
    const run = agent({ model, runMs: 1 }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
    expect(model.signals[0]?.aborted).toBe(true)
  })

  test('a tool that yields without end is stopped by its time limit', async () => {
    let closed = false
    const endless = tool({
      name: 'endless',
      description: 'Yields',
      input: z.object({}),
      timeoutMs: 1,
      async *run() {
        try {
          for (;;) yield 1
        } finally {
          closed = true
        }
      },
    })
    const run = agent({ model: scriptedModel(script.tool('endless', {}, 'Done.')), tools: [endless] }).stream(
      'go',
    )
    expect(pairs(await run.result)).toEqual([
      ['call_1', 'The tool did not finish within 1 ms and was stopped.'],
    ])
    expect(closed).toBe(true)
  })

  test('a tool that yields without end and without awaiting is stopped too', async () => {
    const endless = tool({
      name: 'endless',
      description: 'Yields',
      input: z.object({}),
      timeoutMs: 1,
      *run() {
        for (;;) yield 1
      },
    })
    const run = agent({ model: scriptedModel(script.tool('endless', {}, 'Done.')), tools: [endless] }).stream(
      'go',
    )
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ status: 'timeout' }])
  })
})

describe('a model that does not keep to the protocol', () => {
  const once = { retry: { attempts: 1 } }

  test.each<[string, unknown, RegExp]>([
    ['text that is a number', { type: 'text', text: 5 }, /sent text that is no text/],
    ['text that is missing', { type: 'text' }, /sent text that is no text/],
    ['reasoning that is null', { type: 'reasoning', text: null }, /sent reasoning that is no text/],
    ['a call without an id', { type: 'tool-input-start', name: 'echo' }, /began a call without an id/],
    ['input that is text', { ...callOf('a'), input: '{}' }, /an input that is no object/],
    ['input that is missing', { type: 'tool-call', callId: 'a', name: 'echo' }, /an input that is no object/],
    ['input that is a list', { ...callOf('a'), input: [] }, /an input that is no object/],
    ['an unknown type', { type: 'hello' }, /an event of unknown type 'hello'/],
    ['null', null, /the model 'raw' sent null for an event/],
    ['undefined', undefined, /the model 'raw' sent undefined for an event/],
    ['a string', 'hi', /the model 'raw' sent hi for an event/],
  ])('is told so: %s', async (_, event, message) => {
    const model = rawModel(() => saying(event, done))
    const { outcome, error } = await agent({ model, tools: [echo], ...once }).stream('go').result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'llm_error', message: expect.stringMatching(message) })
  })

  test('is told so: a delta of arguments that is no text', async () => {
    const model = rawModel(() =>
      saying(
        { type: 'tool-input-start', callId: 'a', name: 'echo' },
        { type: 'tool-input', callId: 'a', delta: { value: 1 } },
        done,
      ),
    )
    const { error } = await agent({ model, tools: [echo], ...once }).stream('go').result
    expect(error).toMatchObject({ code: 'llm_error', message: 'the model sent arguments that are no text' })
  })

  test.each<[string, () => unknown]>([
    ['a promise', () => Promise.resolve(saying(done))],
    ['a list', () => [done]],
    ['nothing', () => undefined],
    ['null', () => null],
  ])('is told what stream() must return, not %s', async (_, stream) => {
    const { outcome, error } = await agent({ model: rawModel(stream), ...once }).stream('go').result
    expect({ outcome, code: error?.code, message: error?.message }).toEqual({
      outcome: 'failed',
      code: 'llm_error',
      message: "stream() of the model 'raw' must return an async iterable, as async *stream() does",
    })
  })

  test('is closed when what it said is refused', async () => {
    let closed = false
    async function* bad() {
      try {
        yield { type: 'hello' }
        yield done
      } finally {
        closed = true
      }
    }
    const model = rawModel(bad)
    await agent({ model, ...once }).stream('go').result
    expect(closed).toBe(true)
    expect(model.signals[0]?.aborted).toBe(true)
  })

  test('is closed when it is done, though it would go on', async () => {
    let closed = false
    async function* more() {
      try {
        yield { type: 'text', text: 'in time' }
        yield done
        yield { type: 'text', text: 'late' }
      } finally {
        closed = true
      }
    }
    const run = agent({ model: rawModel(more) }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'in time' })
    expect(closed).toBe(true)
  })

  test('and reports nonsense for its usage has spent nothing', async () => {
    const usage = {
      inputTokens: Number.NaN,
      outputTokens: 'many',
      reasoningTokens: Number.POSITIVE_INFINITY,
      cacheReadTokens: null,
      cacheWriteTokens: 3,
    }
    const run = agent({ model: rawModel(() => saying(text, { ...done, usage })) }).stream('go')
    expect((await run.result).usage).toEqual({ ...noUsage, cacheWriteTokens: 3 })
    expect(of(await collect(run), 'round-end')[0]?.usage).toEqual({ cacheWriteTokens: 3 })
  })

  test('and throws what only looks like our error ends the run like any other', async () => {
    const fake = Object.assign(new Error('bad key'), { name: 'MillraceError', code: 'auth', op: 'x' })
    const model = rawModel(() => {
      throw fake
    })
    const run = agent({ model, ...once }).stream('go')
    const events = await collect(run)
    expect(events.at(-1)).toMatchObject({
      type: 'run-end',
      outcome: 'failed',
      error: { code: 'auth', message: 'bad key' },
    })
    expect((await run.result).error?.cause).toBe(fake)
  })

  test('nor does such an error from prepareRound or a tool leave the run hanging', async () => {
    const fake = () => {
      throw Object.assign(new Error('odd'), { name: 'MillraceError', code: 'auth', op: 'x' })
    }
    const model = () => scriptedModel(script.tool('bad', {}, 'Done.'))
    const bad = tool({ name: 'bad', description: 'Throws', input: z.object({}), run: fake })
    expect(await agent({ model: model(), prepareRound: fake }).stream('go').result).toMatchObject({
      outcome: 'failed',
      error: { code: 'hook_failed' },
    })
    expect(await agent({ model: model(), tools: [bad] }).stream('go').result).toMatchObject({
      outcome: 'completed',
    })
    expect(
      await agent({ model: model(), tools: [bad], onToolError: 'fail' }).stream('go').result,
    ).toMatchObject({ outcome: 'failed', error: { code: 'tool_failed' } })
  })
})

describe('onInput', () => {
  const watching = (onInput: () => unknown, more: object = {}) => {
    const write = tool({
      name: 'write',
      description: 'Writes',
      input: z.object({ text: z.string() }),
      onInput: onInput as () => void,
      run: () => 'written',
    })
    const model = scriptedModel(script.tool('write', { text: 'hello you' }, 'Done.'), { deltaChars: 3 })
    return agent({ model, tools: [write], ...more })
  }

  test('that rejects later answers the call as failed', async () => {
    const run = watching(() => Promise.reject(new Error('disk full'))).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([
      {
        status: 'failed',
        output: [{ text: 'The tool failed while its arguments arrived: disk full' }],
      },
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed' })
  })

  test('is not called for a call that will be refused anyway', async () => {
    const onInput = vi.fn()
    await watching(onInput, { maxRounds: 0 }).stream('go').result
    await watching(onInput).plan('go').result
    expect(onInput).not.toHaveBeenCalled()
    await watching(onInput).stream('go').result
    expect(onInput).toHaveBeenCalled()
  })
})

describe('resuming', () => {
  const desk = (more: Partial<AgentOptions> = {}) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : [{ call: 'refund', input: { amount: 5 } }],
    )
    return { model, desk: agent({ model, tools: [refund], ...more } as { model: Model; tools: Tool[] }) }
  }
  const yes = { callId: 'call_1', approved: true }

  test('a run does not listen to the signal of the one before it', async () => {
    const request = new AbortController()
    const first = desk().desk.stream('go', { signal: request.signal })
    await first.result
    request.abort()
    expect(await first.resume(yes).result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })

  test('a run takes options of its own, and keeps the others', async () => {
    const contexts: unknown[] = []
    const { desk: one, model } = desk({ beforeCall: ({ context }) => void contexts.push(context) })
    const first = one.stream('go', { context: 'mine', settings: { temperature: 0.5 }, maxRounds: 5 })
    await first.result
    const request = new AbortController()
    const second = first.resume(yes, { settings: { seed: 7 }, signal: request.signal })
    await second.result
    expect(contexts).toEqual(['mine'])
    expect(model.requests[1]?.settings).toEqual({ seed: 7 })
    const aborted = AbortSignal.abort('too late')
    const again = desk().desk.stream('go')
    await again.result
    expect(await again.resume(yes, { signal: aborted }).result).toMatchObject({
      outcome: 'cancelled',
      error: { message: 'too late' },
    })
    const third = desk().desk.stream('go')
    await third.result
    expect(() => third.resume(yes, { maxRound: 1 } as never)).toThrow(/did you mean 'maxRounds'/)
    expect((await third.resume(yes).result).outcome).toBe('completed')
  })

  test('the second half of two runs is refused without the first', async () => {
    const { desk: one } = desk()
    const first = one.stream('go')
    const before = await collect(first)
    const after = await collect(first.resume(yes))
    expect(() => one.resume(after.slice(0, -1))).toThrow(/put the events of that run before them/)
    expect(await one.resume([...before, ...after.slice(0, -1)]).result).toMatchObject({
      outcome: 'completed',
    })
  })

  const start = {
    type: 'run-start',
    version: 1,
    runId: 'R',
    agent: 'a',
    input: [{ role: 'user', content: 'x' }],
  }
  test.each<[string, unknown, unknown, RegExp]>([
    ['a run-start without input', [{ ...start, input: [] }], {}, /has no input/],
    ['a run-start whose input is missing', [{ ...start, input: undefined }], {}, /has no input/],
    ['an event that is null', [start, null], {}, /events\[1\] is not an event: null/],
    ['an event without a type', [start, {}], {}, /events\[1\] is not an event/],
    ['options that are null', [start], null, /options of a run must be an object, not null/],
    ['decisions that are null', [start], { decisions: null }, /decisions must be an array/],
  ])('%s is refused', (_, events, options, message) => {
    const model = scriptedModel([])
    expect(() => agent({ model }).resume(events as never, options as never)).toThrow(message)
    expect(model.requests).toEqual([])
  })

  test('a call that is run again after a crash is run with what it ran with, whatever the hook would say now', async () => {
    const inputs: unknown[] = []
    const hooked: unknown[] = []
    const again = tool({
      name: 'again',
      description: 'May be repeated',
      input: z.object({ value: z.string() }),
      repeat: 'safe',
      run: ({ value }, { attempt }) => void inputs.push([attempt, value]),
    })
    const make = (stamp: string) =>
      agent({
        model: scriptedModel(({ messages }) =>
          messages.some(({ role }) => role === 'tool') ? 'Done.' : [{ call: 'again', input: { value: 'x' } }],
        ),
        tools: [again],
        beforeCall: ({ input }) => {
          hooked.push(stamp)
          return { input: { value: `${input.value} ${stamp}` } }
        },
      })
    const events = await collect(make('before').stream('go'))
    const started = events.findIndex(({ type }) => type === 'tool-start')
    await make('after').resume(events.slice(0, started + 1)).result
    expect(inputs).toEqual([
      [1, 'x before'],
      [2, 'x before'],
    ])
    expect(hooked).toEqual(['before'])
  })

  test('a tool that prepareRound gave is there again for the call that waited', async () => {
    const model = scriptedModel([[{ call: 'refund', input: { amount: 5 } }], 'Done.'])
    const first = agent({ model, prepareRound: () => ({ tools: [refund] }) }).stream('go')
    expect(await first.result).toMatchObject({ outcome: 'suspended' })
    const result = await first.resume({ callId: 'call_1', approved: true }).result
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(pairs(result)).toEqual([['call_1', 'refunded 5']])
  })
})

describe('what is handed out', () => {
  test('may be changed by hooks and tools without changing log, history or what was validated', async () => {
    const spoil = (value: object) => {
      for (const key of Object.keys(value)) Reflect.set(value, key, { spoilt: true })
      Reflect.set(value, 'added', true)
    }
    const given: unknown[] = []
    const loose = tool({
      name: 'loose',
      description: 'Takes anything',
      input: { jsonSchema: { type: 'object', properties: { list: { type: 'array' } } } },
      run: (input) => {
        given.push(structuredClone(input))
        spoil(input as object)
        return 'ok'
      },
    })
    const seen: unknown[] = []
    const model = scriptedModel(script.tool('loose', { list: [1], text: 'x' }, 'Done.'))
    const run = agent({
      model,
      tools: [loose],
      beforeCall: ({ input }) => {
        seen.push(structuredClone(input))
        spoil(input)
        spoil(input)
      },
      afterCall: ({ input }) => {
        seen.push(structuredClone(input))
        spoil(input)
      },
    }).stream('go')
    const events = await collect(run)
    const written = { list: [1], text: 'x' }
    expect(given).toEqual([written])
    expect(seen).toEqual([written, written])
    expect(of(events, 'tool-call')).toMatchObject([{ input: written }])
    expect(of(events, 'tool-call')[0]?.input).not.toHaveProperty('added')
    expect(of(events, 'tool-start')[0]).not.toHaveProperty('input')
    const sent = model.requests[1]?.messages.find(({ role }) => role === 'assistant') as Message
    expect(sent.content).toMatchObject([{ type: 'tool-call', input: written }])
  })

  test('a hook cannot pass a bad input by changing what it was shown', async () => {
    const run = agent({
      model: scriptedModel(script.tool('echo', { value: 'x' }, 'Done.')),
      tools: [echo],
      beforeCall: ({ input }) => {
        Reflect.set(input, 'value', 5)
      },
    }).stream('go')
    expect(pairs(await run.result)).toEqual([['call_1', 'x']])
  })

  test('what afterCall is shown of a result is not the result', async () => {
    const run = agent({
      model: scriptedModel(script.tool('data', {}, 'Done.')),
      tools: [
        tool({ name: 'data', description: 'Data', input: z.object({}), run: () => ({ deep: { n: 1 } }) }),
      ],
      afterCall: (_, { output }) => {
        const [part] = output
        if (part?.type === 'json') Reflect.set(part.value as object, 'deep', 'spoilt')
      },
    }).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ output: [{ value: { deep: { n: 1 } } }] }])
  })

  test('a tool may go on changing what it returned', async () => {
    const kept = { n: 1 }
    const run = agent({
      model: scriptedModel(script.tool('data', {}, 'Done.')),
      tools: [tool({ name: 'data', description: 'Data', input: z.object({}), run: () => kept })],
      afterCall: () => {
        kept.n = 2
      },
    }).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ output: [{ value: { n: 1 } }] }])
  })
})

describe('a reader that leaves while it waits', () => {
  const waiting = () => agent({ model: scriptedModel(script.hanging()) }).stream('go')

  test.each(['text', 'partials'] as const)('%s() is closed at once', async (which) => {
    const run = waiting()
    const iterator = run[which]()[Symbol.asyncIterator]()
    const next = iterator.next()
    // Until it has read what there is, and really waits.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    run.cancel()
  })

  test('a web stream of the words can be cancelled', async () => {
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
    expect((await run.result).outcome).toBe('cancelled')
  })
})

describe('a sub-agent', () => {
  const boss = (
    inner: Model,
    more: object = {},
    outer: readonly ScriptRound[] = script.tool('clerk', { prompt: 'x' }, 'Done.'),
  ) =>
    agent({
      model: scriptedModel(outer),
      tools: [
        agent({ name: 'clerk', model: inner, tools: [echo], ...more }).asTool({ description: 'Helps' }),
      ],
    })

  test.each<[string, readonly ScriptRound[], object]>([
    ['max-rounds', [[{ text: 'Half' }, { call: 'echo', input: { value: 'x' } }]], { maxRounds: 0 }],
    ['truncated', [[{ text: 'Half' }, { finish: 'length' }]], {}],
  ])('that ends as %s is an error for its caller, with what there is', async (outcome, rounds, more) => {
    const run = boss(scriptedModel(rounds), more).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([
      {
        status: 'failed',
        isError: true,
        output: [
          { text: `The tool failed: the agent 'clerk' did not finish (${outcome}); it got as far as: Half` },
        ],
      },
    ])
  })

  test('tells its own end before the call is answered when its caller is cancelled', async () => {
    const run = boss(scriptedModel(script.hanging('Working'))).stream('go')
    for await (const event of run) if (event.type === 'tool-progress' && event.event?.type === 'text') break
    run.cancel('enough')
    const events = await collect(run)
    const at = (find: (event: RunEvent) => boolean) => events.findIndex(find)
    const innerEnd = at((event) => event.type === 'tool-progress' && event.event?.type === 'run-end')
    expect(events[innerEnd]).toMatchObject({ event: { outcome: 'cancelled' } })
    expect(innerEnd).toBeGreaterThan(0)
    expect(at(({ type }) => type === 'tool-result')).toBeGreaterThan(innerEnd)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
  })

  test("has its caller's context and stops with its caller's signal", async () => {
    const contexts: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({}),
      run: (_, { context }: { context: { user: string } }) => void contexts.push(context),
    })
    const inner = rawModel((index, signal) =>
      index === 0
        ? saying(callOf('a', {}, 'look'), { ...done, finish: 'tool-calls' })
        : scriptedModel(script.hanging('x')).stream({ messages: [], tools: [], settings: {} }, { signal }),
    )
    const clerk = agent({ name: 'clerk', model: inner, tools: [look] })
    const caller = agent({
      model: scriptedModel(script.tool('clerk', { prompt: 'x' }, 'Done.')),
      tools: [clerk.asTool({ description: 'Helps' })],
    })
    const request = new AbortController()
    const context = { user: 'ada' }
    const run = caller.stream('go', { context, signal: request.signal })
    for await (const event of run) if (event.type === 'tool-progress' && event.event?.type === 'text') break
    expect(contexts).toEqual([context])
    expect(contexts[0]).toBe(context)
    request.abort()
    await run.result
    expect(inner.signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })
})

describe('steering', () => {
  /** Says something while the first round is being told. */
  const steered = (first: readonly ScriptStep[], more: Partial<AgentOptions> = {}) => {
    const model = scriptedModel((_, index) => {
      if (index > 0) return 'I heard you.'
      run.steer('and in French')
      return first
    })
    const run = agent({ model, tools: [echo], ...more } as { model: Model; tools: Tool[] }).stream('go')
    return { run, model }
  }

  test.each<[string, readonly ScriptStep[], Partial<AgentOptions>]>([
    ['words', [{ text: 'Hi' }], {}],
    ['words that were cut off', [{ text: 'Hi' }, { finish: 'length' }], {}],
    ['calls that were cut off', [{ call: 'echo', raw: '{"va', cut: true }, { finish: 'length' }], {}],
    ['calls in a round cut off', [{ call: 'echo', input: { value: 'x' } }, { finish: 'length' }], {}],
    ['the last round that there may be', [{ call: 'echo', input: { value: 'x' } }], { maxRounds: 0 }],
  ])('is heard after %s', async (_, first, more) => {
    const { run, model } = steered(first, more)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'I heard you.', rounds: 2 })
    expect(model.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'and in French' })
  })

  test('while the structured answer is being checked leads to another round', async () => {
    const checking = Promise.withResolvers<void>()
    const checked = Promise.withResolvers<void>()
    const output = z.object({ n: z.number() }).refine(async () => {
      checking.resolve()
      await checked.promise
      return true
    })
    const model = scriptedModel(['{"n":1}', '{"n":2}'])
    const run = agent({ model, output }).stream('go')
    await checking.promise
    expect(run.steer('two, please')).toBe(true)
    checked.resolve()
    expect(await run.result).toMatchObject({ outcome: 'completed', output: { n: 2 }, rounds: 2 })
  })
})

describe('plan', () => {
  const planning = (approve: unknown, more: Partial<AgentOptions> = {}) => {
    const careful = tool({
      name: 'careful',
      description: 'Careful',
      input: z.object({ n: z.number() }),
      approve: approve as () => boolean,
      run: () => 'ran',
    })
    return agent({
      model: scriptedModel([[{ call: 'careful', input: { n: 1 } }]]),
      ...(more.prepareRound ? {} : { tools: [careful] }),
      ...(more.prepareRound && { prepareRound: () => ({ tools: [careful] }) }),
      ...(more.beforeCall && { beforeCall: more.beforeCall }),
    }).plan('go').result
  }

  test.each<[string, unknown, boolean]>([
    ['true', () => true, true],
    ['a reason', () => 'because', true],
    ['an empty reason', () => '', true],
    ['false', () => false, false],
    ['nothing', () => undefined, false],
    ['nothing, later', async () => undefined, false],
  ])('reads an approve that answers %s as a run does', async (_, approve, needsApproval) => {
    expect((await planning(approve)).calls).toEqual([
      { callId: 'call_1', name: 'careful', input: { n: 1 }, needsApproval },
    ])
    const careful = tool({
      name: 'careful',
      description: 'Careful',
      input: z.object({ n: z.number() }),
      approve: approve as () => boolean,
      run: () => 'ran',
    })
    const model = scriptedModel(script.tool('careful', { n: 1 }, 'Done.'))
    const { outcome } = await agent({ model, tools: [careful] }).stream('go').result
    expect(outcome).toBe(needsApproval ? 'suspended' : 'completed')
  })

  test.each([
    [
      'at once',
      () => {
        throw new Error('no idea')
      },
    ],
    ['later', () => Promise.reject(new Error('no idea'))],
  ])('tells that approve threw %s', async (_, approve) => {
    expect((await planning(approve)).calls).toMatchObject([
      { needsApproval: false, problem: expect.stringMatching(/could not be decided \(no idea\)/) },
    ])
  })

  test('tells what beforeCall would block, and what it would change', async () => {
    expect((await planning(true, { beforeCall: () => ({ block: 'not today' }) })).calls).toMatchObject([
      { input: { n: 1 }, needsApproval: false, problem: 'Not run: not today' },
    ])
    expect((await planning(true, { beforeCall: () => ({ input: { n: 2 } }) })).calls).toEqual([
      { callId: 'call_1', name: 'careful', input: { n: 2 }, needsApproval: true },
    ])
  })

  test('knows the tools that prepareRound gave', async () => {
    expect((await planning(true, { prepareRound: () => undefined })).calls).toEqual([
      { callId: 'call_1', name: 'careful', input: { n: 1 }, needsApproval: true },
    ])
  })
})

describe('prepareRound', () => {
  test('fields that are undefined change nothing', async () => {
    const model = scriptedModel(['Done.'])
    const run = agent({
      model,
      system: 'Be brief.',
      tools: [echo],
      settings: { seed: 1 },
      prepareRound: () =>
        ({
          messages: undefined,
          model: undefined,
          system: undefined,
          tools: undefined,
          settings: undefined,
          toolChoice: undefined,
        }) as never,
    }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(model.requests).toMatchObject([
      {
        messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
        tools: [{ name: 'echo' }],
        settings: { seed: 1 },
      },
    ])
  })

  test.each<[string, unknown, RegExp]>([
    [
      'a field that does not exist',
      { message: [] },
      /the field 'message' does not exist: did you mean 'messages'/,
    ],
    ['messages that are no list', { messages: 'hi' }, /'messages' must be an array, not /],
    ['messages that are an object', { messages: {} }, /'messages' must be an array, not /],
    ['tools that are none', { tools: [{}] }, /'tools' must hold only what tool/],
    [
      'a toolbox that nobody waited for',
      { tools: [Promise.resolve()] },
      /'tools' has a promise in it: await it/,
    ],
    ['a round', { round: 7 }, /the field 'round' does not exist/],
    ['a setting that does not exist', { settings: { topK: 1 } }, /'settings' has no 'topK'/],
    ['settings without streaming', { settings: { extra: { stream: false } } }, /Millrace always streams/],
  ])('%s fails the run and says why', async (_, change, message) => {
    const model = scriptedModel(['Done.'])
    const run = agent({ model, prepareRound: () => change as never }).stream('go')
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'hook_failed', message: expect.stringMatching(message) },
    })
    expect(model.requests).toEqual([])
  })
})

describe('hooks around a call', () => {
  const hooked = (hooks: object) =>
    agent({
      model: scriptedModel(script.tool('echo', { value: 'x' }, 'Done.')),
      tools: [echo],
      ...hooks,
    }).stream('go')

  test.each([{}, { block: undefined }, { block: 5 }, { input: undefined }, { input: 'x' }, true, 'no'])(
    'beforeCall that answers %j lets nothing through',
    async (verdict) => {
      const events = await collect(hooked({ beforeCall: () => verdict }))
      expect(of(events, 'tool-start')).toEqual([])
      expect(of(events, 'tool-result')).toMatchObject([
        { status: 'failed', output: [{ text: expect.stringMatching(/the check before this call failed/) }] },
      ])
    },
  )

  test.each(['redacted', 5, true, {}, ['x']])('afterCall that answers %j shows nothing', async (answer) => {
    const events = await collect(hooked({ afterCall: () => answer }))
    expect(of(events, 'tool-result')).toMatchObject([
      {
        status: 'failed',
        output: [{ text: expect.stringMatching(/its result cannot be shown: .*\{ output \}/) }],
      },
    ])
  })

  test('the time of afterCall is not the time of the tool', async () => {
    const clock = fakeClock()
    const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
    const slow = tool({ name: 'slow', description: 'Slow', input: z.object({}), run: () => wait(100) })
    const model = scriptedModel(script.tool('slow', {}, 'Done.'))
    const run = agent({ model, tools: [slow], clock, afterCall: () => wait(5000) }).stream('go')
    await clock.until(run.result)
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ ms: 100 }])
  })
})

describe('toolChoice', () => {
  test.each(['required', { name: 'echo' }] as const)(
    '%j holds for the first round, so that the model can answer',
    async (toolChoice) => {
      const model = scriptedModel(({ toolChoice }) =>
        toolChoice ? [{ call: 'echo', input: { value: 'x' } }] : 'Done.',
      )
      const run = agent({ model, tools: [echo], toolChoice }).stream('go')
      expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.', rounds: 2 })
      expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, undefined])
    },
  )

  test.each(['auto', 'none'] as const)('%j holds for every round', async (toolChoice) => {
    const model = scriptedModel(script.tool('echo', { value: 'x' }, 'Done.'))
    await agent({ model, tools: [echo], toolChoice }).stream('go').result
    expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, toolChoice])
  })

  test('of one run counts more than that of the agent', async () => {
    const model = scriptedModel(['Done.'])
    await agent({ model, tools: [echo], toolChoice: 'auto' }).stream('go', { toolChoice: 'none' }).result
    expect(model.requests[0]?.toolChoice).toBe('none')
  })

  test('for a tool that is not there is refused, for the agent and for one run', () => {
    const model = scriptedModel([])
    const plain = agent({ model, tools: [echo] })
    expect(() => plain.stream('go', { toolChoice: { name: 'ecko' } })).toThrow(/toolChoice names 'ecko'/)
    expect(() => agent({ model }).stream('go', { toolChoice: 'required' })).toThrow(/the agent has no tools/)
    expect(() => agent({ model, toolChoice: { name: 'x' } }).stream('go')).toThrow(/toolChoice names 'x'/)
    expect(model.requests).toEqual([])
  })
})

describe('a fallback that takes no tools', () => {
  const falling = async (more: object = {}) => {
    const first = scriptedModel(script.failing({ code: 'auth' }))
    const second = scriptedModel(['Without tools.'], { id: 'plain', capabilities: { tools: false } })
    const run = agent({ model: [first, second], tools: [echo], ...more }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Without tools.' })
    return [first.requests[0], second.requests[0]]
  }

  test('is sent none', async () => {
    const [first, second] = await falling()
    expect(first?.tools).toHaveLength(1)
    expect(second?.tools).toEqual([])
  })

  test('is not held to a choice among them', async () => {
    const [first, second] = await falling({ toolChoice: 'required' })
    expect(first?.toolChoice).toBe('required')
    expect(second).not.toHaveProperty('toolChoice')
  })
})

describe('the signal of a caller', () => {
  test.each<[string, (controller: AbortController) => void, string]>([
    ['a string', (controller) => controller.abort('closed the tab'), 'closed the tab'],
    ['an error', (controller) => controller.abort(new Error('shutting down')), 'shutting down'],
    ['nothing', (controller) => controller.abort(), 'cancelled by the caller'],
  ])('aborted with %s says so in the end', async (_, abort, message) => {
    for (const before of [true, false]) {
      const controller = new AbortController()
      if (before) abort(controller)
      const run = agent({ model: scriptedModel(script.hanging()) }).stream('go', {
        signal: controller.signal,
      })
      if (!before) abort(controller)
      const events = await collect(run)
      expect(events.at(-1)).toMatchObject({
        outcome: 'cancelled',
        error: { code: 'stream_interrupted', message },
      })
      expect(events[0]?.type).toBe('run-start')
    }
  })

  test('a time-out says so too', async () => {
    const controller = new AbortController()
    const run = agent({ model: scriptedModel(script.hanging()) }).stream('go', { signal: controller.signal })
    controller.abort(new DOMException('The operation timed out.', 'TimeoutError'))
    expect((await run.result).error?.message).toBe('The operation timed out.')
  })

  test('is not listened to after the end', async () => {
    const { signal } = new AbortController()
    const run = agent({
      model: scriptedModel(script.tool('echo', { value: 'x' }, 'Done.')),
      tools: [echo],
    }).stream('go', { signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await run.result
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('cancelling', () => {
  test('from inside model.stream() aborts that very request', async () => {
    const model = rawModel((_, signal) => {
      run.cancel('never mind')
      return scriptedModel(script.hanging()).stream({ messages: [], tools: [], settings: {} }, { signal })
    })
    const run = agent({ model }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'cancelled', error: { message: 'never mind' } })
    await new Promise((resolve) => setImmediate(resolve))
    expect(model.signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  test('or failing, the round that was interrupted carries the reason', async () => {
    const cancelled = agent({ model: scriptedModel(script.hanging('Half')) }).stream('go')
    for await (const event of cancelled) if (event.type === 'text') break
    cancelled.cancel('enough')
    expect(of(await collect(cancelled), 'round-end')).toMatchObject([
      { finish: 'interrupted', error: { code: 'stream_interrupted', message: 'enough' } },
    ])
    const failed = agent({
      model: scriptedModel(script.failing({ code: 'auth', message: 'bad key' }, 'Half')),
    })
    expect(of(await collect(failed.stream('go')), 'round-end')).toMatchObject([
      { finish: 'interrupted', error: { code: 'auth', message: 'bad key' } },
    ])
    const kept = agent({
      model: scriptedModel([
        [{ call: 'echo', input: { value: 'x' } }, { error: { code: 'stream_error', message: 'reset' } }],
        'Done.',
      ]),
      tools: [echo],
      retry: { baseMs: 0 },
    })
    expect(of(await collect(kept.stream('go')), 'round-end')).toMatchObject([
      { finish: 'interrupted', error: { code: 'stream_error', message: 'reset' } },
      { finish: 'stop' },
    ])
  })
})

describe('onToolError: fail', () => {
  test('keeps the usage of the round whose call was cut off', async () => {
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

  test('ends the run at a time-out', async () => {
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

describe('a structured answer', () => {
  const output = z.object({ n: z.number() })
  const answering = (text: string, ...more: ScriptRound[]) =>
    agent({ model: scriptedModel([text, ...more]), output }).stream('go')

  test.each(['refusal', 'content-filter'] as const)('that ends with %s fails at once', async (finish) => {
    const model = scriptedModel([[{ text: 'I cannot say that.' }, { finish }]])
    const run = agent({ model, output, maxCorrections: 3 }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'failed', finish, error: { code: 'invalid_output' } })
    expect(model.requests).toHaveLength(1)
    expect(of(await collect(run), 'input')).toEqual([])
  })

  test.each([
    '{"n":1}',
    ' \n{"n":1}\n',
    '```json\n{"n":1}\n```',
    '```\n{"n":1}\n```\n',
    'Here you are:\n```json\n{"n":1}\n```\nAnything else?',
    'The answer is {"n":1}.',
  ])('may stand in prose or a code block: %j', async (text) => {
    expect(await answering(text).result).toMatchObject({ outcome: 'completed', output: { n: 1 }, rounds: 1 })
  })

  test('may be followed by a hundred thousand empty lines', async () => {
    const lines = '\n'.repeat(100_000)
    for (const text of [`\`\`\`json\n{"n":1}\n\`\`\`${lines}`, `\`\`\`json${lines}{"n":1}${lines}x`]) {
      const model = scriptedModel([text], { deltaChars: 10_000 })
      expect(await agent({ model, output }).stream('go').result).toMatchObject({ output: { n: 1 } })
    }
    const model = scriptedModel([`\`\`\`json${lines}x`], { deltaChars: 10_000 })
    expect((await agent({ model, output, maxCorrections: 0 }).stream('go').result).error?.code).toBe(
      'invalid_output',
    )
  })

  test('begins anew for those who watch it when its round is taken back', async () => {
    const clock = fakeClock()
    const model = scriptedModel(
      [[{ text: '{"n":1,"old":tr' }, { error: { code: 'stream_error' } }], '{"n":2}'],
      { deltaChars: 100, clock },
    )
    const run = agent({ model, output, clock }).stream('go')
    const views: string[] = []
    const reading = (async () => {
      for await (const view of run.partials()) views.push(JSON.stringify(view))
    })()
    await clock.until(reading)
    expect(views[0]).toMatch(/^\{"n":1/)
    expect(views.at(-1)).toBe('{"n":2}')
    expect(await run.result).toMatchObject({ output: { n: 2 } })
  })
})

describe('retries', () => {
  const failing = { error: { code: 'overloaded', message: 'busy' } } as const
  const delays = (events: readonly RunEvent[]) => of(events, 'round-retry').map(({ delayMs }) => delayMs)

  async function play(models: Model | Model[], retry: object, random: number, more: object = {}) {
    vi.spyOn(Math, 'random').mockReturnValue(random)
    const clock = fakeClock()
    const run = agent({ model: models, clock, retry, ...more }).stream('go')
    await clock.until(run.result)
    return { events: await collect(run), clock, run }
  }

  test.each([
    [0, [50, 100, 200, 250, 250]],
    [1 - 2 ** -53, [100, 200, 400, 500, 500]],
  ])(
    'wait between half and the whole of a time that doubles up to its limit (%d)',
    async (random, expected) => {
      const { events } = await play(
        scriptedModel([...Array.from({ length: 5 }, () => [failing]), 'Done.']),
        { attempts: 6, baseMs: 100, maxDelayMs: 500 },
        random,
      )
      const waited = delays(events)
      expect(waited).toHaveLength(5)
      for (const [index, ms] of waited.entries()) expect(ms).toBeCloseTo(expected[index] as number, 6)
    },
  )

  test('count anew for the next model', async () => {
    const { events } = await play(
      [
        scriptedModel(() => [failing], { id: 'a' }),
        scriptedModel([[failing], [failing], 'Done.'], { id: 'b' }),
      ],
      { attempts: 3, baseMs: 100 },
      0,
    )
    expect(of(events, 'round-retry').map(({ model, delayMs }) => [model, delayMs])).toEqual([
      ['a', 50],
      ['a', 100],
      ['b', 0],
      ['b', 50],
      ['b', 100],
    ])
  })

  test('count anew after a success', async () => {
    const { events, run } = await play(
      scriptedModel([
        [failing],
        [failing],
        [{ call: 'echo', input: { value: 'x' } }],
        [failing],
        [failing],
        'Done.',
      ]),
      { attempts: 3, baseMs: 100 },
      0,
      { tools: [echo] },
    )
    expect(delays(events)).toEqual([50, 100, 50, 100])
    expect((await run.result).outcome).toBe('completed')
  })

  test('wait after a round that was kept, too', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const clock = fakeClock()
    const times: number[] = []
    const model = scriptedModel((_, index) => {
      times.push(clock.now())
      return index === 0 ? [{ call: 'echo', input: { value: 'x' } }, failing] : 'Done.'
    })
    const run = agent({ model, tools: [echo], clock, retry: { baseMs: 1000 } }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed', rounds: 2 })
    expect(times).toEqual([0, 500])
  })

  test('do not hear what the attempt before says late, and its request is aborted', async () => {
    const clock = fakeClock()
    const late = Promise.withResolvers<void>()
    const model = rawModel((index) =>
      index === 0
        ? (async function* () {
            await late.promise
            yield { type: 'text', text: 'late' }
            yield callOf('late')
            yield done
          })()
        : (async function* () {
            late.resolve()
            await clock.turn()
            yield { type: 'text', text: 'On time.' }
            yield done
          })(),
    )
    const run = agent({ model, tools: [echo], clock, firstEventMs: 1000 }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed', text: 'On time.' })
    await clock.advance(10_000)
    expect(model.signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(typesOf(await collect(run))).not.toContain('tool-call')
  })

  test('a hook that answers while a retracted round waits to be told again starts nothing', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    let asks = 0
    const model = scriptedModel(
      [[{ call: 'echo', input: { value: 'x' } }, { pause: 10 }, failing], 'Done.'],
      { clock },
    )
    const run = agent({
      model,
      tools: [echo],
      clock,
      retry: { baseMs: 1000 },
      beforeCall: () => {
        asks++
        asked.resolve()
        return release.promise
      },
    }).stream('go')
    await asked.promise
    await clock.advance(100)
    release.resolve()
    const result = await clock.until(run.result)
    const events = await collect(run)
    expect(asks).toBe(1)
    expect(typesOf(events)).toContain('round-retract')
    expect(of(events, 'tool-start')).toEqual([])
    expect(of(events, 'tool-result')).toEqual([])
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })
})

describe('time', () => {
  test('after the first event, the shorter limit for silence holds', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ pause: 5000 }, { text: 'Hi' }, { hang: true }]], { clock })
    const run = agent({ model, clock, firstEventMs: 10_000, idleMs: 1000, retry: { attempts: 1 } }).stream(
      'go',
    )
    expect(await clock.until(run.result)).toMatchObject({
      outcome: 'failed',
      error: { code: 'timeout', message: expect.stringMatching(/fell silent for 1000 ms/) },
    })
    expect(clock.now()).toBe(6000)
  })

  test('the limit of one run counts more than that of the agent', async () => {
    const clock = fakeClock()
    const model = scriptedModel(script.hanging())
    const run = agent({ model, clock, runMs: 5000 }).stream('go', { runMs: 200 })
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
    expect(clock.now()).toBe(200)
  })

  test.each<[string, readonly ScriptRound[], (run: { cancel(): void }) => void]>([
    ['completed', script.tool('echo', { value: 'x' }, 'Done.'), () => {}],
    ['failed', script.failing({ code: 'auth' }, 'x'), () => {}],
    ['retried', [...script.failing({ code: 'overloaded' }, 'x'), 'Done.'], () => {}],
    ['cancelled', script.hanging('x'), (run) => run.cancel()],
    [
      'cancelled while it waits to try again',
      script.failing({ code: 'rate_limit', retryAfterMs: 900 }),
      (run) => run.cancel(),
    ],
    ['cancelled with a tool at work', script.tool('gate', {}, 'x'), (run) => run.cancel()],
    ['suspended', script.tool('refund', { amount: 1 }, 'x'), () => {}],
  ])('no timer is left of a run that was %s', async (_, rounds, stop) => {
    const clock = countingClock()
    const model = scriptedModel(rounds)
    const run = agent({ model, clock, runMs: 60_000, tools: [echo, gate().tool, refund] }).stream('go')
    await clock.advance(100)
    stop(run)
    await clock.until(run.result)
    await clock.advance(0)
    expect(clock.pending.size).toBe(0)
  })
})

describe('defaults', () => {
  test('ten rounds run tools', async () => {
    const model = scriptedModel((_, index) => [{ call: 'echo', input: { value: `${index}` } }])
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'max-rounds', rounds: 11 })
    expect(of(await collect(run), 'tool-start')).toHaveLength(10)
  })

  test('a model is shown fifty thousand characters of a result', async () => {
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

test('what a model tells of its answer stands at the end of the round, as a copy', async () => {
  const metadata = { id: 'resp_1', deep: { n: 1 } }
  const run = agent({ model: rawModel(() => saying(text, { ...done, metadata })) }).stream('go')
  await run.result
  metadata.deep.n = 2
  expect(of(await collect(run), 'round-end')).toMatchObject([{ metadata: { id: 'resp_1', deep: { n: 1 } } }])
})

describe('types', () => {
  const model = scriptedModel(() => 'Done.')

  test('an agent with tools of two contexts needs both', async () => {
    const user = tool({
      name: 'user',
      description: 'User',
      input: z.object({}),
      run: (_, { context }: { context: { user: string } }) => context.user,
    })
    const shop = tool({
      name: 'shop',
      description: 'Shop',
      input: z.object({}),
      run: (_, { context }: { context: { shop: number } }) => context.shop,
    })
    const both = agent({ model, tools: [user, shop, echo] })
    // @ts-expect-error no context at all
    await both.run('go')
    // @ts-expect-error one of the two is missing
    await both.run('go', { context: { user: 'ada' } })
    // @ts-expect-error the other is missing
    await both.run('go', { context: { shop: 1 } })
    expect((await both.run('go', { context: { user: 'ada', shop: 1 } })).text).toBe('Done.')
  })

  test('what arrives is typed by what is written, what comes out by what it becomes', () => {
    const schema = z.object({ when: z.string().transform((text) => new Date(text)) })
    tool({
      name: 'at',
      description: 'At',
      input: schema,
      onInput: (partial) => {
        expectTypeOf(partial.when).toEqualTypeOf<string | undefined>()
      },
      run: ({ when }) => {
        expectTypeOf(when).toEqualTypeOf<Date>()
      },
    })
    const dated = agent({ model, output: schema })
    type Made = ReturnType<typeof dated.stream>
    type View = ReturnType<Made['partials']> extends AsyncIterable<infer One> ? One : never
    expectTypeOf<View['when']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<NonNullable<Awaited<Made['result']>['output']>['when']>().toEqualTypeOf<Date>()
  })

  test('an option may be left undefined', async () => {
    const careless = tool({
      name: 'careless',
      description: 'Careless',
      input: z.object({}),
      run: () => 'ok',
      timeoutMs: undefined,
      exclusive: undefined,
      repeat: undefined,
      approve: undefined,
      onInput: undefined,
      maxResultChars: undefined,
      polling: undefined,
    })
    const one = agent({
      model,
      name: undefined,
      system: undefined,
      tools: [careless],
      maxRounds: undefined,
      output: undefined,
      maxCorrections: undefined,
      settings: undefined,
      toolChoice: undefined,
      retry: { attempts: undefined, baseMs: undefined, maxDelayMs: undefined },
      firstEventMs: undefined,
      idleMs: undefined,
      runMs: undefined,
      toolTimeoutMs: undefined,
      toolConcurrency: undefined,
      maxCallsPerRound: undefined,
      maxResultChars: undefined,
      repeatLimits: undefined,
      onToolError: undefined,
      prepareRound: undefined,
      beforeCall: undefined,
      afterCall: undefined,
      clock: undefined,
    })
    const run = {
      context: undefined,
      signal: undefined,
      maxRounds: undefined,
      settings: undefined,
      toolChoice: undefined,
      runMs: undefined,
    }
    expect((await one.run('go', run)).text).toBe('Done.')
    one.asTool({ description: 'One', name: undefined, timeoutMs: undefined, approve: undefined })
    const log = await collect(one.stream('go'))
    expect(await one.resume(log.slice(0, -1), { ...run, decisions: undefined }).result).toMatchObject({
      outcome: 'completed',
    })
  })
})
