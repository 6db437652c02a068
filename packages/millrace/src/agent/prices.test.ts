import type { Provider } from '@pydantic/genai-prices'
import { calcPrice, waitForUpdate } from '@pydantic/genai-prices'
import { afterEach, describe, expect, test, vi } from 'vitest'
import installed from '../../../../node_modules/@pydantic/genai-prices/package.json' with { type: 'json' }
import { anthropic } from '../models/anthropic.ts'
import { openai, openaiChat } from '../models/openai.ts'
import type { Model, Price, Usage } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { pricesProblem, pricesWith } from './prices.ts'

const modelAt = (given: Partial<Model>): Model => ({ ...scriptedModel([]), ...given })
const prices = pricesWith({})

async function priceOf(model: Model) {
  await prices.ready(model)
  return prices.find(model)
}

afterEach(() => void vi.useRealTimers())

describe('a price of one’s own', () => {
  const model = modelAt({ id: 'mine', price: { input: 2, output: 8 } })

  test('is per million tokens, and every token costs once', () => {
    const price: Price = {
      input: 1,
      output: 2,
      cacheRead: 0.1,
      cacheWrite: 1.25,
      cacheWrite1h: 2.5,
      reasoning: 3,
      inputAudio: 10,
      outputAudio: 20,
      inputImage: 5,
      outputImage: 40,
      webSearches: 10,
    }
    const usage: Usage = {
      inputTokens: 1_000_000,
      outputTokens: 1_000_000,
      cacheReadTokens: 500_000,
      cacheWriteTokens: 200_000,
      cacheWrite1hTokens: 100_000,
      inputAudioTokens: 100_000,
      inputImageTokens: 100_000,
      reasoningTokens: 200_000,
      outputAudioTokens: 100_000,
      outputImageTokens: 100_000,
      webSearches: 3,
    }
    const input = 0.1 * 1 + 0.5 * 0.1 + 0.1 * 1.25 + 0.1 * 2.5 + 0.1 * 10 + 0.1 * 5
    const output = 0.6 * 2 + 0.2 * 3 + 0.1 * 20 + 0.1 * 40
    const cost = pricesWith({ mine: price }).find(model)?.costOf(usage)
    expect(cost?.usd).toBeCloseTo(input + output + 0.03, 9)
    expect(cost?.prices).toBe('custom')
  })

  test('covers the kinds without a price as input and output', () => {
    const usage = {
      inputTokens: 30,
      cacheReadTokens: 10,
      cacheWriteTokens: 10,
      outputTokens: 5,
      webSearches: 2,
    }
    expect(prices.find(model)?.costOf(usage)).toStrictEqual({ usd: 0.0001, prices: 'custom' })
    // Cache writes for an hour cost as much as others.
    const written = { inputTokens: 1000, cacheWriteTokens: 1000, cacheWrite1hTokens: 1000 }
    const price = pricesWith({ mine: { input: 1, output: 1, cacheWrite: 3 } }).find(model)
    expect(price?.costOf(written).usd).toBe(0.003)
  })

  test('by id comes before that of the model, and both before the catalog', () => {
    const known = modelAt({ id: 'gpt-5.5', provider: 'openai' })
    const priced = { ...known, price: { input: 2, output: 0 } }
    const usage = { inputTokens: 1_000_000 }
    const custom = pricesWith({ 'gpt-5.5': { input: 1, output: 0 } })
    expect(custom.find(priced)?.costOf(usage).usd).toBe(1)
    expect(prices.find(priced)?.costOf(usage).usd).toBe(2)
    expect(custom.ready(known)).toBeUndefined()
    expect(prices.ready(priced)).toBeUndefined()
    // A name that every object has is no price.
    expect(pricesWith({}).find(modelAt({ id: 'toString' }))).toBeUndefined()
  })

  test('of a simulated model makes simulated costs', () => {
    const simulated = { ...model, simulated: true }
    const usage = { inputTokens: 1000 }
    expect(prices.find(simulated)?.costOf(usage)).toStrictEqual({ usd: 0.002, prices: 'simulated' })
    const custom = pricesWith({ mine: { input: 1, output: 1 } })
    expect(custom.find(simulated)?.costOf(usage)).toStrictEqual({ usd: 0.001, prices: 'simulated' })
  })

  test('counts parts that exceed the whole only up to the whole', () => {
    const price = pricesWith({ mine: { input: 1, output: 1, cacheRead: 0, reasoning: 5 } }).find(model)
    const usage = {
      inputTokens: 100,
      cacheReadTokens: 500,
      cacheWriteTokens: 500,
      outputTokens: 10,
      reasoningTokens: 90,
    }
    expect(price?.costOf(usage).usd).toBe(0.00005)
  })

  test('rounds to nano-dollars', () => {
    const price = pricesWith({ mine: { input: 0.0123, output: 0 } }).find(model)
    expect(price?.costOf({ inputTokens: 1 }).usd).toBe(12e-9)
  })
})

