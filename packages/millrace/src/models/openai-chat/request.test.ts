import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { AssistantPart, JsonObject, Message, ModelRequest, ModelSettings } from '../../protocol/index.ts'
import { sentBody, user } from '../wires.test-kit.ts'
import {
  closedAnswer,
  conversation,
  longId,
  look,
  note,
  openAnswer,
  pdf,
  png,
  wait,
} from './conversation.test-kit.ts'
import { dialectOf } from './dialects.ts'
import type { ChatExtra } from './model.ts'
import type { SendReasoning } from './request.ts'
import { chatBody, chatMessageCache } from './request.ts'

const addresses = {
  openai: 'https://api.openai.com/v1',
  mistral: 'https://api.mistral.ai/v1',
  deepseek: 'https://api.deepseek.com',
  moonshot: 'https://api.moonshot.ai/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  ollama: 'http://localhost:11434/v1',
} as const

interface BodyOptions extends Partial<ModelRequest> {
  readonly at?: keyof typeof addresses
  readonly sendReasoning?: SendReasoning
}

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }]

function bodyFor({ at = 'openai', sendReasoning = 'calls', ...request }: BodyOptions) {
  const dialect = dialectOf(addresses[at])
  const { settings = {} } = request
  return chatBody(
    { messages: hi, tools: [], settings, ...request },
    {
      model: 'acme-1',
      dialect,
      settings,
      convert: chatMessageCache({ provider: dialect.provider, dialect, sendReasoning }),
    },
  )
}

const messagesFor = (asked: BodyOptions) => bodyFor(asked).messages

/** An assistant message between a question and the results of its calls. */
function saying(...content: readonly AssistantPart[]): Message[] {
  const results = content.flatMap((part): Message[] =>
    part.type === 'tool-call' ? [{ role: 'tool', callId: part.callId, name: part.name, content: [] }] : [],
  )
  return [...hi, { role: 'assistant', content }, ...results]
}

const call = { type: 'tool-call', callId: 'a', name: 'look', input: {} } as const

