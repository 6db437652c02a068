import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { checkMessages, checkVersion, readTranscript, writeTranscript } from './check.ts'
import { isMillraceError } from './errors.ts'
import { kindOf } from './json.ts'
import type { AssistantMessage, Message, UserMessage } from './messages.ts'
import { PROTOCOL_VERSION } from './messages.ts'

const check = (...messages: unknown[]) => checkMessages(messages, 'agent.stream')

function errorOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input') return error.message
    throw error
  }
  throw new Error('no error was thrown')
}

const checkError = (...messages: unknown[]) => errorOf(() => check(...messages))
const user = (part: unknown) => ({ role: 'user', content: [part] })
const bytes = new TextEncoder().encode('hello')

const everything: Message[] = [
  { role: 'system', content: 'be kind' },
  { role: 'user', content: 'hi' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', url: 'https://example.org/a.png' },
      { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
      { type: 'file', url: 'https://example.org/a.pdf', mediaType: 'application/pdf', name: 'a.pdf' },
      { type: 'file', data: 'aGVsbG8=', mediaType: 'text/plain' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: '', opaque: { provider: 'p', data: { signature: 's' } } },
      { type: 'text', text: 'yes', opaque: { provider: 'p', data: null } },
      { type: 'tool-call', callId: 'a', name: 'look', input: { deep: [1, { x: null }] } },
      {
        type: 'tool-call',
        callId: 'b',
        name: 'look',
        input: {},
        raw: '{',
        opaque: { provider: 'p', data: 1 },
      },
    ],
  },
  {
    role: 'tool',
    callId: 'a',
    name: 'look',
    content: [
      { type: 'text', text: 'seen' },
      { type: 'json', value: { ok: true, none: null } },
      { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
      { type: 'image', url: 'data:image/png;base64,aGVsbG8=' },
    ],
  },
  { role: 'tool', callId: 'b', name: 'look', content: [], isError: true },
]

describe('valid messages', () => {
  test('every kind of message and part is returned unchanged', () => {
    expect(checkMessages(everything, 'x')).toStrictEqual(everything)
  })

  test('the result is a copy', () => {
    const input = { deep: [1] }
    const [message] = check({
      role: 'assistant',
      content: [{ type: 'tool-call', callId: 'a', name: 'n', input }],
    })
    input.deep.push(2)
    expect(message).toMatchObject({ content: [{ input: { deep: [1] } }] })
  })

  test('a plain string becomes a text part in answers and tool results', () => {
    expect(check({ role: 'assistant', content: 'yes' })).toStrictEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'yes' }] },
    ])
    expect(check({ role: 'assistant', content: '' })).toStrictEqual([{ role: 'assistant', content: [] }])
    expect(check({ role: 'tool', callId: 'a', name: 'n', content: 'seen' })).toStrictEqual([
      { role: 'tool', callId: 'a', name: 'n', content: [{ type: 'text', text: 'seen' }] },
    ])
  })

  test('unknown fields are dropped, and so is `isError: false`', () => {
    expect(
      check(
        { role: 'user', content: 'hi', id: 7, createdAt: new Date() },
        user({ type: 'text', text: 'a', cache: true }),
        user({ type: 'image', url: 'https://example.org/a.png', name: 'a', mediaType: 'image/png' }),
        { role: 'tool', callId: 'a', name: 'n', content: [], isError: false, extra: 1 },
      ),
    ).toStrictEqual([
      { role: 'user', content: 'hi' },
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'user', content: [{ type: 'image', url: 'https://example.org/a.png' }] },
      { role: 'tool', callId: 'a', name: 'n', content: [] },
    ])
  })

  test('the name of an image is dropped', () => {
    expect(
      check(user({ type: 'image', data: 'aGVsbG8=', mediaType: 'image/png', name: 'a.png' })),
    ).toStrictEqual([
      { role: 'user', content: [{ type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' }] },
    ])
  })

  test('bytes become base64', () => {
    const big = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256)
    const [message] = check({
      role: 'user',
      content: [
        { type: 'image', data: bytes, mediaType: 'image/png' },
        { type: 'file', data: big, mediaType: 'a/b', name: 'big' },
        { type: 'file', data: Buffer.from('hello'), mediaType: 'a/b' },
        { type: 'file', data: big.subarray(3, 5), mediaType: 'a/b' },
      ],
    })
    expect(message?.content).toStrictEqual([
      { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
      { type: 'file', data: Buffer.from(big).toString('base64'), mediaType: 'a/b', name: 'big' },
      { type: 'file', data: 'aGVsbG8=', mediaType: 'a/b' },
      { type: 'file', data: Buffer.from(big.subarray(3, 5)).toString('base64'), mediaType: 'a/b' },
    ])
  })

  test('any number of bytes is accepted, and the result passes the check again', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (data) => {
        const messages = check(user({ type: 'image', data, mediaType: 'image/png' }))
        const [part] = (messages[0] as UserMessage).content as unknown as [{ data: string }]
        expect(part.data).toBe(Buffer.from(data).toString('base64'))
        expect(checkMessages(messages, 'again')).toStrictEqual(messages)
      }),
    )
  })

  test('empty bytes are rejected', () => {
    expect(checkError(user({ type: 'image', data: new Uint8Array(), mediaType: 'image/png' }))).toContain(
      'messages[0].content[0].data',
    )
  })

  test('a `__proto__` key in arguments stays a key', () => {
    const input = JSON.parse('{"__proto__": {"isAdmin": true}}')
    const [message] = check({
      role: 'assistant',
      content: [{ type: 'tool-call', callId: 'a', name: 'n', input }],
    })
    const [part] = (message as AssistantMessage).content as unknown as [{ input: Record<string, unknown> }]
    expect(Object.keys(part.input)).toEqual(['__proto__'])
    expect(part.input.isAdmin).toBeUndefined()
  })
})

