import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest } from '../protocol/index.ts'
import { foldMessage, MillraceError } from '../protocol/index.ts'
import type { ScriptRound } from './index.ts'
import { fakeClock, script, scriptedModel } from './index.ts'

const request = (text = 'hi'): ModelRequest => ({
  messages: [{ role: 'user', content: text }],
  tools: [],
  settings: {},
})

const never = new AbortController().signal

async function drain(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

type Options = Parameters<typeof scriptedModel>[1]

/** All events of one round. */
const play = (round: ScriptRound, options?: Options) =>
  drain(scriptedModel([round], options).stream(request(), { signal: never }))

const deltas = (events: readonly ModelEvent[]) =>
  events.flatMap((event) => ('text' in event ? [event.text] : 'delta' in event ? [event.delta] : []))

/** Reads a stream in the background, and records its events and how it ended. */
function follow(stream: AsyncIterable<ModelEvent>) {
  const events: ModelEvent[] = []
  const state: { ended: boolean; error?: unknown } = { ended: false }
  const done = (async () => {
    try {
      for await (const event of stream) events.push(event)
    } catch (error) {
      state.error = error
    }
    state.ended = true
  })()
  return { events, state, done }
}

describe('what a script plays', () => {
  test('text alone is a round', async () => {
    expect(await play('hello')).toStrictEqual([
      { type: 'text', text: 'hello' },
      { type: 'done', finish: 'stop' },
    ])
  })

  test('a round is played step by step', async () => {
    const opaque = { provider: 'scripted', data: 's' }
    const round: ScriptRound = [
      { reasoning: 'hm', opaque },
      { text: 'I look' },
      { call: 'look', input: { id: 1 } },
      { call: 'find', id: 'mine', opaque },
      { usage: { inputTokens: 3, outputTokens: 4 } },
    ]
    expect(await play(round, { deltaChars: 100 })).toStrictEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'part-end', part: 'reasoning', opaque },
      { type: 'text', text: 'I look' },
      { type: 'tool-input-start', callId: 'call_1', name: 'look' },
      { type: 'tool-input', callId: 'call_1', delta: '{"id":1}' },
      { type: 'tool-call', callId: 'call_1', name: 'look', input: { id: 1 } },
      { type: 'tool-input-start', callId: 'mine', name: 'find' },
      { type: 'tool-input', callId: 'mine', delta: '{}' },
      { type: 'tool-call', callId: 'mine', name: 'find', input: {}, opaque },
      { type: 'done', finish: 'tool-calls', usage: { inputTokens: 3, outputTokens: 4 } },
    ])
  })

  test('an explicit finish is part of the last event', async () => {
    const events = await play([{ finish: 'length' }, { text: 'a' }, { usage: { outputTokens: 1 } }])
    expect(events.at(-1)).toStrictEqual({ type: 'done', finish: 'length', usage: { outputTokens: 1 } })
  })

  test('invalid JSON in the arguments is a call with a problem', async () => {
    const events = await play([{ call: 'look', raw: '{"id":' }])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      input: {},
      raw: '{"id":',
      problem: expect.stringContaining('not valid JSON'),
    })
    expect(deltas(events).join('')).toBe('{"id":')
  })

  test('empty arguments have no deltas and an empty input', async () => {
    const events = await play([{ call: 'look', raw: '' }])
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-call', 'done'])
  })

  test('a cut call is started and never closed', async () => {
    const events = await play([{ call: 'look', raw: '{"id', cut: true }, { finish: 'length' }])
    expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input', 'done'])
  })

  test('calls are numbered across all rounds', async () => {
    const model = scriptedModel([[{ call: 'a' }, { call: 'b' }], [{ call: 'a' }]])
    const first = await drain(model.stream(request(), { signal: never }))
    const second = await drain(model.stream(request(), { signal: never }))
    const ids = [...first, ...second].flatMap((event) => (event.type === 'tool-call' ? [event.callId] : []))
    expect(ids).toEqual(['call_1', 'call_2', 'call_3'])
  })

  test('has an id and all capabilities, unless overridden', () => {
    expect(scriptedModel([])).toMatchObject({
      id: 'scripted',
      provider: 'scripted',
      capabilities: { tools: true, images: true, reasoning: true, streaming: true, structuredOutput: true },
    })
    const blind = scriptedModel([], { id: 'blind', capabilities: { images: false } })
    expect(blind.id).toBe('blind')
    expect(blind.capabilities).toMatchObject({ images: false, tools: true })
  })

  test('has a price only if it is given', () => {
    expect(scriptedModel([])).not.toHaveProperty('price')
    const price = { input: 1, output: 4 }
    expect(scriptedModel([], { price, simulated: true })).toMatchObject({ price, simulated: true })
  })
})

