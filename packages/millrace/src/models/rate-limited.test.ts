import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { agent } from '../agent/index.ts'
import { memoryStore } from '../log/index.ts'
import type { Model, ModelEvent, ModelRequest } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { RateLimitOptions } from './index.ts'
import { fallback, fromGenerate, rateLimited } from './index.ts'

const request: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], settings: {} }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

async function call(model: Model, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, { signal })) events.push(event)
  return events
}

/** A model that records when each request was sent, in milliseconds from now. */
function timedModel(usage = {}) {
  const startedAt = Date.now()
  const sent: number[] = []
  const model = fromGenerate(() => {
    sent.push(Date.now() - startedAt)
    return { text: 'Hello.', usage }
  })
  return { model, sent }
}

/** The options for one request per second, or 100 tokens per second. */
const requestsPerSecond = { requestsPerMinute: 60, burst: 1 / 60 }
const tokensPerSecond = { tokensPerMinute: 6000 }

describe('limits', () => {
  test('all processes that share a store send their requests in turn', async () => {
    const store = memoryStore()
    const { model, sent } = timedModel()
    const processes = [1, 2, 3].map(() => rateLimited(model, { store, ...requestsPerSecond }))
    const calls = Promise.all([...processes, ...processes].map((one) => call(one)))
    await vi.advanceTimersByTimeAsync(10_000)
    await calls
    expect(sent).toEqual([0, 1000, 2000, 3000, 4000, 5000])
  })

  test('a tenth of the limit can be used at once after a pause', async () => {
    const { model, sent } = timedModel()
    const limited = rateLimited(model, { store: memoryStore(), requestsPerMinute: 30 })
    const calls = Promise.all(Array.from({ length: 5 }, () => call(limited)))
    await vi.advanceTimersByTimeAsync(10_000)
    await calls
    expect(sent).toEqual([0, 0, 0, 2000, 4000])
  })

  test('a call waits for the tokens that earlier calls have used', async () => {
    const store = memoryStore()
    const { model, sent } = timedModel({ inputTokens: 900, outputTokens: 100, cacheReadTokens: 800 })
    const [one, other] = [1, 2].map(() => rateLimited(model, { store, ...tokensPerSecond })) as [Model, Model]
    await call(one)
    const calls = Promise.all([call(one), call(other)])
    await vi.advanceTimersByTimeAsync(20_000)
    await calls
    // 1000 tokens take 10 s, of which a burst of 600 is 6 s. The next two start together.
    expect(sent).toEqual([0, 4000, 4000])
    const last = call(other)
    await vi.advanceTimersByTimeAsync(20_000)
    await last
    expect(sent.at(-1)).toBe(24_000)
  })

  test('the stricter limit counts', async () => {
    const { model, sent } = timedModel({ outputTokens: 1000 })
    const options = { store: memoryStore(), ...requestsPerSecond, tokensPerMinute: 6000, burst: 1 / 60 }
    const limited = rateLimited(model, options)
    await call(limited)
    const calls = call(limited)
    await vi.advanceTimersByTimeAsync(20_000)
    await calls
    expect(sent).toEqual([0, 9000])
  })

  test('each model has limits of its own, unless they have the same name', async () => {
    const store = memoryStore()
    const { model, sent } = timedModel()
    const limited = (id: string, name?: string) =>
      rateLimited({ ...model, id }, { store, name, ...requestsPerSecond })
    const models = [limited('a'), limited('b'), limited('c', 'key'), limited('d', 'key')]
    const calls = Promise.all(models.map((one) => call(one)))
    await vi.advanceTimersByTimeAsync(2000)
    await calls
    expect(sent).toEqual([0, 0, 0, 1000])
  })
})

describe('waiting', () => {
  test('a call that is aborted while it waits gives its turn to the next', async () => {
    const { model, sent } = timedModel()
    const limited = rateLimited(model, { store: memoryStore(), ...requestsPerSecond })
    await call(limited)
    const controller = new AbortController()
    const aborted = call(limited, controller.signal)
    const rejection = expect(aborted).rejects.toThrow('not needed any more')
    await vi.advanceTimersByTimeAsync(100)
    controller.abort(new Error('not needed any more'))
    await rejection
    const next = call(limited)
    await vi.advanceTimersByTimeAsync(5000)
    await next
    expect(sent).toEqual([0, 1000])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a call that would wait too long fails with the delay, and takes no turn', async () => {
    const { model, sent } = timedModel()
    const limited = rateLimited(model, { store: memoryStore(), ...requestsPerSecond, maxWaitMs: 1500 })
    await call(limited)
    const second = call(limited)
    for (let repeated = 0; repeated < 2; repeated++) {
      const failed = await call(limited).catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(MillraceError)
      expect(failed).toMatchObject({ code: 'rate_limit', retryable: true, retryAfterMs: 2000 })
      expect((failed as Error).message).toMatch(
        /^the requests per minute of 'generate generate' are used up for 2 s/,
      )
    }
    await vi.advanceTimersByTimeAsync(1000)
    await second
    expect(sent).toEqual([0, 1000])
  })

  test('an agent then uses its next model', async () => {
    vi.useRealTimers()
    const store = memoryStore()
    const first = rateLimited(
      scriptedModel(() => 'first'),
      { store, requestsPerMinute: 0.1 },
    )
    const helper = agent({ model: fallback([first, scriptedModel(() => 'second')]) })
    expect((await helper.run('hi')).text).toBe('first')
    expect((await helper.run('hi')).text).toBe('second')
  })
})

