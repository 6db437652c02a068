import type { MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, test } from 'vitest'
import type { AssistantPart, Message, UserPart } from '../../protocol/index.ts'
import { recordingFetch } from '../openai-chat/provider.test-kit.ts'
import { openWire, read, sentBody } from '../wires.test-kit.ts'
import { anthropicMessageCache, anthropicMessages } from './messages.ts'

const turnsOf = (...messages: readonly Message[]) =>
  anthropicMessages(messages, anthropicMessageCache('anthropic')).turns
const user = (content: string | readonly UserPart[]): Message => ({ role: 'user', content })
const assistant = (...content: readonly AssistantPart[]): Message => ({ role: 'assistant', content })
const words = (text: string) => ({ type: 'text', text }) as const
const call = { type: 'tool-call', callId: 'a', name: 'look', input: {} } as const
const use = { type: 'tool_use', id: 'a', name: 'look', input: {} } as const

describe('turns', () => {
  test('of the same role are merged, with tool results first', () => {
    const expected: MessageParam[] = [
      { role: 'user', content: [words('One.'), words('Two.')] },
      { role: 'assistant', content: [words('Three.'), use] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: [words('cat')] }, words('Four.')],
      },
    ]
    expect(
      turnsOf(
        user('One.'),
        user('Two.'),
        assistant(words('Three.')),
        assistant(call),
        { role: 'tool', callId: 'a', name: 'look', content: [words('cat')] },
        user('Four.'),
      ),
    ).toEqual(expected)
  })

  test('contain no blank text', () => {
    expect(
      turnsOf(
        user([words('Hi'), words(' \n')]),
        assistant(words('\n\n'), call),
        { role: 'tool', callId: 'a', name: 'look', content: [words(''), words(' ')] },
        user(''),
        assistant(words(' ')),
        user('Go on.'),
      ),
    ).toEqual([
      { role: 'user', content: [words('Hi')] },
      { role: 'assistant', content: [use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }, words('Go on.')] },
    ])
  })

  test('leave the system prompt out; later system messages become user messages', () => {
    const { system, turns } = anthropicMessages(
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: ' ' },
        { role: 'system', content: 'Be kind.' },
        user('Hi'),
        assistant(words('Hello.')),
        { role: 'system', content: 'It is late.' },
      ],
      anthropicMessageCache('anthropic'),
    )
    expect(system).toEqual([words('Be brief.'), words('Be kind.')])
    expect(turns.at(-1)).toEqual({ role: 'user', content: [words('It is late.')] })
  })

  test('are new objects in every request', () => {
    const messages = [user('Hi'), user('there')]
    const before = structuredClone(messages)
    turnsOf(...messages)
    expect(messages).toEqual(before)
  })
})

describe('data of this provider is sent back unchanged', () => {
  const from = (data: object, provider = 'anthropic') => ({ opaque: { provider, data: data as never } })
  const blocks = (...parts: readonly AssistantPart[]) => turnsOf(user('Hi'), assistant(...parts))[1]?.content

  test('thinking with its signature, redacted or not', () => {
    const expected: MessageParam['content'] = [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'redacted_thinking', data: 'EmwK' },
      { type: 'thinking', thinking: '', signature: 't' },
      use,
    ]
    expect(
      blocks(
        { type: 'reasoning', text: 'Hm.', ...from({ type: 'thinking', signature: 's' }) },
        { type: 'reasoning', text: '', ...from({ type: 'redacted_thinking', data: 'EmwK' }) },
        { type: 'reasoning', text: '', ...from({ type: 'thinking', signature: 't' }) },
        call,
      ),
    ).toEqual(expected)
  })

  test('thinking without a signature or of another provider is left out', () => {
    expect(
      blocks(
        { type: 'reasoning', text: 'Hm.' },
        { type: 'reasoning', text: 'Hm.', ...from({ field: 'reasoning' }, 'deepseek') },
        { type: 'reasoning', text: 'Hm.', ...from({ field: 'reasoning' }) },
        words('Yes.'),
      ),
    ).toEqual([words('Yes.')])
  })

  test('trailing thinking is left out', () => {
    const thought = { type: 'reasoning', text: 'Hm.', ...from({ type: 'thinking', signature: 's' }) } as const
    expect(blocks(words('Yes.'), thought)).toEqual([words('Yes.')])
    expect(turnsOf(user('Hi'), assistant(thought), user('Well?'))).toEqual([
      { role: 'user', content: [words('Hi'), words('Well?')] },
    ])
  })

  test('citations with their text, a caller with its call', () => {
    const citation = {
      type: 'char_location',
      cited_text: 'cats',
      document_index: 0,
      document_title: null,
      start_char_index: 0,
      end_char_index: 4,
    } as const
    const caller = { type: 'direct' } as const
    const expected: MessageParam['content'] = [
      { type: 'text', text: 'cats', citations: [citation] },
      { ...use, caller },
    ]
    expect(
      blocks({ ...words('cats'), ...from({ citations: [citation] }) }, { ...call, ...from({ caller }) }),
    ).toEqual(expected)
    // For another provider they are plain text and a plain call.
    expect(
      blocks(
        { ...words('cats'), ...from({ citations: [citation] }, 'x') },
        { ...call, ...from({ caller }, 'x') },
      ),
    ).toEqual([words('cats'), use])
  })

  test('a provider-run tool, and only to that provider', () => {
    const data = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'cats' } }
    const result = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const ran = (provider: string) =>
      blocks(
        { type: 'provider-tool', callId: 's', name: 'web_search', ...from(data, provider) },
        { type: 'provider-tool', callId: 's', name: 'web_search', ...from(result, provider) },
        words('Yes.'),
      )
    expect(ran('anthropic')).toEqual([data, result, words('Yes.')])
    expect(ran('openai')).toEqual([words('Yes.')])
  })
})