describe('cutting into deltas', () => {
  test.each<[number | number[], string[]]>([
    [1, ['a', 'b', 'c', 'd', 'e', 'f', 'g']],
    [3, ['abc', 'def', 'g']],
    [100, ['abcdefg']],
    [Number.POSITIVE_INFINITY, ['abcdefg']],
    [
      [1, 3],
      ['a', 'bcd', 'e', 'fg'],
    ],
    [
      [2, 1, 1],
      ['ab', 'c', 'd', 'ef', 'g'],
    ],
  ])('sizes of %j', async (deltaChars, pieces) => {
    expect(deltas(await play('abcdefg', { deltaChars }))).toEqual(pieces)
    expect(deltas(await play([{ reasoning: 'abcdefg' }], { deltaChars }))).toEqual(pieces)
    expect(deltas(await play([{ call: 'x', raw: 'abcdefg' }], { deltaChars }))).toEqual(pieces)
  })

  test('a surrogate pair stays whole', async () => {
    expect(deltas(await play('a😀😀b', { deltaChars: 1 }))).toEqual(['a', '😀', '😀', 'b'])
    expect(deltas(await play('a😀😀b', { deltaChars: 2 }))).toEqual(['a😀', '😀', 'b'])
  })

  test.each([0, -1, Number.NaN, [], [3, 0]])('sizes of %j are rejected', (deltaChars) => {
    expect(() => scriptedModel([], { deltaChars })).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: 'deltaChars must be at least 1' }),
    )
  })

  test('for any sizes, no delta is empty or splits a character, and together they are the whole', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), sizes, async (text, deltaChars) => {
        const round: ScriptRound = [{ text }, { call: 'x', input: { text } }]
        const events = await play(round, { deltaChars })
        for (const delta of deltas(events)) {
          expect(delta).not.toBe('')
          expect(delta.isWellFormed()).toBe(true)
        }
        expect(deltas(events).join('')).toBe(text + JSON.stringify({ text }))
        const whole = await play(round, { deltaChars: Number.POSITIVE_INFINITY })
        expect(foldMessage(events)).toEqual(foldMessage(whole))
      }),
    )
  })
})

describe('pacing', () => {
  test('each delta waits for its time on the clock', async () => {
    const clock = fakeClock()
    const model = scriptedModel(['abcd'], { deltaChars: 2, paceMs: 50, clock })
    const { events, state, done } = follow(model.stream(request(), { signal: never }))
    await clock.advance(49)
    expect(deltas(events)).toEqual([])
    await clock.advance(1)
    expect(deltas(events)).toEqual(['ab'])
    await clock.advance(50)
    expect(deltas(events)).toEqual(['ab', 'cd'])
    await done
    expect(state).toEqual({ ended: true })
    expect(clock.now()).toBe(100)
  })

  test('reasoning and arguments are paced too', async () => {
    const clock = fakeClock()
    const round: ScriptRound = [{ reasoning: 'ab' }, { call: 'x', raw: '{}' }]
    const model = scriptedModel([round], { deltaChars: 1, paceMs: 10, clock })
    const { done } = follow(model.stream(request(), { signal: never }))
    await clock.until(done)
    expect(clock.now()).toBe(40)
  })

  test('a pause takes that much time', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ text: 'a' }, { pause: 1000 }, { text: 'b' }]], { clock })
    const { events, done } = follow(model.stream(request(), { signal: never }))
    await clock.advance(999)
    expect(deltas(events)).toEqual(['a'])
    await clock.advance(1)
    await done
    expect(deltas(events)).toEqual(['a', 'b'])
  })

  test('without a pace no clock is needed', async () => {
    const clock = fakeClock()
    const model = scriptedModel(['hello world and more'], { deltaChars: 1, clock })
    expect(deltas(await drain(model.stream(request(), { signal: never })))).toHaveLength(20)
    expect(clock.now()).toBe(0)
  })
})

describe('an abort', () => {
  test.each<[string, ScriptRound, Options]>([
    ['during a pause', [{ text: 'a' }, { pause: 1000 }, { text: 'b' }], {}],
    ['while it hangs', [{ text: 'a' }, { hang: true }, { text: 'b' }], {}],
    ['between paced deltas', 'ab', { deltaChars: 1, paceMs: 1000 }],
  ])('%s ends it right away, with the reason', async (_, round, options) => {
    const clock = fakeClock()
    const controller = new AbortController()
    const reason = new Error('enough')
    const model = scriptedModel([round], { ...options, clock })
    const { events, state, done } = follow(model.stream(request(), { signal: controller.signal }))
    await clock.advance(options?.paceMs ?? 0)
    expect(deltas(events)).toEqual(['a'])
    expect(state.ended).toBe(false)
    controller.abort(reason)
    await done
    expect(state.error).toBe(reason)
    expect(deltas(events)).toEqual(['a'])
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timers left')
    expect(clock.now()).toBe(options?.paceMs ?? 0)
  })

  test('before the start ends it without output', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(drain(scriptedModel(['a']).stream(request(), { signal }))).rejects.toThrow('enough')
  })

  test('between two steps is noticed', async () => {
    const controller = new AbortController()
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }]])
    const seen: string[] = []
    await expect(async () => {
      for await (const event of model.stream(request(), { signal: controller.signal })) {
        seen.push(event.type)
        controller.abort(new Error('enough'))
      }
    }).rejects.toThrow('enough')
    expect(seen).toEqual(['text'])
  })
})