describe('a store that fails', () => {
  test('does not stop calls, and is reported once until it works again', async () => {
    const store = memoryStore()
    let fails = true
    const errors: MillraceError[] = []
    const limited = rateLimited(timedModel().model, {
      store: {
        reserve: (...args) => (fails ? Promise.reject(new Error('out of reach')) : store.reserve(...args)),
      },
      requestsPerMinute: 1000,
      onError: (error) => errors.push(error),
    })
    for (const now of [true, true, false, true]) {
      fails = now
      await call(limited)
    }
    expect(errors).toHaveLength(2)
    expect(errors[0]).toMatchObject({ op: 'rateLimited', code: 'store_error' })
    expect(errors[0]?.message).toBe(
      "the limits of 'generate generate' cannot be checked, so calls are not limited: out of reach",
    )
  })

  test('and one that hangs delays them only for a while', async () => {
    const { model, sent } = timedModel()
    const errors: string[] = []
    const limited = rateLimited(model, {
      store: { reserve: () => new Promise(() => {}) },
      requestsPerMinute: 1,
      onError: (error) => errors.push(error.message),
    })
    const calls = call(limited)
    await vi.advanceTimersByTimeAsync(6000)
    await calls
    expect(sent).toEqual([5000])
    expect(errors).toEqual([expect.stringContaining('the store did not answer reserve() within 5000 ms')])
  })
})

describe('the model', () => {
  const done: ModelEvent = { type: 'done', finish: 'stop', usage: { outputTokens: 1000 } }
  const batch: ModelEvent[] = [{ type: 'text', text: 'Hel' }, { type: 'text', text: 'lo.' }, done]

  test('is the same in every other way', async () => {
    const price = { input: 1, output: 4 }
    const model = {
      ...scriptedModel(['Hello.'], { id: 'm' }),
      address: 'https://api.example.org',
      price,
      simulated: true,
    }
    const limited = rateLimited(model, { store: memoryStore(), requestsPerMinute: 1 })
    const { id, provider, address, capabilities } = model
    expect(limited).toMatchObject({ id, provider, address, capabilities, price, simulated: true })
    expect(limited.background).toBeUndefined()
    expect((await agent({ model: limited }).run('hi')).text).toBe('Hello.')
  })

  test('passes on events as they arrive, and counts their tokens', async () => {
    const store = memoryStore()
    const model: Model = {
      ...timedModel().model,
      stream: () => ({
        async pushTo(onEvents) {
          await onEvents(batch.slice(0, 1))
          await onEvents(batch.slice(1))
        },
        [Symbol.asyncIterator]: () => {
          throw new Error('read one by one')
        },
      }),
    }
    const limited = rateLimited(model, { store, name: 'm', ...tokensPerSecond })
    const { signal } = new AbortController()
    const stream = limited.stream(request, { signal })
    const lists: (readonly ModelEvent[])[] = []
    await stream.pushTo?.((events) => {
      lists.push(events)
      return true
    })
    expect(lists).toEqual([batch.slice(0, 1), batch.slice(1)])
    expect(await store.reserve({ name: 'm tokens', perMinute: 6000, burst: 600 }, 0)).toBe(4000)
  })

  test('resumes a generation without waiting, and counts its tokens', async () => {
    const store = memoryStore()
    const canceled: unknown[] = []
    const model: Model = {
      ...timedModel().model,
      background: {
        resume: async function* () {
          yield* batch
        },
        cancel: async (...args) => void canceled.push(args),
      },
    }
    const limited = rateLimited(model, { store, name: 'm', ...requestsPerSecond, tokensPerMinute: 6000 })
    await call(limited)
    const { signal } = new AbortController()
    const opaque = { provider: 'generate', data: {} }
    const resumed = limited.background?.resume(opaque, request, { signal })
    expect(await Array.fromAsync(resumed ?? [])).toEqual(batch)
    expect(await store.reserve({ name: 'm tokens', perMinute: 6000, burst: 600 }, 0)).toBe(4000)
    await limited.background?.cancel(opaque, {})
    expect(canceled).toEqual([[opaque, {}]])
  })
})

test('misuse is rejected with what to do', () => {
  const { model } = timedModel()
  const store = memoryStore()
  const limit = (options: unknown, of: unknown = model) =>
    rateLimited(of as Model, options as RateLimitOptions)
  expect(() => limit({ store, requestsPerMinute: 1 }, 'gpt')).toThrow('takes a model, not a string')
  expect(() => limit({ store, requestsPerMinute: 1 }, fallback([model, model]))).toThrow(
    'limit each model of the list',
  )
  expect(() => limit(undefined)).toThrow('takes a model and options, not undefined')
  expect(() => limit({ requestsPerMinute: 1 })).toThrow("the option 'store' must be a ThreadStore")
  expect(() => limit({ store })).toThrow("needs a limit: pass 'requestsPerMinute', 'tokensPerMinute' or both")
  expect(() => limit({ store, requestPerMinute: 1 })).toThrow("did you mean 'requestsPerMinute'?")
  for (const value of [0, -1, Number.NaN, Infinity, '60'])
    expect(() => limit({ store, tokensPerMinute: value })).toThrow(
      "'tokensPerMinute' must be a positive number",
    )
  expect(() => limit({ store, tokensPerMinute: 1, burst: 10 })).toThrow("'burst' must be at most 1, not 10")
  expect(() => limit({ store, tokensPerMinute: 1, maxWaitMs: -1 })).toThrow(
    "'maxWaitMs' must be a positive number",
  )
})
