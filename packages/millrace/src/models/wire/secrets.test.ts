import { describe, expect, test } from 'vitest'
import {
  isSafeToShow,
  secretsIn,
  secretsInFields,
  secretsInUrl,
  withoutPartialSecret,
  withoutRequestSecrets,
  withoutSecretQuery,
  withoutSecrets,
} from './secrets.ts'

const key = 'corp-7f3a9c1d2b'

describe('a text without secrets', () => {
  test('contains no known key, in any quoted form', () => {
    const odd = 'a"b\\c/d+e=f'
    expect(withoutSecrets(`${key} and ${key}`, [key])).toBe('[key] and [key]')
    expect(withoutSecrets(JSON.stringify({ sent: odd }), [odd])).toBe('{"sent":"[key]"}')
    expect(withoutSecrets(`?key=${encodeURIComponent(odd)}`, [odd])).toBe('?key=[key]')
  })

  test('contains nothing of a header with a key', () => {
    expect(withoutSecrets(`Token ${key}`, [key, `Token ${key}`])).toBe('[key]')
  })

  test.each([
    ['OpenAI', 'sk-proj-abcDEF0123456789_xyz'],
    ['Anthropic', 'sk-ant-api03-AbCdEf123456-789_AA'],
    ['Groq', 'gsk_abcdefGHIJKL0123456789'],
    ['xAI', 'xai-abcdefGHIJKL0123456789'],
    ['Google', 'AIzaSyA0123456789abcdefghijklmnopqrs'],
    ['AWS', 'AKIAIOSFODNN7EXAMPLE'],
    ['Hugging Face', 'hf_abcdefghijkl0123456789'],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123'],
  ])('contains no key that looks like one of %s', (_, found) => {
    expect(withoutSecrets(`not valid: ${found}.`, [])).toBe('not valid: [key].')
    expect(withoutSecrets(`Bearer ${found}`, [])).toBe('Bearer [key]')
  })

  test.each([
    'the tool key-value-store-lookup is not known',
    'task-based_scheduling_of_work failed',
    'Basic authentication is not supported',
    'risk-assessment-number-12345678 is missing',
    'Incorrect API key provided: sk-ab***********cd. You can find yours at https://platform.openai.com/api-keys',
    '',
  ])('is otherwise unchanged: %s', (text) => {
    expect(withoutSecrets(text, [])).toBe(text)
  })

  test.each([
    ['keys', 'sk-'],
    ['tokens', 'eyJ-'],
    ['schemes', 'Bearer '],
    ['blanks', 'Basic\t\t\t'],
  ])('is computed in linear time for a megabyte of prefixes of %s', (_, piece) => {
    const text = piece.repeat(1_000_000 / piece.length)
    expect(withoutSecrets(text, [key])).toBe(text)
  })

  test('contains no token after a prefix of one', () => {
    const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123'
    expect(withoutSecrets(`eyJabcdefghijk.x.${token}`, [])).toBe('eyJabcdefghijk.x.[key]')
  })

  test('that breaks off within a key contains nothing of the key', () => {
    expect(withoutPartialSecret(`it is ${key.slice(0, -1)}`, [key])).toBe('it is [key]')
    expect(withoutPartialSecret('it is corp', [key])).toBe('it is [key]')
    expect(withoutPartialSecret('it is cor', [key])).toBe('it is cor')
  })

  test.each(['none', 'test', 'EMPTY', 'ollama'])(
    "keeps '%s', which is used where no key is needed",
    (word) => {
      const body = `{"tool_choice":"none","content":"the latest test of ollama is EMPTY"}`
      expect(withoutSecrets(body, [word])).toBe(body)
    },
  )

  test('keeps what is too short to be a secret', () => {
    expect(withoutSecrets('an abc', ['abc', ''])).toBe('an abc')
  })
})

describe('the secrets of a request', () => {
  test('are in headers with secret names, with and without their scheme', () => {
    expect(secretsIn({ Authorization: `Bearer ${key}`, 'x-api-key': 'k2', 'x-title': 'open' })).toStrictEqual(
      [`Bearer ${key}`, key, 'k2', 'k2'],
    )
  })

  test('include each cookie value', () => {
    const found = secretsIn({ cookie: 'theme=dark; session=s3cr3t-session=; id=0123456789' })
    expect(found).toContain('s3cr3t-session=')
    expect(found).toContain('0123456789')
    expect(found).not.toContain('dark')
  })

  test('include a key in the URL', () => {
    expect(secretsInUrl('https://host/v1?key=abcd1234&api-version=2026-01-01')).toStrictEqual([
      'abcd1234',
      'abcd1234',
    ])
    expect(secretsInUrl('https://host/v1')).toStrictEqual([])
  })
})