describe('invalid messages', () => {
  test.each<[string, unknown, string]>([
    ['a string', 'hi', 'messages must be an array, not a string'],
    ['undefined', undefined, 'messages must be an array, not undefined'],
    ['an object', { role: 'user' }, 'messages must be an array, not an object'],
  ])('%s is not a list of messages', (_, value, sentence) => {
    expect(errorOf(() => checkMessages(value, 'x'))).toBe(sentence)
  })

  test('the error names the operation', () => {
    expect(() => checkMessages(null, 'agent.resume')).toThrow(
      expect.objectContaining({ code: 'invalid_input', op: 'agent.resume' }),
    )
  })

  test.each<[string, unknown, string]>([
    ['null', null, "messages[1] must be a message such as { role: 'user', content: '…' }, not null"],
    ['a plain string', 'hi', 'messages[1] must be a message'],
    ['an array', [{ role: 'user', content: 'hi' }], 'not an array'],
    ['no role', { content: 'hi' }, 'messages[1].role must be'],
    ['an unknown role', { role: 'developer', content: 'hi' }, `not "developer"`],
    [
      'no content',
      { role: 'user' },
      'messages[1].content must be a string or an array of parts, not undefined',
    ],
    [
      'a system message of parts',
      { role: 'system', content: [] },
      'messages[1].content must be a string, not an array',
    ],
    ['a part that is a string', user('hi'), 'messages[1].content[0] must be a part such as'],
    [
      'a part without a type',
      user({ text: 'hi' }),
      'messages[1].content[0].type must be one of text, image, file',
    ],
    [
      'a part that is not allowed for the role',
      user({ type: 'tool-call', callId: 'a', name: 'n', input: {} }),
      `messages[1].content[0].type must be one of text, image, file in a message of role 'user', not "tool-call"`,
    ],
    [
      'text without text',
      user({ type: 'text' }),
      'messages[1].content[0].text must be a string, not undefined',
    ],
    [
      'a result without a call id',
      { role: 'tool', name: 'n', content: 'x' },
      'messages[1].callId must be a string, not undefined',
    ],
    [
      'a result without a name',
      { role: 'tool', callId: 'a', content: 'x' },
      'messages[1].name must be a string, not undefined',
    ],
    [
      'an error flag that is not a boolean',
      { role: 'tool', callId: 'a', name: 'n', content: 'x', isError: 'no' },
      'messages[1].isError must be true or false',
    ],
    [
      'arguments as text',
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'a', name: 'n', input: '{}' }] },
      'messages[1].content[0].input must be an object, not a string',
    ],
    [
      'arguments that are not JSON',
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'a', name: 'n', input: { n: 1n } }] },
      'messages[1].content[0].input cannot be serialized as JSON',
    ],
    [
      'raw arguments that are not a string',
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'a', name: 'n', input: {}, raw: 1 }] },
      'messages[1].content[0].raw must be a string, not a number',
    ],
    [
      'provider data without a provider',
      { role: 'assistant', content: [{ type: 'text', text: 'a', opaque: { data: 1 } }] },
      'messages[1].content[0].opaque must be { provider, data }',
    ],
  ])('%s is rejected, and the error names the path', (_, message, sentence) => {
    expect(checkError({ role: 'user', content: 'fine' }, message)).toContain(sentence)
  })

  test.each<[string, unknown, string]>([
    [
      'neither url nor data',
      { type: 'image' },
      'content[0] needs a url or data (base64 or bytes), but has neither',
    ],
    [
      'both url and data',
      { type: 'image', url: 'https://a.b', data: 'aaaa', mediaType: 'a/b' },
      'has both a url and data: keep one of them',
    ],
    ['an invalid url', { type: 'image', url: 'a.png' }, 'content[0].url must be a URL, not "a.png"'],
    ['data without a media type', { type: 'image', data: 'aaaa' }, 'content[0].mediaType must be a string'],
    ['a file by url without a media type', { type: 'file', url: 'https://a.b' }, 'content[0].mediaType'],
    [
      'data that is not base64',
      { type: 'image', data: 'a b!', mediaType: 'a/b' },
      'content[0].data must be base64',
    ],
    [
      'truncated base64',
      { type: 'image', data: 'aGVsb', mediaType: 'a/b' },
      'content[0].data must be base64',
    ],
    [
      'a data url as data',
      { type: 'image', data: 'data:image/png;base64,aa', mediaType: 'a/b' },
      'content[0].data',
    ],
    ['an empty string as data', { type: 'image', data: '', mediaType: 'a/b' }, 'content[0].data'],
    [
      'data that is neither text nor bytes',
      { type: 'image', data: [1, 2], mediaType: 'a/b' },
      'content[0].data must be base64',
    ],
    [
      'a file name that is not a string',
      { type: 'file', data: 'aaaa', mediaType: 'a/b', name: 1 },
      'content[0].name',
    ],
  ])('media with %s is rejected', (_, part, sentence) => {
    expect(checkError(user(part))).toContain(sentence)
  })

  test('a url that is not a string is rejected, even if it converts to a url', () => {
    for (const url of [['https://a.b'], { toString: () => 'https://a.b' }, Object.create(null)])
      expect(checkError(user({ type: 'image', url }))).toContain('messages[0].content[0].url')
  })

  test('any value is either rejected or returned as plain JSON that passes again', () => {
    const key = fc.constantFrom(
      'role',
      'content',
      'type',
      'text',
      'url',
      'data',
      'mediaType',
      'input',
      'callId',
      'name',
    )
    const word = fc.constantFrom(
      ...['system', 'user', 'assistant', 'tool', 'text', 'image', 'file', 'json', 'tool-call', 'aGVsbG8='],
      'https://a.b',
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'medium' },
        word,
        fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 1 }),
        fc.dictionary(key, tie('tree')),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }))
    const likely = fc.record({ role: word, content: fc.array(fc.dictionary(key, tree), { maxLength: 2 }) })
    fc.assert(
      fc.property(fc.array(fc.oneof(tree, likely), { maxLength: 3 }), (value) => {
        let messages: Message[]
        try {
          messages = checkMessages(value, 'x')
        } catch (error) {
          expect(isMillraceError(error) ? error.code : error).toBe('invalid_input')
          return
        }
        expect(JSON.parse(JSON.stringify(messages))).toStrictEqual(messages)
        expect(checkMessages(messages, 'x')).toStrictEqual(messages)
      }),
      { numRuns: sized(1000) },
    )
  })
})

