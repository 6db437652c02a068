import { createServer, type ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readChunk } from './cassette.ts'
import { recordCassette } from './record-cassette.ts'
import { replayCassette } from './replay-cassette.ts'

const key = 'sk-very-secret-key-1234'

/** A server with a fixed response to any request. */
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

/** The exchange on the cassette after one request, and the whole cassette as text. */
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
  const responseText = Buffer.concat(exchange.response.chunks.map(readChunk)).toString()
  return { cassette, exchange, responseText, everything: JSON.stringify(cassette) + responseText }
}

const bearer = { authorization: `Bearer ${key}` }

describe('a key is redacted', () => {
  test.each<[string, Asked]>([
    ['in another header', { headers: { ...bearer, 'x-trace': `from ${key}` } }],
    ['in another parameter', { headers: bearer, path: `/v1/any?user=${key}&b=1` }],
    ['in the path', { headers: bearer, path: `/v1/${key}/any` }],
    ['in a response header', { headers: bearer, answer: { headers: { 'x-echo': `was ${key}` } } }],
    ['in a redirect', { headers: bearer, answer: { headers: { location: `https://example.com/${key}` } } }],
    ['in a response body', { headers: bearer, answer: { body: `{"you":"${key}"}` } }],
    ['in an object key', { headers: bearer, body: JSON.stringify({ [key]: [{ a: key }] }) }],
    ['in a body that is not JSON', { headers: bearer, body: `user=${key}` }],
  ])('%s', async (_, request) => {
    expect((await recorded(request)).everything).not.toContain(key)
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
  ])('that was sent as %s, and the header is not recorded', async (name, value) => {
    const { everything, exchange } = await recorded({
      headers: { [name]: value },
      body: JSON.stringify({ note: `I am ${key}` }),
    })
    expect(everything).not.toContain(key)
    expect(everything).not.toContain(btoa(`me:${key}`))
    expect(exchange.request.headers).not.toHaveProperty(name)
  })

  test.each(['subscription-key', 'auth', 'sig', 'X-Amz-Credential', 'access_token', 'api%2Dkey'])(
    'that was sent as ?%s=',
    async (name) => {
      const { everything, exchange } = await recorded({
        path: `/v1/any?a=b&${name}=${key}`,
        answer: { body: `hello ${key}` },
      })
      expect(everything).not.toContain(key)
      expect(exchange.request.path).toBe(`/v1/any?a=b&${name}=[removed]`)
    },
  )

  test('in the URL of a redirect, even if it was not sent before', async () => {
    const location = `https://example.com/file?sig=${key}&a=b`
    const { exchange, everything } = await recorded({ answer: { headers: { location }, body: key } })
    expect(exchange.response.headers.location).toBe('https://example.com/file?sig=[removed]&a=b')
    expect(everything).not.toContain(key)
  })
})

test('keeps what is not secret: token counts, request ids, the required kind of key', async () => {
  const headers = {
    'x-ratelimit-remaining-tokens': '149984',
    'x-request-id': 'req_0123456789',
    'www-authenticate': 'Bearer realm="here"',
  }
  const { exchange } = await recorded({ answer: { headers, body: '149984 left' } })
  expect(exchange.response).toMatchObject({ headers, chunks: [{ text: '149984 left' }] })
})

describe('cookies and organizations', () => {
  test('of a response are redacted one by one, in this response and in earlier requests', async () => {
    const { everything, exchange } = await recorded({
      body: JSON.stringify({ a: 'first-cookie', b: 'org-of-someone' }),
      answer: {
        headers: {
          'set-cookie': [
            'one=first-cookie; Path=/v1/any; HttpOnly',
            'two=second%20cookie; Domain=example.com',
          ],
          'openai-organization': 'org-of-someone',
        },
        body: 'first-cookie second cookie org-of-someone Path /v1/any example.com',
      },
    })
    expect(everything).not.toMatch(/first-cookie|second.*cookie|org-of-someone/)
    // Cookie attributes are not secret.
    expect(exchange.request.path).toBe('/v1/any')
    expect(everything).toContain('Path /v1/any example.com')
  })

  test('of a request are redacted one by one, except for short ones', async () => {
    const { responseText } = await recorded({
      headers: { cookie: 'theme=dark; session=abcdefgh12; id=ijklmnop34' },
      answer: { body: 'dark abcdefgh12 ijklmnop34' },
    })
    expect(responseText).toBe('dark ********** **********')
  })

  test('of one request are redacted in the response to another', async () => {
    await using upstream = await upstreamThat((response) => response.end(`I remember ${key}`))
    await using recorder = await recordCassette({ upstream: upstream.url })
    await (await fetch(recorder.url)).text()
    await (await fetch(recorder.url, { headers: bearer })).text()
    expect(JSON.stringify(recorder.cassette())).not.toContain(key)
    expect(recorder.cassette().exchanges).toHaveLength(2)
  })
})