describe('files', () => {
  const sent = (file: object) => turnsOf(user([{ type: 'file', ...file } as UserPart]))[0]?.content

  test('are sent by URL where possible', () => {
    const expected: MessageParam['content'] = [
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    ]
    expect(sent({ mediaType: 'application/pdf', url: 'https://example.com/a.pdf' })).toEqual(expected)
    expect(sent({ mediaType: 'image/png', url: 'https://example.com/a.png' })).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ])
  })

  test('JSON is text', () => {
    expect(sent({ mediaType: 'application/json', data: btoa('{"a":1}') })).toEqual([
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '{"a":1}' } },
    ])
  })

  test('of unsupported types are rejected', () => {
    expect(() => sent({ mediaType: 'audio/wav', data: 'AAAA' })).toThrow(
      'anthropic does not support files of type audio/wav',
    )
    expect(() => sent({ mediaType: 'text/plain', url: 'https://example.com/a.txt' })).toThrow('by URL')
  })
})

test('an unsupported file in the latest user messages is rejected', async () => {
  const { fetch } = recordingFetch()
  const file: Message = { role: 'user', content: [{ type: 'file', mediaType: 'video/mp4', data: 'AAAA' }] }
  const { error } = await read(openWire('Messages', fetch), {
    messages: [file, user('x')],
    tools: [],
    settings: {},
  })
  expect(error).toMatchObject({ code: 'invalid_input' })
})

test('a turn that would contain only thinking is left out', async () => {
  const thought = {
    type: 'reasoning',
    text: 'x',
    opaque: { provider: 'anthropic', data: { type: 'thinking', signature: 's' } },
  } as const
  const data = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const search = {
    type: 'provider-tool',
    callId: 'srvtoolu_1',
    name: 'web_search',
    opaque: { provider: 'anthropic', data },
  } as const
  const { messages } = await sentBody('Messages', {
    messages: [user('x'), { role: 'assistant', content: [thought, search] }, user('x')],
  })
  expect(JSON.stringify(messages)).not.toContain('thinking')
})

test('a conversation that starts with the assistant gets a user message first', async () => {
  const hello: Message = { role: 'assistant', content: [{ type: 'text', text: 'Hello!' }] }
  const { messages } = await sentBody('Messages', { messages: [hello, user('x')] })
  expect((messages as { role: string }[]).map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
})

test('an Anthropic tool without a result is left out, unless the result is still to come', async () => {
  const data = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const search = {
    type: 'provider-tool',
    callId: 'srvtoolu_1',
    name: 'web_search',
    opaque: { provider: 'anthropic', data },
  } as const
  const cut: Message = { role: 'assistant', content: [{ type: 'text', text: 'a' }, search] }
  expect(JSON.stringify(await sentBody('Messages', { messages: [user('x'), cut, user('x')] }))).not.toContain(
    'srvtoolu_1',
  )
  const waiting: Message[] = [
    { role: 'assistant', content: [search, { type: 'tool-call', callId: 'c1', name: 'del', input: {} }] },
    { role: 'tool', callId: 'c1', name: 'del', content: [{ type: 'text', text: 'r' }] },
  ]
  expect(JSON.stringify(await sentBody('Messages', { messages: [user('x'), ...waiting] }))).toContain(
    'srvtoolu_1',
  )
})