describe('transcripts', () => {
  test('a transcript can be read back, as an object and as text', () => {
    const written = writeTranscript(everything)
    expect(written.version).toBe(PROTOCOL_VERSION)
    expect(readTranscript(written)).toStrictEqual(everything)
    expect(readTranscript(JSON.stringify(written))).toStrictEqual(everything)
  })

  test.each<[string, unknown, string]>([
    ['text that is not JSON', '{', 'the transcript is not valid JSON'],
    ['messages without a version', everything, 'create it with writeTranscript(messages)'],
    ['no version', { messages: [] }, 'create it with writeTranscript(messages)'],
    [
      'a version that is a string',
      { version: '1', messages: [] },
      'create it with writeTranscript(messages)',
    ],
    ['a newer version', { version: PROTOCOL_VERSION + 1, messages: [] }, 'update millrace'],
    ['no messages', { version: PROTOCOL_VERSION }, 'messages must be an array, not undefined'],
    ['a bad message', { version: PROTOCOL_VERSION, messages: [{}] }, 'messages[0].role must be'],
  ])('%s is rejected', (_, value, sentence) => {
    expect(errorOf(() => readTranscript(value))).toContain(sentence)
  })

  test.each([Number.NaN, 0, -1, 0.5])('the invalid version %s is rejected', (version) => {
    expect(() => readTranscript({ version, messages: [] })).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    )
  })

  test('checkVersion names the version found and the latest one supported', () => {
    expect(() => checkVersion(PROTOCOL_VERSION, 'x')).not.toThrow()
    expect(errorOf(() => checkVersion(7, 'x'))).toBe(
      'this was written with protocol version 7, but this package reads up to 2: update millrace',
    )
  })
})

test('kindOf names the kind of a value', () => {
  expect([null, undefined, [], '', 1, true].map(kindOf)).toEqual([
    'null',
    'undefined',
    'an array',
    'a string',
    'a number',
    'a boolean',
  ])
})