describe('the catalog', () => {
  test('prices the models of providers, with the installed version and the length of the context', async () => {
    const price = await priceOf(openai('gpt-5.5'))
    expect(price?.costOf({ inputTokens: 1000, cacheReadTokens: 400, outputTokens: 100 })).toStrictEqual({
      usd: (600 * 5 + 400 * 0.5 + 100 * 30) / 1e6,
      prices: `genai-prices ${installed.version}`,
    })
    expect(price?.contextTokens).toBe(1_000_000)
    expect((await priceOf(anthropic('claude-sonnet-4-5-20250929')))?.costOf({ inputTokens: 1000 }).usd).toBe(
      0.003,
    )
  })

  test('prices the whole request by the length of its input', async () => {
    const price = await priceOf(openai('gpt-5.5'))
    expect(price?.costOf({ inputTokens: 271_999, outputTokens: 1000 }).usd).toBe(1.359995 + 0.03)
    expect(price?.costOf({ inputTokens: 272_000, outputTokens: 1000 }).usd).toBe(2.72 + 0.045)
  })

  test.each([
    ['https://api.groq.com/openai/v1', 'openai/gpt-oss-120b'],
    ['https://api.deepseek.com/v1', 'deepseek-chat'],
    ['https://api.mistral.ai/v1', 'mistral-large-latest'],
    ['https://api.x.ai/v1', 'grok-4'],
    ['https://api.moonshot.ai/v1', 'kimi-k2-0905-preview'],
    ['https://openrouter.ai/api/v1', 'anthropic/claude-sonnet-4.5'],
    ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini-2.5-flash'],
    ['https://desk.openai.azure.com/openai/v1', 'gpt-4o'],
  ])('knows the provider at %s', async (baseURL, id) => {
    expect(await priceOf(openaiChat(id, { baseURL, apiKey: 'key' }))).toBeDefined()
  })

  test.each([
    ['openai.responses', 'gpt-5.5'],
    ['anthropic.messages', 'claude-sonnet-4-5'],
    ['google.generative-ai', 'gemini-2.5-pro'],
    ['google.vertex.chat', 'gemini-2.5-pro'],
    ['amazon-bedrock', 'amazon.nova-pro-v1:0'],
    ['xai.chat', 'grok-4'],
    ['azure.responses', 'gpt-4o'],
  ])('knows %s of the AI SDK', async (provider, id) => {
    expect(await priceOf(modelAt({ id, provider }))).toBeDefined()
  })

  test.each<[string, Partial<Model>]>([
    ['a local server', { provider: 'openai', address: 'http://127.0.0.1:8000' }],
    ['a gateway', { provider: 'openai', address: 'https://models.example.org' }],
    ['a provider with a similar name', { provider: 'my-openai' }],
    ['a model that is not in the catalog', { provider: 'openai', id: 'gpt-none' }],
    ['a model without a price in the catalog', { provider: 'openai', id: 'whisper-1' }],
    ['a simulated model', { provider: 'openai', simulated: true }],
  ])('has no price for %s', async (_, given) => {
    const model = modelAt({ id: 'gpt-5.5', ...given })
    expect(await priceOf(model)).toBeUndefined()
  })

  test('has prices of zero for models that are free', async () => {
    const price = await priceOf(modelAt({ provider: 'openrouter', id: 'openai/gpt-oss-20b:free' }))
    expect(price?.costOf({ inputTokens: 1000, outputTokens: 1000 }).usd).toBe(0)
  })

  test('has the price of the time of the day', async () => {
    const model = openaiChat('deepseek-chat', { baseURL: 'https://api.deepseek.com/v1', apiKey: 'key' })
    await prices.ready(model)
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2025-08-01T16:29:59Z') })
    const before = prices.find(model)?.costOf({ inputTokens: 1_000_000 }).usd as number
    vi.setSystemTime(new Date('2025-08-01T16:30:00Z'))
    const after = prices.find(model)?.costOf({ inputTokens: 1_000_000 }).usd
    expect(after).toBe(before / 2)
  })
})

describe('loading the catalog', () => {
  test('happens once, when a model needs it', async () => {
    vi.resetModules()
    const { pricesWith: fresh } = await import('./prices.ts')
    const one = fresh({})
    for (const model of [
      scriptedModel([]),
      modelAt({ provider: 'openai', price: { input: 1, output: 1 } }),
      modelAt({ provider: 'openai', simulated: true }),
      openaiChat('gpt-5.5', { baseURL: 'http://127.0.0.1:11434/v1' }),
    ])
      expect(one.ready(model)).toBeUndefined()
    const model = openai('gpt-5.5')
    expect(one.find(model)).toBeUndefined()
    const loading = one.ready(model)
    expect(loading).toBeInstanceOf(Promise)
    expect(one.ready(model)).toBe(loading)
    await loading
    expect(one.ready(model)).toBeUndefined()
    expect(one.find(model)).toBeDefined()
  })

  test('may fail: prices are unknown then', async () => {
    vi.resetModules()
    vi.doMock('@pydantic/genai-prices', () => {
      throw new Error('Cannot find package')
    })
    try {
      const { pricesWith: fresh } = await import('./prices.ts')
      const one = fresh({})
      await one.ready(openai('gpt-5.5'))
      expect(one.find(openai('gpt-5.5'))).toBeUndefined()
      expect(one.ready(openai('gpt-5.5'))).toBeUndefined()
    } finally {
      vi.doUnmock('@pydantic/genai-prices')
    }
  })

  test('leaves the version out where there is no file system', async () => {
    vi.resetModules()
    const gone = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    const { pricesWith: fresh } = await import('./prices.ts')
    const one = fresh({})
    await one.ready(openai('gpt-5.5'))
    expect(one.find(openai('gpt-5.5'))?.costOf({}).prices).toBe('genai-prices')
    gone.mockRestore()
  })
})