describe('the secrets option', () => {
  test('redacts headers, path and bodies', async () => {
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

  test('does not prevent replay of the same request', async () => {
    const body = '{"name":"Zoë","phone":5551234567,"by":"Al"}'
    const { cassette } = await recorded({ secrets: ['Zoë', '5551234567', 'Al'], path: '/v1/Al', body })
    expect(JSON.stringify(cassette)).not.toMatch(/Zoë|5551234|Al/)
    await using player = await replayCassette(cassette)
    const ask = (text: string) => fetch(`${player.url}/v1/Al`, { method: 'POST', body: text })
    expect((await ask(body.replace('name', 'other'))).status).toBe(400)
    expect((await ask(body)).status).toBe(200)
  })

  test('redacts overlapping secrets', async () => {
    const { responseText } = await recorded({
      secrets: ['abcdef', 'defghi'],
      answer: { body: '-abcdefghi-' },
    })
    expect(responseText).toBe('-*********-')
  })
})

describe('redacts a secret in any encoding', () => {
  const odd = 'k"e\\\\y/ü\n&1234'

  test.each<[string, string]>([
    ['plain', odd],
    ['as JSON', JSON.stringify({ odd })],
    ['as JSON in JSON', JSON.stringify({ arguments: JSON.stringify({ odd }) })],
    ['with every slash escaped', JSON.stringify({ odd }).replaceAll('/', '\\/')],
    ['in ASCII', JSON.stringify({ odd }).replaceAll('ü', '\\u00FC').replaceAll('&', '\\u0026')],
    ['in a URL', `https://example.com/?a=${encodeURIComponent(odd)}`],
    ['in a URL, in lower case', encodeURIComponent(odd).toLowerCase()],
  ])('%s', async (_, body) => {
    const { responseText } = await recorded({ secrets: [odd], answer: { body } })
    expect(responseText).not.toMatch(/1234/)
    expect(responseText).toContain('*'.repeat(13))
    expect(Buffer.byteLength(responseText)).toBe(Buffer.byteLength(body))
  })

  test('a key with a quotation mark, in the body that was sent', async () => {
    const { everything, exchange } = await recorded({
      headers: { 'x-api-key': 'sk-"quoted"-1234' },
      body: JSON.stringify({ user: 'sk-"quoted"-1234', call: JSON.stringify({ user: 'sk-"quoted"-1234' }) }),
    })
    expect(everything).not.toContain('quoted')
    expect(exchange.request.body).toMatchObject({ user: '*'.repeat(16) })
  })

  test('many backslashes take linear time', async () => {
    const body = '\\'.repeat(200_000)
    const { responseText } = await recorded({ secrets: ['\\\\\\\\\\\\\\\\\\\\\\\\x'], answer: { body } })
    expect(responseText).toBe(body)
  })
})

describe('a compressed response', () => {
  test.each([
    ['gzip', gzipSync(key)],
    ['br', brotliCompressSync(key)],
    ['zstd', Buffer.from(key)],
  ])('in %s is rejected, since it cannot be redacted', async (encoding, bytes) => {
    await using upstream = await upstreamThat((response) => {
      response.writeHead(200, { 'content-encoding': encoding })
      response.end(bytes)
    })
    await using recorder = await recordCassette({ upstream: upstream.url })
    const response = await fetch(recorder.url, { headers: bearer })
    expect(response.status).toBe(502)
    expect((await response.json()).error.message).toMatch(
      new RegExp(`sent content-encoding '${encoding}' although none was accepted: .*turn compression off`),
    )
    expect(recorder.cassette().exchanges).toEqual([])
  })

  test('with identity encoding is accepted', async () => {
    const { responseText } = await recorded({
      answer: { headers: { 'content-encoding': 'identity' }, body: 'hi' },
    })
    expect(responseText).toBe('hi')
  })
})
