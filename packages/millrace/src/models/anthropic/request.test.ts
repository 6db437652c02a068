import type { MessageCreateParamsStreaming as BetaParams } from '@anthropic-ai/sdk/resources/beta/messages'
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { JsonObject, Message, ModelRequest, ModelSettings } from '../../protocol/index.ts'
import { conversation, longId, look, pdf, png, wait } from '../openai-chat/conversation.test-kit.ts'
import { del, sentBody, user } from '../wires.test-kit.ts'
import type { CacheTime } from './cache-marks.ts'
import { anthropicMessageCache } from './messages.ts'
import type { AnthropicExtra } from './model.ts'
import { anthropicBody } from './request.ts'
import { traitsOf } from './traits.ts'

interface BodyOptions extends Partial<ModelRequest> {
  readonly model?: string
  readonly cache?: CacheTime | undefined
}

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }]

/** Without cache breakpoints by default. */
function bodyFor({ model = 'claude-sonnet-4-5', cache, ...request }: BodyOptions): JsonObject {
  const { settings = {} } = request
  return anthropicBody(
    { messages: hi, tools: [], settings, ...request },
    { model, convert: anthropicMessageCache('anthropic'), traits: traitsOf(model), settings, cache },
  )
}

const field = (name: string, asked: BodyOptions) => bodyFor(asked)[name]

describe('a body', () => {
  test('of a conversation with every part type matches the API', () => {
    const renamed = expect.stringMatching(/^toolu_[a-z0-9]{9}$/) as unknown as string
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } } as const
    const marked = { cache_control: { type: 'ephemeral' } } as const
    const expected: MessageCreateParamsStreaming = {
      model: 'claude-sonnet-4-5',
      max_tokens: 64_000,
      system: [{ type: 'text', text: 'Be brief.', ...marked }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            image,
            { type: 'image', source: { type: 'url', url: 'https://example.com/cat.jpg' } },
            image,
            {
              type: 'document',
              title: 'bill.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data: pdf },
            },
            {
              type: 'document',
              title: 'note.txt',
              source: { type: 'text', media_type: 'text/plain', data: 'Hello, Zoë' },
            },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'a', name: 'look', input: { at: 'cat' } },
            { type: 'tool_use', id: renamed, name: 'look', input: { at: 'bill' } },
            { type: 'tool_use', id: renamed, name: 'look', input: {} },
            { type: 'tool_use', id: 'd', name: 'look', input: { at: 'nothing' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'a cat' }] },
            {
              type: 'tool_result',
              tool_use_id: renamed,
              content: [{ type: 'text', text: '{"total":12.5}' }, image],
            },
            {
              type: 'tool_result',
              tool_use_id: renamed,
              content: [{ type: 'text', text: 'bad JSON' }],
              is_error: true,
            },
            { type: 'tool_result', tool_use_id: 'd' },
            { type: 'text', text: 'The shop closes soon.', ...marked },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'A cat and a bill.' }] },
        { role: 'user', content: [{ type: 'text', text: 'Thanks.', ...marked }] },
      ],
      stream: true,
      tools: [
        {
          name: 'look',
          description: 'Looks at something',
          input_schema: { type: 'object', ...look.inputSchema },
        },
        { name: 'wait', description: 'Waits', input_schema: { type: 'object' }, strict: false, ...marked },
      ],
      tool_choice: { type: 'auto' },
    }
    const body = bodyFor({ messages: conversation, tools: [look, wait], toolChoice: 'auto', cache: '5m' })
    expect(body).toStrictEqual(expected)
    // The same id in call and result, and no duplicates.
    const text = JSON.stringify(body)
    const ids = (name: string) =>
      [...text.matchAll(new RegExp(`"${name}":"([^"]*)"`, 'g'))].map(([, id]) => id)
    expect(ids('tool_use_id')).toEqual(ids('id'))
    expect(new Set(ids('id')).size).toBe(4)
    expect(text).not.toContain(longId)
  })

  test('has every setting in its field', () => {
    const settings: ModelSettings = {
      temperature: 0.2,
      maxOutputTokens: 500,
      stop: ['END'],
      // Not supported by this API.
      seed: 7,
      parallelToolCalls: false,
      extra: { metadata: { user_id: 'u' }, service_tier: 'auto' },
    }
    const expected: MessageCreateParamsStreaming & { temperature: number } = {
      model: 'claude-sonnet-4-5',
      max_tokens: 500,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      stream: true,
      tools: [
        {
          name: 'look',
          description: 'Looks at something',
          input_schema: { type: 'object', ...look.inputSchema },
          strict: true,
        },
      ],
      tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
      temperature: 0.2,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      service_tier: 'auto',
    }
    const tools = [{ ...look, strict: true }]
    expect(bodyFor({ tools, toolChoice: { name: 'look' }, settings })).toStrictEqual(expected)
  })

  test('without settings has no optional fields', () => {
    expect(Object.keys(bodyFor({}))).toEqual(['model', 'max_tokens', 'messages', 'stream'])
  })

  test('has the tools in their order, followed by extra tools', () => {
    const search = { type: 'web_search_20250305', name: 'web_search' }
    const names = ['zebra', 'ant', 'mole']
    const tools = names.map((name) => ({ ...look, name }))
    expect(field('tools', { tools, settings: { extra: { tools: [search] } } })).toMatchObject(
      [...names, 'web_search'].map((name) => ({ name })),
    )
    expect(bodyFor({ settings: { extra: { tools: [search], max_tokens: 7 } } })).toMatchObject({
      tools: [search],
      max_tokens: 7,
    })
  })

  test("the types of extra match Anthropic's", () => {
    type Known = { [Key in keyof AnthropicExtra as string extends Key ? never : Key]: AnthropicExtra[Key] }
    // Models before 4.7 accept `top_k`; the SDK's types lack it.
    expectTypeOf<Exclude<keyof Known, 'top_k'>>().toExtend<keyof BetaParams>()
    expectTypeOf<Pick<Known, 'inference_geo' | 'metadata' | 'service_tier'>>().toExtend<Partial<BetaParams>>()
  })
})