describe('a body', () => {
  test('of a conversation with every part type matches the API', () => {
    const renamed = expect.stringMatching(/^call_[a-z0-9]{9}$/) as unknown as string
    const expected: ChatCompletionCreateParamsStreaming = {
      model: 'acme-1',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
            { type: 'image_url', image_url: { url: 'https://example.com/cat.jpg' } },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
            { type: 'file', file: { filename: 'bill.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
            { type: 'text', text: 'note.txt:\nHello, Zoë' },
          ],
        },
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":"cat"}' } },
            { id: renamed, type: 'function', function: { name: 'look', arguments: '{"at":"bill"}' } },
            { id: 'call.3', type: 'function', function: { name: 'look', arguments: '{}' } },
            { id: 'd', type: 'function', function: { name: 'look', arguments: '{"at":"nothing"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'a cat' },
        { role: 'tool', tool_call_id: renamed, content: '{"total":12.5}\n[the image follows]' },
        { role: 'tool', tool_call_id: 'call.3', content: 'bad JSON' },
        { role: 'tool', tool_call_id: 'd', content: '' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Image returned by look:' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
          ],
        },
        { role: 'system', content: 'The shop closes soon.' },
        { role: 'assistant', content: 'A cat and a bill.' },
        { role: 'user', content: 'Thanks.' },
      ],
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: 'Looks at something', parameters: { ...look.inputSchema } },
        },
        {
          type: 'function',
          function: { name: 'wait', description: 'Waits', parameters: { type: 'object' }, strict: false },
        },
      ],
      tool_choice: 'auto',
    }
    expect(bodyFor({ messages: conversation, tools: [look, wait], toolChoice: 'auto' })).toStrictEqual(
      expected,
    )
  })

  test('has every setting in its field', () => {
    const settings: ModelSettings = {
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 500,
      stop: ['END'],
      seed: 7,
      reasoning: 'low',
      parallelToolCalls: false,
    }
    const expected: ChatCompletionCreateParamsStreaming = {
      model: 'acme-1',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: 'function',
          function: {
            name: 'look',
            description: 'Looks at something',
            parameters: { ...look.inputSchema },
            strict: true,
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
      temperature: 0.2,
      top_p: 0.9,
      max_completion_tokens: 500,
      stop: ['END'],
      seed: 7,
      reasoning_effort: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { ...closedAnswer }, strict: true },
      },
    }
    const tools = [{ ...look, strict: true }]
    expect(bodyFor({ tools, toolChoice: { name: 'look' }, output: closedAnswer, settings })).toStrictEqual(
      expected,
    )
  })

  test('without settings has no optional fields', () => {
    expect(Object.keys(bodyFor({}))).toEqual(['model', 'messages', 'stream', 'stream_options'])
  })

  test('has no tool choice without tools', () => {
    const body = bodyFor({ toolChoice: 'none', settings: { parallelToolCalls: false } })
    expect(body).not.toHaveProperty('tool_choice')
    expect(body).not.toHaveProperty('parallel_tool_calls')
    expect(body).not.toHaveProperty('tools')
  })

  test('has the tools in their order', () => {
    const names = ['zebra', 'ant', 'mole']
    const body = bodyFor({ tools: names.map((name) => ({ ...look, name })) })
    expect(body.tools).toMatchObject(names.map((name) => ({ function: { name } })))
  })

  test('sends a strict schema only if it can be enforced', () => {
    expect(bodyFor({ output: openAnswer }).response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: openAnswer },
    })
  })

  test('is overridden by extra, and extra tools come after ours', () => {
    const search = { type: 'web_search' }
    const body = bodyFor({
      tools: [look],
      settings: { temperature: 1, extra: { temperature: 0, logprobs: true, tools: [search] } },
    })
    expect(body).toMatchObject({ temperature: 0, logprobs: true })
    expect(body.tools).toEqual([expect.objectContaining({ type: 'function' }), search])
    expect(bodyFor({ settings: { extra: { tools: [search] } } }).tools).toEqual([search])
  })

  test("the types of extra match OpenAI's", () => {
    type Known = { [Key in keyof ChatExtra as string extends Key ? never : Key]: ChatExtra[Key] }
    expectTypeOf<Known>().toExtend<Partial<ChatCompletionCreateParamsStreaming>>()
    expectTypeOf<keyof Known>().toExtend<keyof ChatCompletionCreateParamsStreaming>()
  })
})

