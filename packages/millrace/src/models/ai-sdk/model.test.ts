import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { agent } from '../../agent/index.ts'
import type { AISDKModel, AISDKOptions } from '../ai-sdk.ts'
import { fromAISDK } from '../ai-sdk.ts'
import type { Part } from './ai-sdk.test-kit.ts'
import { handMade, hear, request, stop, usage } from './ai-sdk.test-kit.ts'

describe('what is a model', () => {
  test('those of every specification are, by their types', () => {
    expectTypeOf<LanguageModelV4>().toExtend<AISDKModel>()
    expectTypeOf<LanguageModelV3>().toExtend<AISDKModel>()
    expectTypeOf<LanguageModelV2>().toExtend<AISDKModel>()
    expectTypeOf<LanguageModelV4>().toExtend<Parameters<typeof fromAISDK>[0]>()
  })

  test('it has the SDK’s name and provider, and can do everything unless told otherwise', () => {
    const all = {
      tools: true,
      images: true,
      files: true,
      reasoning: true,
      streaming: true,
      structuredOutput: true,
    }
    expect(fromAISDK(handMade([]))).toMatchObject({
      id: 'acme-1',
      provider: 'acme.chat',
      capabilities: all,
    })
    const blind = fromAISDK(handMade([]), { id: 'blind', capabilities: { images: false } })
    expect([blind.id, blind.capabilities]).toEqual(['blind', { ...all, images: false }])
  })

  test.each<[unknown, string]>([
    [
      'gpt-5',
      'fromAISDK takes a model, not its name: pass what the provider\'s package makes, such as openai("gpt-5")',
    ],
    [
      undefined,
      'fromAISDK takes a language model of an AI SDK provider (with modelId and doStream), not undefined',
    ],
    [{ modelId: 'embedding', doEmbed() {} }, 'fromAISDK takes a language model of an AI SDK provider'],
    [
      { ...handMade([]), specificationVersion: 'v1' },
      `the model 'acme-1' has specification "v1", and v2, v3 and v4 are known`,
    ],
    [{ ...handMade([]), specificationVersion: undefined }, "the model 'acme-1' has specification undefined"],
  ])('%o is none', (model, message) => {
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
      "'tools' has at 'look' no tool of a provider (with id and args): your own tools go to agent({ tools })",
    ],
    ['fast', 'the options of fromAISDK() must be an object, not a string'],
  ])('options such as %j are refused', (options, message) => {
    expect(() => fromAISDK(handMade([]), options as AISDKOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(message) }),
    )
  })
})

describe('a cancel', () => {
  /** Says one word and then nothing, and never looks at the signal. */
  function deaf() {
    const cancelled = Promise.withResolvers<unknown>()
    const model: AISDKModel = {
      ...handMade([]),
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => controller.enqueue({ type: 'text-delta', id: 't', delta: 'Well' }),
          cancel: cancelled.resolve,
        }),
      }),
    }
    return { model: fromAISDK(model), cancelled: cancelled.promise }
  }

  test('closes the stream of a provider that does not look at the signal', async () => {
    const { model, cancelled } = deaf()
    const run = agent({ model }).stream('Talk.')
    for await (const _ of run.text()) run.cancel()
    await cancelled
    expect((await run.result).outcome).toBe('cancelled')
  })

  test('ends a reader that waits', async () => {
    const { model, cancelled } = deaf()
    const controller = new AbortController()
    const iterator = model.stream(request, { signal: controller.signal })[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    controller.abort()
    await expect(next).rejects.toMatchObject({ code: 'stream_interrupted' })
    await cancelled
  })

  test('that came before the stream did closes it when it comes', async () => {
    const { model, cancelled } = deaf()
    const controller = new AbortController()
    const first = model.stream(request, { signal: controller.signal })[Symbol.asyncIterator]().next()
    controller.abort()
    await expect(first).rejects.toMatchObject({ code: 'stream_interrupted' })
    await cancelled
  })

  test('reaches the provider through its signal', async () => {
    const model = handMade([[stop]])
    const controller = new AbortController()
    await fromAISDK(model).stream(request, { signal: controller.signal })[Symbol.asyncIterator]().next()
    expect(model.calls[0]?.abortSignal).toBe(controller.signal)
  })

  test('whoever has read the end leaves nothing open', async () => {
    const cancelled = Promise.withResolvers<unknown>()
    const model: AISDKModel = {
      ...handMade([]),
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => controller.enqueue(stop),
          cancel: cancelled.resolve,
        }),
      }),
    }
    expect((await hear(model)).events).toHaveLength(1)
    await cancelled.promise
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

  test('is gone on with from what was said, as one answer', async () => {
    const model = handMade([
      [{ type: 'text-delta', id: 't', delta: 'I search. ' }, search, pause],
      [{ type: 'text-delta', id: 't', delta: 'Found.' }, stop],
    ])
    const { events } = await hear(model)
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

  test('again and again is a failure', async () => {
    const { error } = await hear(handMade(Array.from({ length: 30 }, () => [search, pause])))
    expect(error).toMatchObject({ code: 'llm_error', message: expect.stringContaining('came to no end') })
  })
})