describe('costs are those of the package', () => {
  /** Deterministic, so that a failure can be repeated. */
  function random(seed: number) {
    let state = seed
    return (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
  }

  function randomUsage(below: (count: number) => number): Usage {
    const inputTokens = below(2) ? below(2000) : below(1_200_000)
    const outputTokens = below(100_000)
    // Sevenths, so that the parts do not exceed the whole.
    const some = (whole: number) => (below(2) ? below(Math.floor(whole / 7) + 1) : 0)
    const cacheWriteTokens = some(inputTokens)
    return {
      inputTokens,
      outputTokens,
      cacheReadTokens: some(inputTokens),
      cacheWriteTokens,
      cacheWrite1hTokens: below(cacheWriteTokens + 1),
      inputAudioTokens: some(inputTokens),
      inputImageTokens: some(inputTokens),
      reasoningTokens: some(outputTokens),
      outputAudioTokens: some(outputTokens),
      outputImageTokens: some(outputTokens),
      webSearches: below(5),
    }
  }

  function packageUsage(usage: Usage) {
    return {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cache_read_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      cache_write_1h_tokens: usage.cacheWrite1hTokens ?? 0,
      cache_audio_read_tokens: 0,
      cache_image_read_tokens: 0,
      input_audio_tokens: usage.inputAudioTokens ?? 0,
      input_image_tokens: usage.inputImageTokens ?? 0,
      output_reasoning_tokens: usage.reasoningTokens,
      output_audio_tokens: usage.outputAudioTokens ?? 0,
      output_image_tokens: usage.outputImageTokens ?? 0,
      web_searches: usage.webSearches ?? 0,
    }
  }

  const dates = [
    '2024-03-01T12:00:00Z',
    '2025-06-20T03:30:00Z',
    '2026-02-11T16:31:00Z',
    '2026-09-01T07:00:00Z',
  ]

  test.each(dates)('for every model on %s', async (date) => {
    await prices.ready(openai('gpt-5.5'))
    const timestamp = new Date(date)
    vi.useFakeTimers({ toFake: ['Date'], now: timestamp })
    const below = random(timestamp.getTime())
    let compared = 0
    let tiered = 0
    for (const { id: provider, models } of (await waitForUpdate()) as Provider[]) {
      const ours = {
        openai: 'openai',
        anthropic: 'anthropic',
        'x-ai': 'xai',
        aws: 'bedrock',
        together: 'togetherai',
      }
      const name = (ours as Record<string, string>)[provider] ?? provider
      for (const { id } of models) {
        const price = prices.find(modelAt({ id, provider: name }))
        if (!price) continue
        for (let round = 0; round < 3; round++) {
          const usage = randomUsage(below)
          const expected = calcPrice(packageUsage(usage), id, { providerId: provider, timestamp })
          const off = Math.abs(price.costOf(usage).usd - (expected?.total_price ?? 0))
          if (!(off <= 1e-9)) expect.unreachable(`${provider}/${id} ${JSON.stringify(usage)}: off by ${off}`)
          compared++
          if (Object.values(expected?.model_price ?? {}).some((one) => typeof one === 'object')) tiered++
        }
      }
    }
    expect(compared).toBeGreaterThan(2000)
    expect(tiered).toBeGreaterThan(50)
  })
})

describe('the option prices', () => {
  test('takes prices by model id', () => {
    expect(pricesProblem({})).toBe(false)
    expect(pricesProblem({ mine: { input: 0, output: 4.5, cacheRead: undefined, webSearches: 10 } })).toBe(
      false,
    )
  })

  test.each<[unknown, string]>([
    [undefined, 'must be an object of prices by model id'],
    [[], 'not an array'],
    [{ mine: 1 }, "has a price for 'mine' that must be an object"],
    [{ mine: { input: 1 } }, "has a price for 'mine' that needs 'output'"],
    [{ mine: { input: 1, output: -1 } }, "'output', which must be a number of at least 0, not -1"],
    [{ mine: { input: Number.POSITIVE_INFINITY, output: 1 } }, 'not Infinity'],
    [{ mine: { input: '1', output: 1 } }, 'not "1"'],
    [{ mine: { input: 1, output: 1, cached: 1 } }, "has no 'cached'"],
    [{ mine: { input: 1, output: 1, cached: 1 } }, 'available: input, output, cacheRead'],
  ])('rejects %j', (value, problem) => {
    expect(pricesProblem(value)).toContain(problem)
  })
})
