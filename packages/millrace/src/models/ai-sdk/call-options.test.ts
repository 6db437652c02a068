import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../protocol/index.ts'
import type { AISDKOptions } from '../ai-sdk.ts'
import { collect, fakeModel, lookTool, stop } from './ai-sdk.test-kit.ts'

/** The call options, without the prompt and the signal. */
async function optionsOf(
  asked: Partial<ModelRequest>,
  overrides: Parameters<typeof fakeModel>[1] = {},
  options?: AISDKOptions,
) {
  const model = fakeModel([[stop]], overrides)
  const { error } = await collect(model, { tools: [], ...asked }, options)
  if (error) throw error
  const { prompt, abortSignal, ...rest } = model.calls[0] ?? { prompt: [] }
  expect(prompt).toHaveLength(1)
  expect(abortSignal).toBeInstanceOf(AbortSignal)
  return rest
}

describe('settings', () => {
  test('no settings send no options', async () => {
    expect(await optionsOf({})).toStrictEqual({})
  })

  test('use the names of the SDK', async () => {
    const settings = {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 100,
      stop: ['END'],
      seed: 7,
      reasoning: 'low',
      headers: { 'x-a': '1' },
      extra: { acme: { mode: 'fast' } },
    } as const
    const same = {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 100,
      stopSequences: ['END'],
      seed: 7,
      headers: { 'x-a': '1' },
      providerOptions: { acme: { mode: 'fast' } },
    }
    expect(await optionsOf({ settings })).toStrictEqual({ ...same, reasoning: 'low' })
    for (const specificationVersion of ['v2', 'v3'])
      expect(await optionsOf({ settings }, { specificationVersion })).toStrictEqual(same)
  })

  test("a request's settings override the model's, and extra is merged per provider", async () => {
    const defaults = { temperature: 0, seed: 1, extra: { acme: { a: 1, b: 1 }, other: { c: 1 } } }
    const settings = { temperature: 1, extra: { acme: { b: 2 }, third: { d: 2 } } }
    expect(await optionsOf({ settings }, {}, defaults)).toStrictEqual({
      temperature: 1,
      seed: 1,
      providerOptions: { acme: { a: 1, b: 2 }, other: { c: 1 }, third: { d: 2 } },
    })
  })

  test('extra that is not keyed by provider is rejected with the expected format', async () => {
    await expect(optionsOf({ settings: { extra: { top_k: 5 } } })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('keyed by provider: { openai: { … } }'),
    })
  })

  test('a structured answer sends the schema with closed objects, as strict providers require', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } } }
    const schema = { ...output, additionalProperties: false }
    expect(await optionsOf({ output })).toStrictEqual({ responseFormat: { type: 'json', schema } })
  })
})

describe('tools', () => {
  const strict = { ...lookTool, name: 'find', strict: true }
  const look = { type: 'function', ...lookTool }

  test('are sent as function tools in order', async () => {
    expect(await optionsOf({ tools: [strict, lookTool] })).toStrictEqual({
      tools: [{ type: 'function', ...strict }, look],
      toolChoice: { type: 'auto' },
    })
  })

  test.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [{ name: 'look' }, { type: 'tool', toolName: 'look' }],
  ] as const)('the choice %j is %j', async (toolChoice, choice) => {
    expect(await optionsOf({ tools: [lookTool], toolChoice })).toMatchObject({ toolChoice: choice })
  })

  const search = { id: 'acme.search_1', args: { max: 3 } }

  test.each([
    ['v4', 'provider'],
    ['v3', 'provider'],
    ['v2', 'provider-defined'],
  ])('provider tools come after ours, in the format of %s', async (specificationVersion, type) => {
    const tools = { web_search: search }
    const { tools: sent } = await optionsOf({ tools: [lookTool] }, { specificationVersion }, { tools })
    expect(sent).toStrictEqual([look, { type, name: 'web_search', ...search }])
  })

  test('a provider tool with the name of one of ours replaces it', async () => {
    const { tools } = await optionsOf({ tools: [lookTool, strict] }, {}, { tools: { look: search } })
    expect(tools).toStrictEqual([
      { type: 'provider', name: 'look', ...search },
      { type: 'function', ...strict },
    ])
  })

  test.each<[string, object | undefined]>([
    ['openai.responses', { openai: { parallelToolCalls: false } }],
    ['groq.chat', { groq: { parallelToolCalls: false } }],
    ['mistral.chat', { mistral: { parallelToolCalls: false } }],
    ['azure.responses', { openai: { parallelToolCalls: false } }],
    ['anthropic.messages', { anthropic: { disableParallelToolUse: true } }],
    ['vertex.anthropic.messages', { anthropic: { disableParallelToolUse: true } }],
    ['acme.chat', undefined],
  ])('parallelToolCalls: false is sent to %s in its own format', async (provider, providerOptions) => {
    const asked = { tools: [lookTool], settings: { parallelToolCalls: false } }
    expect((await optionsOf(asked, { provider })).providerOptions).toEqual(providerOptions)
    expect((await optionsOf({ ...asked, tools: [] }, { provider })).providerOptions).toBeUndefined()
  })

  test('extra overrides parallelToolCalls', async () => {
    const extra = { openai: { parallelToolCalls: true, user: 'u' } }
    const asked = { tools: [lookTool], settings: { parallelToolCalls: false, extra } }
    expect((await optionsOf(asked, { provider: 'openai.chat' })).providerOptions).toEqual(extra)
    const azure = { azure: { user: 'u' } }
    const settings = { parallelToolCalls: false, extra: azure }
    expect((await optionsOf({ ...asked, settings }, { provider: 'azure.chat' })).providerOptions).toEqual({
      azure: { user: 'u', parallelToolCalls: false },
    })
  })
})
