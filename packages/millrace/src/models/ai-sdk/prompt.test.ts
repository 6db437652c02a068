import { describe, expect, test } from 'vitest'
import type { Message, ToolMessage } from '../../protocol/index.ts'
import type { AISDKOptions } from '../ai-sdk.ts'
import { collect, fakeModel, stop } from './ai-sdk.test-kit.ts'

/** The prompt for a conversation. */
async function promptOf(
  messages: readonly Message[],
  overrides: Parameters<typeof fakeModel>[1] = {},
  options?: AISDKOptions,
) {
  const model = fakeModel([[stop]], overrides)
  const { error } = await collect(model, { messages }, options)
  if (error) throw error
  return model.calls[0]?.prompt
}

const opaque = (data: object, provider = 'acme.chat') => ({ provider, data: data as never })

describe('a conversation', () => {
  test('becomes a prompt, with the results of a round in one message', async () => {
    const prompt = await promptOf([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Look twice.' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 1 } },
          { type: 'tool-call', callId: 'c2', name: 'look', input: {}, raw: '{"id' },
        ],
      },
      { role: 'tool', callId: 'c1', name: 'look', content: [{ type: 'json', value: { found: true } }] },
      {
        role: 'tool',
        callId: 'c2',
        name: 'look',
        content: [{ type: 'text', text: 'bad JSON' }],
        isError: true,
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'And?' },
        ],
      },
    ])
    const call = { type: 'tool-call', toolName: 'look' }
    const result = { type: 'tool-result', toolName: 'look' }
    expect(prompt).toStrictEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Look twice.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'I look.' },
          { ...call, toolCallId: 'c1', input: { id: 1 } },
          { ...call, toolCallId: 'c2', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { ...result, toolCallId: 'c1', output: { type: 'json', value: { found: true } } },
          { ...result, toolCallId: 'c2', output: { type: 'error-text', value: 'bad JSON' } },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ])
  })

  test('the metadata of a part is sent back with it, and with the result of a call', async () => {
    const [, assistant, tool] = (await promptOf([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: '', opaque: opaque({ acme: { redacted: 'x' } }) },
          { type: 'text', text: '', opaque: opaque({ acme: { signature: 't' } }) },
          {
            type: 'tool-call',
            callId: 'c1',
            name: 'look',
            input: {},
            opaque: opaque({ acme: { id: 'fc' } }),
          },
        ],
      },
      { role: 'tool', callId: 'c1', name: 'look', content: [] },
    ])) as { content: object[] }[]
    expect(assistant?.content).toStrictEqual([
      { type: 'reasoning', text: '', providerOptions: { acme: { redacted: 'x' } } },
      { type: 'text', text: '', providerOptions: { acme: { signature: 't' } } },
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'look',
        input: {},
        providerOptions: { acme: { id: 'fc' } },
      },
    ])
    expect(tool?.content[0]).toMatchObject({
      output: { type: 'text', value: '' },
      providerOptions: { acme: { id: 'fc' } },
    })
  })

  test('data of other providers is left out', async () => {
    const foreign = opaque({ acme: { signature: 'x' } }, 'other')
    const prompt = await promptOf([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'reasoning', text: 'hm', opaque: foreign }] },
      {
        role: 'assistant',
        content: [
          { type: 'provider-tool', callId: 's', name: 'search', output: 1, opaque: foreign },
          { type: 'text', text: 'Hello.', opaque: foreign },
          { type: 'text', text: '', opaque: foreign },
          { type: 'tool-call', callId: 'c1', name: 'look', input: {}, opaque: foreign },
        ],
      },
      { role: 'tool', callId: 'c1', name: 'look', content: [{ type: 'text', text: 'x' }] },
    ])
    expect(prompt?.slice(1)).toStrictEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Hello.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'look',
            output: { type: 'text', value: 'x' },
          },
        ],
      },
    ])
  })

  test("provider-run tools are sent back in the SDK's format", async () => {
    const providerMetadata = { acme: { id: 1 } }
    const part = { type: 'provider-tool', callId: 's', name: 'search' } as const
    const result = opaque({ type: 'tool-result' })
    const [, assistant] = (await promptOf([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { ...part, input: { q: 'x' }, opaque: opaque({ type: 'tool-call', providerMetadata }) },
          { ...part, output: { hits: 1 }, opaque: result },
          { ...part, output: 'found', opaque: result },
          { ...part, output: { code: 'gone' }, isError: true, opaque: result },
          { ...part, name: 'acme.compaction', opaque: opaque({ type: 'custom', providerMetadata }) },
          { ...part, opaque: opaque({ type: 'unheard-of' }) },
        ],
      },
      { role: 'user', content: 'and?' },
    ])) as { content: object[] }[]
    const call = { toolCallId: 's', toolName: 'search' }
    expect(assistant?.content).toStrictEqual([
      {
        type: 'tool-call',
        ...call,
        input: { q: 'x' },
        providerExecuted: true,
        providerOptions: providerMetadata,
      },
      { type: 'tool-result', ...call, output: { type: 'json', value: { hits: 1 } } },
      { type: 'tool-result', ...call, output: { type: 'text', value: 'found' } },
      { type: 'tool-result', ...call, output: { type: 'error-json', value: { code: 'gone' } } },
      { type: 'custom', kind: 'acme.compaction', providerOptions: providerMetadata },
    ])
  })

  test.each<[string, string, RegExp]>([
    ['anthropic.messages', 'functions.look:0', /^toolu_\w+$/],
    ['mistral.chat', 'call_1', /^[a-zA-Z0-9]{9}$/],
    ['openai.responses', 'x'.repeat(80), /^call_\w+$/],
    ['acme.chat', 'functions.look:0', /^functions\.look:0$/],
  ])('for %s the id %s is made valid, in call and result alike', async (provider, callId, form) => {
    const [, assistant, tool] = (await promptOf(
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool-call', callId, name: 'look', input: {} }] },
        { role: 'tool', callId, name: 'look', content: [] },
      ],
      { provider },
    )) as { content: { toolCallId: string }[] }[]
    expect(assistant?.content[0]?.toolCallId).toMatch(form)
    expect(tool?.content[0]?.toolCallId).toBe(assistant?.content[0]?.toolCallId)
  })
})