describe('dialects', () => {
  test('Mistral gets no field that it rejects', () => {
    const settings: ModelSettings = { maxOutputTokens: 9, seed: 7, reasoning: 'low' }
    expect(bodyFor({ at: 'mistral', settings })).toStrictEqual({
      model: 'acme-1',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      max_tokens: 9,
      random_seed: 7,
      reasoning_effort: 'high',
    })
  })

  test('Mistral gets ids of nine letters and digits, the same in call and result', () => {
    const calls = ['a', 'b', 'abcDEF123'].map((callId) => ({ ...call, callId }))
    const sent = JSON.stringify(messagesFor({ at: 'mistral', messages: saying(...calls) }))
    const ids = [...sent.matchAll(/"id":"([^"]*)"/g)].map(([, id]) => id)
    expect(ids).toEqual([
      expect.stringMatching(/^[a-z0-9]{9}$/),
      expect.stringMatching(/^[a-z0-9]{9}$/),
      'abcDEF123',
    ])
    expect(new Set(ids).size).toBe(3)
    expect([...sent.matchAll(/"tool_call_id":"([^"]*)"/g)].map(([, id]) => id)).toEqual(ids)
  })

  test('an id is renamed the same way in every request', () => {
    const messages = saying({ ...call, callId: longId })
    const longer = saying({ ...call, callId: 'before' }, { ...call, callId: longId })
    const [id] = JSON.stringify(messagesFor({ messages })).match(/call_[a-z0-9]{9}(?=")/) ?? []
    expect(JSON.stringify(messagesFor({ messages: longer }))).toContain(`"tool_call_id":"${id}"`)
  })

  test('others get max_tokens and include_usage', () => {
    expect(bodyFor({ at: 'ollama', settings: { maxOutputTokens: 9 } })).toMatchObject({
      max_tokens: 9,
      stream_options: { include_usage: true },
    })
  })

  test('DeepSeek and Moonshot get the reasoning field that they require with calls, even if it is empty', () => {
    const messages = saying({ type: 'text', text: 'Look.' }, call)
    expect(messagesFor({ at: 'deepseek', messages })).toMatchObject([{}, { reasoning_content: '' }, {}])
    // Moonshot treats an empty one as missing.
    expect(messagesFor({ at: 'moonshot', messages })).toMatchObject([{}, { reasoning_content: ' ' }, {}])
    for (const other of [
      messagesFor({ messages }),
      messagesFor({ at: 'deepseek', messages, sendReasoning: 'never' }),
    ])
      expect(JSON.stringify(other)).not.toContain('reasoning')
  })

  test('Mistral gets an assistant message between tool and user', async () => {
    const messages: Message[] = [
      user,
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', name: 'del', input: {} }] },
      {
        role: 'tool',
        callId: 'c1',
        name: 'del',
        content: [{ type: 'image', url: 'https://a.example/a.png' }],
      },
      user,
    ]
    const roles = async (baseURL: string) => {
      const { messages: list } = await sentBody('Chat Completions', { messages }, { baseURL })
      return (list as { role: string }[]).map(({ role }) => role)
    }
    expect(await roles('https://api.mistral.ai/v1')).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'user',
    ])
    messages.splice(3, 0, { role: 'assistant', content: [{ type: 'reasoning', text: 'only a thought' }] })
    expect(await roles('https://api.mistral.ai/v1')).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'user',
    ])
    expect(await roles('https://api.openai.com/v1')).toEqual(['user', 'assistant', 'tool', 'user', 'user'])
  })
})

describe('files', () => {
  const sending = (at: BodyOptions['at'], file: object) =>
    messagesFor({
      at,
      messages: [{ role: 'user', content: [{ type: 'file', ...file } as never] }],
    } as BodyOptions)

  test('audio is sent as input_audio, in both formats', () => {
    const audio = (format: string) => [
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format } }] },
    ]
    expect(sending('openai', { mediaType: 'audio/wav', data: 'AAAA' })).toEqual(audio('wav'))
    expect(sending('openai', { mediaType: 'audio/mpeg', data: 'AAAA' })).toEqual(audio('mp3'))
  })

  test('an image file is sent as an image', () => {
    expect(sending('ollama', { mediaType: 'image/png', data: png })).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }] },
    ])
  })

  test('a file without a name gets one, and text files are sent as text', () => {
    expect(sending('openai', { mediaType: 'application/pdf', data: pdf })).toMatchObject([
      { content: [{ file: { filename: 'file' } }] },
    ])
    expect(sending('ollama', { mediaType: 'text/markdown', data: note })).toMatchObject([
      { content: [{ type: 'text', text: 'Hello, Zoë' }] },
    ])
  })

  test('unsupported files are rejected', () => {
    expect(() => sending('ollama', { mediaType: 'application/pdf', data: pdf })).toThrow(
      'ollama does not support files of type application/pdf over Chat Completions',
    )
    expect(() =>
      sending('openai', { mediaType: 'application/pdf', url: 'https://example.com/a.pdf' }),
    ).toThrow('openai does not support files of type application/pdf by URL: pass the data instead')
  })
})