describe('tool choice', () => {
  const choice = (asked: BodyOptions) => field('tool_choice', { tools: [look], ...asked })
  const alone: ModelSettings = { parallelToolCalls: false }

  test('is omitted if it is the default or there are no tools', () => {
    expect(choice({})).toBeUndefined()
    expect(choice({ settings: { parallelToolCalls: true } })).toBeUndefined()
    expect(choice({ tools: [], toolChoice: 'required' })).toBeUndefined()
  })

  test("uses Anthropic's format", () => {
    expect(choice({ toolChoice: 'none', settings: alone })).toEqual({ type: 'none' })
    expect(choice({ toolChoice: 'required' })).toEqual({ type: 'any' })
    expect(choice({ toolChoice: 'required', settings: alone })).toEqual({
      type: 'any',
      disable_parallel_tool_use: true,
    })
    expect(choice({ settings: alone })).toEqual({ type: 'auto', disable_parallel_tool_use: true })
  })

  test('is auto for a model that does not support forced tools', () => {
    expect(choice({ model: 'claude-opus-5-5', toolChoice: 'required' })).toEqual({ type: 'auto' })
    expect(choice({ model: 'claude-opus-5-5', toolChoice: { name: 'look' } })).toEqual({ type: 'auto' })
  })
})

describe('sampling', () => {
  const both: ModelSettings = { temperature: 0.2, topP: 0.9 }
  const sampling = (model: string, settings: ModelSettings) => {
    const { temperature, top_p } = bodyFor({ model, settings })
    return [temperature, top_p]
  }

  test('is sent only if the model supports it', () => {
    expect(sampling('claude-3-5-haiku-latest', both)).toEqual([0.2, 0.9])
    expect(sampling('claude-sonnet-4-5', both)).toEqual([0.2, undefined])
    expect(sampling('claude-sonnet-4-5', { topP: 0.9 })).toEqual([undefined, 0.9])
    expect(sampling('claude-opus-4-7', both)).toEqual([undefined, undefined])
  })

  test('is omitted with thinking', () => {
    expect(sampling('claude-sonnet-4-5', { ...both, reasoning: 'low' })).toEqual([undefined, undefined])
    expect(sampling('claude-opus-4-6', { ...both, reasoning: 'low' })).toEqual([undefined, undefined])
    expect(sampling('claude-opus-4-6', { ...both, reasoning: 'none' })).toEqual([0.2, undefined])
  })
})