describe('images and files', () => {
  const image = { type: 'image', data: 'iVBORw==', mediaType: 'image/png' } as const
  const picture = { type: 'image', url: 'https://a.example/b.png' } as const
  const inline = { type: 'image', url: 'data:image/gif;base64,R0lG' } as const
  const file = { type: 'file', data: 'JVBERi0=', mediaType: 'application/pdf', name: 'a.pdf' } as const
  const messages: Message[] = [{ role: 'user', content: [image, picture, inline, file] }]

  test.each(['v2', 'v3'])('are plain data in %s', async (specificationVersion) => {
    expect(await promptOf(messages, { specificationVersion })).toStrictEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: 'iVBORw==' },
          { type: 'file', mediaType: 'image/*', data: new URL('https://a.example/b.png') },
          { type: 'file', mediaType: 'image/gif', data: 'R0lG' },
          { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=', filename: 'a.pdf' },
        ],
      },
    ])
  })

  test('are tagged data in v4', async () => {
    expect(await promptOf(messages)).toStrictEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
          { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(picture.url) } },
          { type: 'file', mediaType: 'image/gif', data: { type: 'data', data: 'R0lG' } },
          {
            type: 'file',
            mediaType: 'application/pdf',
            data: { type: 'data', data: 'JVBERi0=' },
            filename: 'a.pdf',
          },
        ],
      },
    ])
  })

  const supportedUrls = { 'image/*': [/^https:\/\/a\.example\//g], 'application/pdf': [/^gs:/] }

  test('a URL that the provider fetches is passed through every time', async () => {
    const asked = { supportedUrls: Promise.resolve(supportedUrls) }
    for (let times = 0; times < 3; times++)
      expect(await promptOf([{ role: 'user', content: [picture] }], asked)).toMatchObject([
        { content: [{ data: { type: 'url' } }] },
      ])
    const any = { supportedUrls: { '*': [/^https:/] } }
    expect(await promptOf([{ role: 'user', content: [picture] }], any)).toMatchObject([
      { content: [{ data: { type: 'url' } }] },
    ])
  })

  const elsewhere: Message[] = [
    {
      role: 'user',
      content: [{ type: 'file', url: 'https://a.example/c.pdf', mediaType: 'application/pdf' }],
    },
  ]

  test('a URL that it does not fetch is rejected with advice', async () => {
    await expect(promptOf(elsewhere, { supportedUrls })).rejects.toMatchObject({
      code: 'invalid_input',
      message: `'acme-1' does not fetch application/pdf from "https://a.example/c.pdf": pass the data instead, or pass a download function to fromAISDK()`,
    })
  })

  test('a URL that it does not fetch goes through download', async () => {
    const download = async (url: string) => ({ data: new TextEncoder().encode(url.slice(-5)) })
    expect(await promptOf(elsewhere, { supportedUrls }, { download })).toMatchObject([
      {
        content: [
          { mediaType: 'application/pdf', data: { type: 'data', data: new TextEncoder().encode('c.pdf') } },
        ],
      },
    ])
    const failing = async () => {
      throw new Error('404')
    }
    await expect(promptOf(elsewhere, { supportedUrls }, { download: failing })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'download("https://a.example/c.pdf") failed: 404',
    })
  })

  const outputOf = async (result: Pick<ToolMessage, 'content' | 'isError'>, specificationVersion: string) => {
    const prompt = await promptOf(
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool-call', callId: 'c', name: 'look', input: {} }] },
        { role: 'tool', callId: 'c', name: 'look', ...result },
      ],
      { specificationVersion },
    )
    const last = prompt?.at(-1) as { content: { output: unknown }[] } | undefined
    return last?.content[0]?.output
  }
  const text = { type: 'text', text: 'Here:' } as const

  test.each<[string, object, object]>([
    [
      'v4',
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
      { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(picture.url) } },
    ],
    [
      'v3',
      { type: 'image-data', mediaType: 'image/png', data: 'iVBORw==' },
      { type: 'image-url', url: picture.url },
    ],
    [
      'v2',
      { type: 'media', mediaType: 'image/png', data: 'iVBORw==' },
      { type: 'text', text: 'Image: https://a.example/b.png' },
    ],
  ])('in a tool result they have the format of %s', async (version, data, url) => {
    expect(await outputOf({ content: [text, image, picture] }, version)).toStrictEqual({
      type: 'content',
      value: [text, data, url],
    })
  })

  test('several texts in a result are joined, and a failed result is marked', async () => {
    const content = [text, { type: 'json', value: { a: 1 } }] as const
    expect(await outputOf({ content }, 'v4')).toStrictEqual({ type: 'text', value: 'Here:\n{"a":1}' })
    expect(await outputOf({ content, isError: true }, 'v4')).toMatchObject({ type: 'error-text' })
    const json = { content: [{ type: 'json', value: { a: 1 } }], isError: true } as const
    expect(await outputOf(json, 'v4')).toStrictEqual({ type: 'error-json', value: { a: 1 } })
    expect(await outputOf({ content: [image], isError: true }, 'v4')).toMatchObject({
      value: [{ type: 'text', text: 'The call failed.' }, { type: 'file' }],
    })
  })
})
