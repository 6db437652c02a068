import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { agent } from '../../agent/index.ts'
import type { AISDKModel, AISDKOptions } from '../ai-sdk.ts'
import { fromAISDK } from '../ai-sdk.ts'
import type { Part } from './ai-sdk.test-kit.ts'
import { collect, fakeModel, request, stop, usage } from './ai-sdk.test-kit.ts'

describe('fromAISDK', () => {
  test('accepts models of every specification version', () => {
    expectTypeOf<LanguageModelV4>().toExtend<AISDKModel>()
    expectTypeOf<LanguageModelV3>().toExtend<AISDKModel>()
    expectTypeOf<LanguageModelV2>().toExtend<AISDKModel>()
    expectTypeOf<LanguageModelV4>().toExtend<Parameters<typeof fromAISDK>[0]>()
  })

  test("uses the SDK's model name and provider, and all capabilities by default", () => {
    const all = {
      tools: true,
      images: true,
      files: true,
      reasoning: true,
      streaming: true,
      structuredOutput: true,
    }
    expect(fromAISDK(fakeModel([]))).toMatchObject({
      id: 'acme-1',
      provider: 'acme.chat',
      capabilities: all,
    })
    const blind = fromAISDK(fakeModel([]), { id: 'blind', capabilities: { images: false } })
    expect([blind.id, blind.capabilities]).toEqual(['blind', { ...all, images: false }])
  })

  test.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [{ baseURL: 'https://example.org/v1' }, 'https://example.org'],
    [{ url: ({ path }: { path: string }) => `https://example.org/v1${path}` }, 'https://example.org'],
    [{ baseURL: '/api' }, undefined],
    [{ baseURL: () => 'https://example.org' }, undefined],
    [{ url: () => Promise.reject(new Error('not now')).catch(() => {}) }, undefined],
  ])('with the configuration %o has the address %s', (config, address) => {
    expect(fromAISDK({ ...fakeModel([]), config } as AISDKModel).address).toBe(address)
  })

  test.each<[unknown, string]>([
    [
      'gpt-5',
      `fromAISDK() takes a model, not its name: pass a model from the provider's package, such as openai("gpt-5")`,
    ],
    [
      undefined,
      'fromAISDK() takes a language model of an AI SDK provider (with modelId and doStream), not undefined',
    ],
    [{ modelId: 'embedding', doEmbed() {} }, 'fromAISDK() takes a language model of an AI SDK provider'],
    [
      { ...fakeModel([]), specificationVersion: 'v1' },
      `the model 'acme-1' has specification version "v1"; supported are v2, v3 and v4`,
    ],
    [
      { ...fakeModel([]), specificationVersion: undefined },
      "the model 'acme-1' has specification version undefined",
    ],
  ])('rejects %o', (model, message) => {
    expect(() => fromAISDK(model as AISDKModel)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(message) }),
    )
  })

  test.each<[unknown, string]>([
    [{ temprature: 1 }, "the option of fromAISDK() 'temprature' does not exist: did you mean 'temperature'?"],
    [{ temperature: 'hot' }, '\'temperature\' must be a number, not "hot"'],
    [{ download: true }, "'download' must be a function"],
    [{ tools: [] }, "'tools' must be an object of tools, not an array"],
    [
      { tools: { look: { name: 'look' } } },
      "'tools' must hold provider tools (with id and args), but 'look' is not one: pass your own tools to agent({ tools })",
    ],
    ['fast', 'the options of fromAISDK() must be an object, not a string'],
  ])('rejects the options %j', (options, message) => {
    expect(() => fromAISDK(fakeModel([]), options as AISDKOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(message) }),
    )
  })
})

describe('canceling', () => {
  /** Emits one word and then nothing, and ignores the signal. */
  function signalIgnorer() {
    const canceled = Promise.withResolvers<unknown>()
    const model: AISDKModel = {
      ...fakeModel([]),
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => controller.enqueue({ type: 'text-delta', id: 't', delta: 'Well' }),
          cancel: canceled.resolve,
        }),
      }),
    }
    return { model: fromAISDK(model), canceled: canceled.promise }
  }

  test('closes the stream of a provider that ignores the signal', async () => {
    const { model, canceled } = signalIgnorer()
    const run = agent({ model }).stream('Talk.')
    for await (const _ of run.text()) run.cancel()
    await canceled
    expect((await run.result).outcome).toBe('canceled')
  })

  test('ends a pending read', async () => {
    const { model, canceled } = signalIgnorer()
    const controller = new AbortController()
    const iterator = model.stream(request, { signal: controller.signal })[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    controller.abort()
    await expect(next).rejects.toMatchObject({ code: 'stream_interrupted' })
    await canceled
  })

  test('before the stream is open closes it once it is', async () => {
    const { model, canceled } = signalIgnorer()
    const controller = new AbortController()
    const first = model.stream(request, { signal: controller.signal })[Symbol.asyncIterator]().next()
    controller.abort()
    await expect(first).rejects.toMatchObject({ code: 'stream_interrupted' })
    await canceled
  })

  test('reaches the provider through its signal', async () => {
    const model = fakeModel([[stop]])
    const controller = new AbortController()
    await fromAISDK(model).stream(request, { signal: controller.signal })[Symbol.asyncIterator]().next()
    expect(model.calls[0]?.abortSignal).toBe(controller.signal)
  })

  test('reading to the end closes the stream', async () => {
    const canceled = Promise.withResolvers<unknown>()
    const model: AISDKModel = {
      ...fakeModel([]),
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => controller.enqueue(stop),
          cancel: canceled.resolve,
        }),
      }),
    }
    expect((await collect(model)).events).toHaveLength(1)
    await canceled.promise
  })

  test('leaves no listener on the signal after the end', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    const stream = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} })
          controller.close()
        },
      })
    const model = fromAISDK({
      specificationVersion: 'v4',
      provider: 'p',
      modelId: 'm',
      doStream: async () => ({ stream: stream() }),
    })
    await Array.fromAsync(model.stream(request, { signal }))
    expect(listeners).toBe(0)
  })
})

describe('a turn that the provider pauses', () => {
  const pause: Part = { type: 'finish', finishReason: { unified: 'stop', raw: 'pause_turn' }, usage }
  const search: Part = {
    type: 'tool-call',
    toolCallId: 's1',
    toolName: 'search',
    input: '{"q":"x"}',
    providerExecuted: true,
  }

  test('continues from the partial answer, as one answer', async () => {
    const model = fakeModel([
      [{ type: 'text-delta', id: 't', delta: 'I search. ' }, search, pause],
      [{ type: 'text-delta', id: 't', delta: 'Found.' }, stop],
    ])
    const { events } = await collect(model)
    expect(events.map(({ type }) => type)).toEqual(['text', 'provider-tool', 'text', 'done'])
    expect(events.at(-1)).toMatchObject({
      finish: 'stop',
      usage: { inputTokens: 10, outputTokens: 14 },
    })
    expect(model.calls[1]?.prompt).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I search. ' },
          { type: 'tool-call', toolCallId: 's1', providerExecuted: true },
        ],
      },
    ])
  })

  test('too often is a failure', async () => {
    const { error } = await collect(fakeModel(Array.from({ length: 30 }, () => [search, pause])))
    expect(error).toMatchObject({ code: 'llm_error', message: expect.stringContaining('without finishing') })
  })
})