describe('thinking', () => {
  const thinking = (model: string, reasoning: ModelSettings['reasoning'], more: BodyOptions = {}) => {
    const settings = { ...more.settings, ...(reasoning && { reasoning }) }
    const { thinking, output_config } = bodyFor({ model, ...more, settings })
    return {
      ...(thinking !== undefined && { thinking }),
      ...(output_config !== undefined && { output_config }),
    }
  }

  test('is omitted unless requested and supported', () => {
    expect(thinking('claude-opus-4-6', undefined)).toEqual({})
    expect(thinking('claude-3-5-haiku-latest', 'high')).toEqual({})
  })

  test('has a budget for models that need one', () => {
    const budget = (tokens: number): Pick<MessageCreateParamsStreaming, 'thinking'> => ({
      thinking: { type: 'enabled', budget_tokens: tokens },
    })
    expect(thinking('claude-sonnet-4-5', 'minimal')).toEqual(budget(1024))
    expect(thinking('claude-sonnet-4-5', 'low')).toEqual(budget(4096))
    expect(thinking('claude-sonnet-4-5', 'high')).toEqual(budget(32_000))
    expect(thinking('claude-sonnet-4-5', 'none')).toEqual({})
  })

  test('leaves room for the answer, or is omitted', () => {
    const within = (maxOutputTokens: number) =>
      thinking('claude-sonnet-4-5', 'high', { settings: { maxOutputTokens } })
    expect(within(4096)).toEqual({ thinking: { type: 'enabled', budget_tokens: 3072 } })
    expect(within(2000)).toEqual({})
  })

  test('is adaptive for newer models, with an effort', () => {
    const adaptive = (
      effort: 'low' | 'high',
    ): Pick<MessageCreateParamsStreaming, 'thinking' | 'output_config'> => ({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort },
    })
    expect(thinking('claude-opus-4-6', 'high')).toEqual(adaptive('high'))
    expect(thinking('claude-opus-5-5', 'minimal')).toEqual(adaptive('low'))
    expect(thinking('claude-opus-5', 'none')).toEqual({ thinking: { type: 'disabled' } })
    // A model that always thinks gets a low effort instead.
    expect(thinking('claude-fable-5', 'none')).toEqual({ output_config: { effort: 'low' } })
  })

  test.each(['required', { name: 'look' }] as const)('is omitted if a tool is forced (%j)', (toolChoice) => {
    const forced = { tools: [look], toolChoice }
    expect(thinking('claude-sonnet-4-5', 'high', forced)).toEqual({})
    expect(thinking('claude-opus-4-6', 'high', forced)).toEqual({ output_config: { effort: 'high' } })
    // This model does not support forced tools.
    expect(thinking('claude-opus-5-5', 'high', forced)).toMatchObject({ thinking: { type: 'adaptive' } })
  })

  test('is omitted in a turn that started without it', () => {
    const call = { type: 'tool-call', callId: 'a', name: 'look', input: {} } as const
    const result: Message = { role: 'tool', callId: 'a', name: 'look', content: [] }
    const opaque = { provider: 'anthropic', data: { type: 'thinking', signature: 's' } }
    const turn = (content: Extract<Message, { role: 'assistant' }>['content'], ...more: readonly Message[]) =>
      thinking('claude-sonnet-4-5', 'low', {
        tools: [look],
        messages: [...hi, { role: 'assistant', content }, result, ...more],
      })
    const enabled = { thinking: { type: 'enabled', budget_tokens: 4096 } }
    expect(turn([call])).toEqual({})
    expect(turn([{ type: 'reasoning', text: 'Hm.', opaque }, call])).toEqual(enabled)
    expect(turn([call], { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }, ...hi)).toEqual(
      enabled,
    )
  })

  test('stays on in a turn that started with it', async () => {
    const thought = {
      type: 'reasoning',
      text: 'x',
      opaque: { provider: 'anthropic', data: { type: 'thinking', signature: 's' } },
    } as const
    const round = (callId: string, thinks: boolean): Message[] => [
      {
        role: 'assistant',
        content: [...(thinks ? [thought] : []), { type: 'tool-call', callId, name: 'del', input: {} }],
      },
      { role: 'tool', callId, name: 'del', content: [{ type: 'text', text: 'r' }] },
    ]
    const settings = { reasoning: 'low' } as const
    const started = [user, ...round('a', true), ...round('b', false)]
    expect(await sentBody('Messages', { messages: started, settings })).toHaveProperty('thinking')
    const elsewhere = [user, ...round('a', false), ...round('b', true)]
    expect(await sentBody('Messages', { messages: elsewhere, settings })).not.toHaveProperty('thinking')
  })
})

describe('a schema for the answer', () => {
  test("is closed and has no rejected keywords; the caller's output_config overrides ours", () => {
    const output = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        total: { type: 'number', minimum: 0 },
        kind: { oneOf: [{ const: 'a' }, { type: 'string', minLength: 1 }] },
        // Property names are not keywords.
        pattern: { type: 'object', properties: {} },
      },
      required: ['total'],
    }
    const expected: MessageCreateParamsStreaming['output_config'] = {
      effort: 'max',
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: {
            total: { type: 'number' },
            kind: { anyOf: [{ const: 'a' }, { type: 'string' }] },
            pattern: { type: 'object', properties: {}, additionalProperties: false },
          },
          required: ['total'],
          additionalProperties: false,
        },
      },
    }
    const settings: ModelSettings = { reasoning: 'low', extra: { output_config: { effort: 'max' } } }
    expect(field('output_config', { model: 'claude-opus-4-6', output, settings })).toEqual(expected)
  })
})

test('a tool that Anthropic defines replaces ours with that name', async () => {
  const tools = [{ ...del, name: 'bash', inputSchema: {} }]
  const settings = { extra: { tools: [{ type: 'bash_20250124', name: 'bash' }] } }
  expect(await sentBody('Messages', { tools, settings })).toMatchObject({
    tools: [{ type: 'bash_20250124', name: 'bash' }],
  })
})