describe('a request to show', () => {
  test('hides third-party secrets in fields with secret names, at any depth', () => {
    const extra = {
      mcp_servers: [{ name: 'them', authorization_token: 'abcd-1234-efgh' }],
      tools: [{ headers: { Authorization: 'Bearer wxyz-5678', 'X-Api-Key': 'ijkl-9012' } }],
      prompt_cache_key: 'user-of-today',
      max_tokens: 12345678,
    }
    expect(secretsInFields(extra).sort()).toEqual(
      ['Bearer wxyz-5678', 'abcd-1234-efgh', 'abcd-1234-efgh', 'ijkl-9012', 'ijkl-9012', 'wxyz-5678'].sort(),
    )
    const circle = { token: 'abcd-1234-efgh' }
    expect(secretsInFields(Object.assign(circle, { circle }))).toContain('abcd-1234-efgh')
  })

  test('hides third-party secrets in headers with secret names', () => {
    const headers = { 'X-Functions-Key': 'abcd-1234-efgh', 'X-Title': 'open to all' }
    expect(new Set(secretsInFields({ tools: [{ headers }] }))).toEqual(new Set(['abcd-1234-efgh']))
    const request = { messages: [], tools: [], settings: { extra: { tools: [{ headers }], n: [1, null] } } }
    expect(withoutRequestSecrets(request).settings.extra).toStrictEqual({
      tools: [{ headers: { 'X-Functions-Key': '[key]', 'X-Title': 'open to all' } }],
      n: [1, null],
    })
  })

  test('has no keys in its URL, in any encoding', () => {
    const plain = (text: string) => text
    expect(withoutSecretQuery('https://host/v1?sig=a%2fb+c&n=1&key', plain)).toBe(
      'https://host/v1?sig=[key]&n=1&key=[key]',
    )
    expect(withoutSecretQuery('https://host/v1', plain)).toBe('https://host/v1')
  })

  test('has no headers and no secret fields for a model without HTTP reports', () => {
    const request = {
      messages: [],
      tools: [],
      settings: {
        temperature: 1,
        headers: { 'x-title': 'mine' },
        extra: { openai: { token: 'abc', user: 'ada' } },
      },
    }
    expect(withoutRequestSecrets(request)).toStrictEqual({
      messages: [],
      tools: [],
      settings: { temperature: 1, extra: { openai: { token: '[key]', user: 'ada' } } },
    })
  })
})

describe('a thrown value is safe to show', () => {
  const with_ = (fields: object) => Object.assign(new Error('failed'), fields)

  test('if it contains no key', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
      code: 'ECONNREFUSED',
      port: 1,
    })
    expect(isSafeToShow(new TypeError('fetch failed', { cause }), [key])).toBe(true)
    expect(isSafeToShow(new AggregateError([cause, cause], 'all failed'), [key])).toBe(true)
    expect(isSafeToShow(with_({ socket: { bytesRead: 0, peer: ['a', null, undefined] } }), [key])).toBe(true)
    expect(isSafeToShow('a word', [key])).toBe(true)
    expect(isSafeToShow(undefined, [key])).toBe(true)
  })

  test.each([
    ['in its message', new Error(`bad header ${key}`)],
    ['in the message of its cause', new Error('failed', { cause: new Error(key) })],
    ['in one of several errors', new AggregateError([new Error(key)], 'failed')],
    ['in a nested field', with_({ config: { headers: [{ authorization: `Bearer ${key}` }] } })],
    ['behind a symbol', with_({ [Symbol('request')]: key })],
    ['in an object that cannot be inspected', with_({ request: new Headers({ authorization: key }) })],
    ['in a map', with_({ headers: new Map([['authorization', key]]) })],
    ['in a function', with_({ retry: () => key })],
    ['as text', `Bearer ${key}`],
    [
      'behind a getter that throws',
      Object.defineProperty(new Error('x'), 'message', { get: () => JSON.parse('') }),
    ],
  ])('but not with a key %s', (_, thrown) => {
    expect(isSafeToShow(thrown, [key])).toBe(false)
  })

  test('even if it is circular', () => {
    const circle = with_({})
    expect(isSafeToShow(Object.assign(circle, { self: circle }), [key])).toBe(true)
  })
})