describe('reasoning', () => {
  const thought = (provider: string, data: object, text = 'Hm.') =>
    ({ type: 'reasoning', text, opaque: { provider, data } }) as AssistantPart

  test.each(['reasoning_content', 'reasoning'])(
    'is sent back in its original field %s, with calls',
    (field) => {
      const messages = saying(
        thought('deepseek', { field }, 'One '),
        thought('deepseek', { field }, 'two.'),
        call,
      )
      expect(messagesFor({ at: 'deepseek', messages })).toMatchObject([{}, { [field]: 'One two.' }, {}])
    },
  )

  test('without calls is sent back only with always, and never with never', () => {
    const messages = saying(thought('deepseek', { field: 'reasoning_content' }), {
      type: 'text',
      text: 'Yes.',
    })
    const sent = (sendReasoning: SendReasoning) => messagesFor({ at: 'deepseek', messages, sendReasoning })
    expect(sent('calls')).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Yes.' },
    ])
    expect(sent('never')).toEqual(sent('calls'))
    expect(sent('always')).toMatchObject([{}, { reasoning_content: 'Hm.' }])
  })

  test('is not sent to another provider, or if its origin is unknown', () => {
    const messages = saying(
      thought('anthropic', { type: 'thinking', signature: 's' }),
      { type: 'reasoning', text: 'x' },
      call,
    )
    const sent = messagesFor({ messages, sendReasoning: 'always' })
    expect(sent).toEqual([
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '' },
    ])
  })

  test('is sent back to Mistral as a content part', () => {
    const messages = saying(thought('mistral', { field: 'thinking' }), { type: 'text', text: 'Yes.' }, call)
    expect(messagesFor({ at: 'mistral', messages })).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
          { type: 'text', text: 'Yes.' },
        ],
      },
      {},
    ])
  })

  test('of OpenRouter is sent back with all details', () => {
    const first = { type: 'reasoning.text', index: 0, text: 'Hm.', signature: 's' }
    const second = { type: 'reasoning.encrypted', index: 1, data: 'xx' }
    const messages = saying(
      thought('openrouter', { field: 'reasoning', details: [first] }),
      thought('openrouter', { field: 'reasoning_details', details: [second] }, ''),
      call,
    )
    expect(messagesFor({ at: 'openrouter', messages })).toMatchObject([
      {},
      { reasoning: 'Hm.', reasoning_details: [first, second] },
      {},
    ])
  })

  test('alone makes no message', () => {
    const messages = saying(thought('deepseek', { field: 'reasoning' }))
    expect(messagesFor({ at: 'deepseek', messages, sendReasoning: 'always' })).toEqual([
      { role: 'user', content: 'Hi' },
    ])
  })
})

test('images of the last results are sent too', () => {
  const image = { type: 'image', url: 'https://example.com/cat.jpg' } as const
  const messages: Message[] = [
    ...hi,
    { role: 'assistant', content: [call] },
    { role: 'tool', callId: 'a', name: 'look', content: [image] },
  ]
  expect(messagesFor({ messages })).toMatchObject([
    {},
    {},
    { role: 'tool', content: '[the image follows]' },
    { role: 'user', content: [{ type: 'text' }, { type: 'image_url', image_url: { url: image.url } }] },
  ])
})

test('a call is sent back with its data, if it is from this provider', () => {
  const data = { extra_content: { google: { thought_signature: 'sig' } } }
  const sent = (provider: string) =>
    messagesFor({ messages: saying({ ...call, opaque: { provider, data } }) })
  expect(sent('openai')).toMatchObject([{}, { tool_calls: [{ id: 'a', ...data }] }, {}])
  expect(JSON.stringify(sent('gemini'))).not.toContain('sig')
})

test('OpenAI data from Responses is left out', () => {
  const from = (data: JsonObject) => ({ opaque: { provider: 'openai', data } })
  const messages = saying(
    {
      type: 'reasoning',
      text: 'Hm.',
      ...from({ id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }),
    },
    { type: 'text', text: 'Look.', ...from({ phase: 'commentary' }) },
    {
      ...call,
      ...from({ id: 'ctc_1', type: 'custom_tool_call', call_id: 'a', name: 'look', input: 'x' }),
    },
  )
  expect(messagesFor({ messages, sendReasoning: 'always' })).toEqual([
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: 'Look.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: '' },
  ])
})