describe('a failure', () => {
  const failureOf = async (round: ScriptRound) => {
    const { events, state, done } = follow(scriptedModel([round]).stream(request(), { signal: never }))
    await done
    return { events, error: state.error }
  }

  test('from a message is a model error, after the output so far', async () => {
    const { events, error } = await failureOf([{ text: 'a' }, { error: 'broken' }, { text: 'b' }])
    expect(events).toStrictEqual([{ type: 'text', text: 'a' }])
    expect(error).toBeInstanceOf(MillraceError)
    expect(error).toMatchObject({
      op: 'model.stream',
      code: 'llm_error',
      message: 'broken',
      retryable: false,
    })
  })

  test('has the given fields', async () => {
    const cause = new Error('why')
    const fields = {
      code: 'rate_limit',
      status: 429,
      retryAfterMs: 500,
      message: 'slow down',
      cause,
    } as const
    const { error } = await failureOf([{ error: fields }])
    expect(error).toMatchObject({ ...fields, op: 'model.stream', retryable: true })
    const { error: silent } = await failureOf([{ error: { code: 'auth' } }])
    expect(silent).toMatchObject({ code: 'auth', message: 'scripted failure' })
  })

  test('a round may end without its terminal event', async () => {
    const { events, error } = await failureOf([{ text: 'a' }, { end: true }, { text: 'b' }])
    expect(events).toStrictEqual([{ type: 'text', text: 'a' }])
    expect(error).toBeUndefined()
  })

  test('a missing round fails clearly, and is not retried', async () => {
    const model = scriptedModel(['one'])
    await drain(model.stream(request(), { signal: never }))
    const more = async () => drain(model.stream(request(), { signal: never }))
    await expect(more).rejects.toMatchObject({
      code: 'llm_error',
      retryable: false,
      message: 'the script has 1 rounds, but round 2 was requested: add it to the script',
    })
    await expect(more).rejects.toThrow('round 3 was requested')
  })
})

describe('requests', () => {
  test('are recorded in order, including those that fail', async () => {
    const model = scriptedModel(['one', [{ error: 'no' }]])
    expect(model.requests).toEqual([])
    const requests = ['a', 'b', 'c'].map(request)
    for (const one of requests)
      await (async () => drain(model.stream(one, { signal: never })))().catch(() => {})
    expect(model.requests).toEqual(requests)
    expect(model.requests[0]).toBe(requests[0])
  })

  test('are recorded when they are sent, before anything is read', () => {
    const model = scriptedModel(['one'])
    model.stream(request(), { signal: never })
    expect(model.requests).toHaveLength(1)
  })

  test('get a round each if concurrent', async () => {
    const model = scriptedModel(['one', 'two'])
    const streams = [request(), request()].map((one) => model.stream(one, { signal: never }))
    const [first, second] = await Promise.all(streams.map(drain))
    expect([deltas(first ?? []), deltas(second ?? [])]).toEqual([['one'], ['two']])
  })

  test('a function decides what to do for each of them', async () => {
    const model = scriptedModel(({ messages }, index) => `${index}: ${messages[0]?.content}`)
    const textFor = async (text: string) =>
      deltas(await drain(model.stream(request(text), { signal: never })))
    expect(await textFor('a')).toEqual(['0: a'])
    expect(await textFor('b')).toEqual(['1: b'])
    expect(model.requests).toHaveLength(2)
  })

  test('a function that returns no round fails clearly too', async () => {
    const model = scriptedModel(() => undefined as never)
    await expect(async () => drain(model.stream(request(), { signal: never }))).rejects.toMatchObject({
      code: 'llm_error',
      message: expect.stringContaining('round 1'),
    })
  })
})

describe('short forms', () => {
  test.each<[string, ScriptRound[], ScriptRound[]]>([
    ['text', script.text('a'), ['a']],
    ['one tool, then text', script.tool('look', { id: 1 }, 'a'), [[{ call: 'look', input: { id: 1 } }], 'a']],
    [
      'parallel tools',
      script.parallel(
        [
          ['look', { id: 1 }],
          ['find', {}],
        ],
        'a',
      ),
      [
        [
          { call: 'look', input: { id: 1 } },
          { call: 'find', input: {} },
        ],
        'a',
      ],
    ],
    ['failing at once', script.failing('no'), [[{ error: 'no' }]]],
    [
      'failing after text',
      script.failing({ code: 'auth' }, 'a'),
      [[{ text: 'a' }, { error: { code: 'auth' } }]],
    ],
    ['hanging at once', script.hanging(), [[{ hang: true }]]],
    ['hanging after text', script.hanging('a'), [[{ text: 'a' }, { hang: true }]]],
  ])('%s', (_, rounds, written) => {
    expect(rounds).toStrictEqual(written)
  })

  test('can be combined', async () => {
    const model = scriptedModel([...script.tool('look', {}, 'a'), ...script.text('b')])
    const finishes: unknown[] = []
    for (let round = 0; round < 3; round++)
      finishes.push((await drain(model.stream(request(), { signal: never }))).at(-1))
    expect(finishes).toMatchObject([{ finish: 'tool-calls' }, { finish: 'stop' }, { finish: 'stop' }])
  })
})
