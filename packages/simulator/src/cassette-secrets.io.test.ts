import { createServer, type ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readChunk } from './cassette.ts'
import { recordCassette } from './record-cassette.ts'
import { replayCassette } from './replay-cassette.ts'

const key = 'sk-very-secret-key-1234'

/** A server that answers as it is told, whatever it is asked. */
async function upstreamThat(answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Asked {
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly secrets?: readonly string[]
  readonly answer?: { readonly headers?: Record<string, string | string[]>; readonly body?: string }
}

/** What is on the cassette after one request, and all of it as text. */
async function recorded({ path = '/v1/any', headers = {}, body = '{}', secrets = [], answer = {} }: Asked) {
  await using upstream = await upstreamThat((response) => {
    response.writeHead(200, answer.headers)
    response.end(answer.body ?? 'fine')
  })
  await using recorder = await recordCassette({ upstream: upstream.url, secrets })
  const response = await fetch(recorder.url + path, { method: 'POST', headers, body })
  expect(await response.text()).toBe(answer.body ?? 'fine')
  const cassette = recorder.cassette()
  const [exchange] = cassette.exchanges
  if (!exchange) throw new Error('nothing was recorded')
  const told = Buffer.concat(exchange.response.chunks.map(readChunk)).toString()
  return { cassette, exchange, told, everything: JSON.stringify(cassette) + told }
}

const bearer = { authorization: `Bearer ${key}` }

describe('a key is found again', () => {
  test.each<[string, Asked]>([
    ['in another header', { headers: { ...bearer, 'x-trace': `from ${key}` } }],
    ['in another parameter', { headers: bearer, path: `/v1/any?user=${key}&b=1` }],
    ['in the path', { headers: bearer, path: `/v1/${key}/any` }],
    ['in the header of an answer', { headers: bearer, answer: { headers: { 'x-echo': `was ${key}` } } }],
    ['in a redirect', { headers: bearer, answer: { headers: { location: `https://example.com/${key}` } } }],
    ['in the body of an answer', { headers: bearer, answer: { body: `{"you":"${key}"}` } }],
    ['in the key of an object', { headers: bearer, body: JSON.stringify({ [key]: [{ a: key }] }) }],
    ['in a body that is no JSON', { headers: bearer, body: `user=${key}` }],
  ])('%s', async (_, asked) => {
    expect((await recorded(asked)).everything).not.toContain(key)
  })

  test.each([
    ['helicone-auth', `Bearer ${key}`],
    ['cf-aig-authorization', `Bearer ${key}`],
    ['ocp-apim-subscription-key', key],
    ['x-amz-security-token', key],
    ['x-client-secret', key],
    ['openai-project', key],
    ['anthropic-organization-id', key],
    ['proxy-authorization', `Basic ${btoa(`me:${key}`)}`],
  ])('that came as %s, and the header is not written down', async (name, value) => {
    const { everything, exchange } = await recorded({
      headers: { [name]: value },
      body: JSON.stringify({ note: `I am ${key}` }),
    })
    expect(everything).not.toContain(key)
    expect(everything).not.toContain(btoa(`me:${key}`))
    expect(exchange.request.headers).not.toHaveProperty(name)
  })

  test.each(['subscription-key', 'auth', 'sig', 'X-Amz-Credential', 'access_token', 'api%2Dkey'])(
    'that came as ?%s=',
    async (name) => {
      const { everything, exchange } = await recorded({
        path: `/v1/any?a=b&${name}=${key}`,
        answer: { body: `hello ${key}` },
      })
      expect(everything).not.toContain(key)
      expect(exchange.request.path).toBe(`/v1/any?a=b&${name}=[removed]`)
    },
  )

  test('in the address of a redirect, of which nobody else knows', async () => {
    const location = `https://example.com/file?sig=${key}&a=b`
    const { exchange, everything } = await recorded({ answer: { headers: { location }, body: key } })
    expect(exchange.response.headers.location).toBe('https://example.com/file?sig=[removed]&a=b')
    expect(everything).not.toContain(key)
  })
})

test('what is no secret stays: counts of tokens, request ids, the kind of key that is wanted', async () => {
  const headers = {
    'x-ratelimit-remaining-tokens': '149984',
    'x-request-id': 'req_0123456789',
    'www-authenticate': 'Bearer realm="here"',
  }
  const { exchange } = await recorded({ answer: { headers, body: '149984 left' } })
  expect(exchange.response).toMatchObject({ headers, chunks: [{ text: '149984 left' }] })
})

describe('cookies and organisations', () => {
  test('of an answer are found again one by one, in this answer and in what was asked before it', async () => {
    const { everything, exchange } = await recorded({
      body: JSON.stringify({ a: 'first-cookie', b: 'org-of-somebody' }),
      answer: {
        headers: {
          'set-cookie': [
            'one=first-cookie; Path=/v1/any; HttpOnly',
            'two=second%20cookie; Domain=example.com',
          ],
          'openai-organization': 'org-of-somebody',
        },
        body: 'first-cookie second cookie org-of-somebody Path /v1/any example.com',
      },
    })
    expect(everything).not.toMatch(/first-cookie|second.*cookie|org-of-somebody/)
    // What a cookie is good for is no secret.
    expect(exchange.request.path).toBe('/v1/any')
    expect(everything).toContain('Path /v1/any example.com')
  })

  test('of a request are found again one by one, and short ones are no secrets', async () => {
    const { told } = await recorded({
      headers: { cookie: 'theme=dark; session=abcdefgh12; id=ijklmnop34' },
      answer: { body: 'dark abcdefgh12 ijklmnop34' },
    })
    expect(told).toBe('dark ********** **********')
  })

  test('of one request are found in the answer to another', async () => {
    await using upstream = await upstreamThat((response) => response.end(`I remember ${key}`))
    await using recorder = await recordCassette({ upstream: upstream.url })
    await (await fetch(recorder.url)).text()
    await (await fetch(recorder.url, { headers: bearer })).text()
    expect(JSON.stringify(recorder.cassette())).not.toContain(key)
    expect(recorder.cassette().exchanges).toHaveLength(2)
  })
})

describe('the secrets of the caller', () => {
  test('are left out everywhere: headers, path, bodies', async () => {
    const { everything, exchange } = await recorded({
      secrets: ['Zoë Ada', '5551234567', 'Al'],
      path: '/v1/Zo%C3%AB%20Ada/Zo%c3%ab+Ada',
      headers: { 'x-name': 'Zoë Ada', 'x-short': 'to Al' },
      body: '{"a":"Zo\\u00eb Ada","b":5551234567,"c":{"Al":"{\\"d\\":\\"Zo\\\\u00EB Ada\\"}"}}',
      answer: { headers: { 'x-back': 'for Al' }, body: 'Zoë Ada is Al at 5551234567' },
    })
    expect(everything).not.toMatch(/Zo|Ada|5551234|\bAl\b/)
    expect(exchange.request.headers).toMatchObject({ 'x-short': 'to ******' })
    expect(exchange.response.headers).toMatchObject({ 'x-back': 'for ******' })
  })

  test('do no harm when it is played: whoever asks the same is answered', async () => {
    const body = '{"name":"Zoë","phone":5551234567,"by":"Al"}'
    const { cassette } = await recorded({ secrets: ['Zoë', '5551234567', 'Al'], path: '/v1/Al', body })
    expect(JSON.stringify(cassette)).not.toMatch(/Zoë|5551234|Al/)
    await using player = await replayCassette(cassette)
    const ask = (text: string) => fetch(`${player.url}/v1/Al`, { method: 'POST', body: text })
    expect((await ask(body.replace('name', 'other'))).status).toBe(400)
    expect((await ask(body)).status).toBe(200)
  })

  test('that lie upon each other are all left out', async () => {
    const { told } = await recorded({ secrets: ['abcdef', 'defghi'], answer: { body: '-abcdefghi-' } })
    expect(told).toBe('-*********-')
  })
})

describe('however it is written', () => {
  const odd = 'k"e\\\\y/ü\n&1234'

  test.each<[string, string]>([
    ['plain', odd],
    ['as JSON', JSON.stringify({ odd })],
    ['as JSON in JSON', JSON.stringify({ arguments: JSON.stringify({ odd }) })],
    ['with every slash escaped', JSON.stringify({ odd }).replaceAll('/', '\\/')],
    ['in ASCII', JSON.stringify({ odd }).replaceAll('ü', '\\u00FC').replaceAll('&', '\\u0026')],
    ['in an address', `https://example.com/?a=${encodeURIComponent(odd)}`],
    ['in an address, in small letters', encodeURIComponent(odd).toLowerCase()],
  ])('%s', async (_, body) => {
    const { told } = await recorded({ secrets: [odd], answer: { body } })
    expect(told).not.toMatch(/1234/)
    expect(told).toContain('*'.repeat(13))
    expect(Buffer.byteLength(told)).toBe(Buffer.byteLength(body))
  })

  test('a key with a quotation mark, in the body that was sent', async () => {
    const { everything, exchange } = await recorded({
      headers: { 'x-api-key': 'sk-"quoted"-1234' },
      body: JSON.stringify({ user: 'sk-"quoted"-1234', call: JSON.stringify({ user: 'sk-"quoted"-1234' }) }),
    })
    expect(everything).not.toContain('quoted')
    expect(exchange.request.body).toMatchObject({ user: '*'.repeat(16) })
  })

  test('many backslashes are no burden', async () => {
    const body = '\\'.repeat(200_000)
    const { told } = await recorded({ secrets: ['\\\\\\\\\\\\\\\\\\\\\\\\x'], answer: { body } })
    expect(told).toBe(body)
  })
})

describe('a compressed answer', () => {
  test.each([
    ['gzip', gzipSync(key)],
    ['br', brotliCompressSync(key)],
    ['zstd', Buffer.from(key)],
  ])('in %s is refused, since it cannot be looked into', async (encoding, bytes) => {
    await using upstream = await upstreamThat((response) => {
      response.writeHead(200, { 'content-encoding': encoding })
      response.end(bytes)
    })
    await using recorder = await recordCassette({ upstream: upstream.url })
    const response = await fetch(recorder.url, { headers: bearer })
    expect(response.status).toBe(502)
    expect((await response.json()).error.message).toMatch(
      new RegExp(
        `answered with content-encoding '${encoding}', though asked for none: .*turn compression off`,
      ),
    )
    expect(recorder.cassette().exchanges).toEqual([])
  })

  test('that is none is taken', async () => {
    const { told } = await recorded({ answer: { headers: { 'content-encoding': 'identity' }, body: 'hi' } })
    expect(told).toBe('hi')
  })
})
