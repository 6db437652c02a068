import { providerSimulator } from '@millrace/simulator'
import { describe, expect, test } from 'vitest'
import type { Model, ModelRequest } from '../../protocol/index.ts'
import { anthropic } from '../anthropic.ts'
import { wires } from '../every-model.test-kit.ts'
import { openai, openaiChat } from '../openai.ts'
import { openStream } from './http.ts'
import { readBody } from './send.ts'
import {
  callTo,
  drain,
  failureFrom,
  httpServer,
  key,
  overEachTransport,
  tcpServer,
  unusedAddress,
} from './wire.test-kit.ts'
import { wireListener, wiretap } from './wiretap.test-kit.ts'

const { signal } = new AbortController()
const request: ModelRequest = {
  messages: [
    { role: 'system', content: 'You are terse.' },
    { role: 'user', content: 'Grüße, 🙂 "quoted" \\ and\nmore' },
  ],
  tools: [{ name: 'look', description: 'Looks', inputSchema: { type: 'object', properties: {} } }],
  settings: {},
}

const events = { 'content-type': 'text/event-stream' }

/** Calls a model and returns everything that the listener was notified of. */
async function capture(model: Model, more: Partial<ModelRequest> = {}) {
  const { captured, wire } = wireListener()
  const { error } = await drain(model.stream({ ...request, ...more }, { signal, wire }))
  return { captured, error }
}

describe.each(Object.entries(wires))('over %s', (_, open) => {
  test('a listener gets the bytes sent and the bytes received', async () => {
    await using simulator = await providerSimulator([[{ text: 'Größe 🙂, in pieces.' }]], { deltaChars: 3 })
    const tap = await wiretap(simulator.url)
    const { captured } = await capture(open(tap))
    expect(captured).toHaveLength(1)
    await expect.poll(() => captured[0]?.pieces.join('')).toBe(tap.exchanges[0]?.response)
    expect(captured[0]).toMatchObject({ body: tap.exchanges[0]?.body, status: 200 })
    expect(captured[0]?.responseHeaders).toMatchObject({
      'content-type': expect.stringContaining('event-stream'),
    })
    expect(JSON.parse(captured[0]?.body ?? '')).toEqual(simulator.requests[0]?.body)
  })

  test('a listener gets error responses too, in full', async () => {
    const faults = [{ kind: 'status', status: 529 }] as const
    await using simulator = await providerSimulator(['never'], { faults })
    const tap = await wiretap(simulator.url)
    const { captured, error } = await capture(open(tap))
    expect(error).toBeDefined()
    expect(captured[0]).toMatchObject({ body: tap.exchanges[0]?.body, status: 529 })
    expect(captured[0]?.pieces.join('')).toBe(tap.exchanges[0]?.response)
  })

  test('a model emits the same events with and without a listener', async () => {
    const say = [{ reasoning: 'Hm.' }, { text: 'Yes.' }, { call: 'look', input: {} }]
    await using simulator = await providerSimulator(() => say)
    const model = open(simulator)
    const listened = await drain(model.stream(request, { signal, wire: wireListener().wire }))
    const alone = await drain(model.stream(request, { signal }))
    // Each answer has its own ids and encrypted content.
    const plain = (value: unknown) => JSON.stringify(value).replace(/\d{10,}|gAAAAA[\w=-]+/g, '#')
    expect(plain(listened)).toBe(plain(alone))
    expect(listened.events.length).toBeGreaterThan(2)
  })
})

test('an answer that the provider pauses is two requests', async () => {
  let turn = 0
  await using server = await httpServer((_, response) => {
    const stop = turn++ === 0 ? 'pause_turn' : 'end_turn'
    response.writeHead(200, events)
    const frames = [
      { type: 'message_start', message: { usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: `turn ${turn}` } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]
    for (const frame of frames) response.write(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`)
    response.end()
  })
  const { captured } = await capture(anthropic('claude-sonnet-4-5', { baseURL: server.url, apiKey: key }))
  expect(captured.map(({ pieces }) => /turn \d/.exec(pieces.join(''))?.[0])).toEqual(['turn 1', 'turn 2'])
  expect(captured[1]?.body).toContain('turn 1')
})

overEachTransport('secrets, over %s', (fetch) => {
  const own = 'tkn-5e6f7a8b9c'
  const inQuery = 'qry-0a1b2c3d4e'
  const ofOthers = 'mcp-9z8y7x6w5v'
  const secrets = [key, own, inQuery, ofOthers]

  function model(url: string) {
    return openaiChat('m', {
      baseURL: `${url}/v1?api-key=${inQuery}&version=2026`,
      apiKey: key,
      headers: { 'x-custom-token': `Token ${own}`, 'x-title': 'seen' },
      extra: { mcp_servers: [{ name: 'them', authorization_token: ofOthers }] },
      fetch,
    })
  }

  test('never reach a listener', async () => {
    await using server = await httpServer((_, response) => {
      response.writeHead(200, {
        ...events,
        'set-cookie': ['session=abcdef012345', `other=${key}`],
        'x-echo': `you sent ${own}`,
        'x-ratelimit-remaining-tokens': '17',
      })
      const echo = { choices: [{ index: 0, delta: { content: `You are ${secrets.join(', ')}` } }] }
      response.write(`data: ${JSON.stringify(echo)}\n\n`)
      response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    })
    const { captured, error } = await capture(model(server.url), {
      messages: [{ role: 'user', content: `my key is ${key}` }],
    })
    expect(error).toBeUndefined()
    await expect.poll(() => captured[0]?.pieces.join('')).toContain('[DONE]')
    const [exchange] = captured
    expect(server.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${key}` })
    for (const secret of secrets) expect(JSON.stringify(captured)).not.toContain(secret)
    expect(JSON.stringify(captured)).not.toContain('abcdef012345')
    expect(exchange).toMatchObject({
      url: `${server.url}/v1/chat/completions?api-key=[key]&version=2026`,
      headers: { authorization: '[key]', 'x-custom-token': '[key]', 'x-title': 'seen' },
      responseHeaders: { 'x-echo': 'you sent [key]', 'x-ratelimit-remaining-tokens': '17' },
    })
    expect(JSON.parse(exchange?.body ?? '')).toMatchObject({
      messages: [{ content: 'my key is [key]' }],
      mcp_servers: [{ name: 'them', authorization_token: '[key]' }],
    })
    expect(exchange?.pieces.join('')).toContain('You are [key], [key], [key], [key]')
  })

  test('are removed from an error response that quotes them, even without a line break', async () => {
    await using server = await httpServer((_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${key}` } }))
    })
    const { captured, error } = await capture(model(server.url))
    expect(error?.code).toBe('auth')
    expect(captured[0]?.status).toBe(401)
    expect(captured[0]?.pieces.join('')).toBe('{"error":{"message":"Incorrect API key provided: [key]"}}')
  })

  test('are not reported in parts when they arrive in two pieces', async () => {
    const { captured, wire } = wireListener()
    await using server = await httpServer(async (_, response) => {
      response.writeHead(200, events)
      response.write(`data: before\n\ndata: it is ${key.slice(0, 9)}`)
      await expect.poll(() => captured[0]?.pieces).toHaveLength(1)
      response.end(`${key.slice(9)} indeed\n\ndata: after`)
    })
    const answer = await openStream(callTo(server.url, { fetch, wire }))
    expect(await readBody(answer)).toContain(key)
    expect(captured[0]?.pieces).toEqual(['data: before\n\n', 'data: it is [key] indeed\n\n', 'data: after'])
  })

  test('are not reported in parts when the response breaks off within one', async () => {
    await using server = await tcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 1000\r\n\r\n')
      socket.write(`data: it is ${key.slice(0, 9)}`)
      setTimeout(() => socket.destroy(), 50)
    })
    const { captured, wire } = wireListener()
    const answer = await openStream(callTo(server.url, { fetch, wire }))
    await expect(readBody(answer)).rejects.toThrow()
    answer.close()
    expect(captured[0]?.pieces).toEqual(['data: it is [key]'])
  })
})

overEachTransport('a response, over %s', (fetch) => {
  test('is reported unchanged, including byte order marks, line ends and split characters', async () => {
    const said = '\ufeffdata: größe 🙂\r\rdata: two\r\n\r\n: comment\n\ndata: no end'
    const bytes = Buffer.from(said)
    await using server = await httpServer(async (_, response) => {
      response.writeHead(200, events)
      for (let at = 0; at < bytes.length; at += 5) {
        response.write(bytes.subarray(at, at + 5))
        await new Promise((resolve) => setImmediate(resolve))
      }
      response.end()
    })
    const { captured, wire } = wireListener()
    await readBody(await openStream(callTo(server.url, { fetch, wire })))
    expect(captured[0]?.pieces.join('')).toBe(said)
  })

  test('that is canceled is reported as far as it was read', async () => {
    const controller = new AbortController()
    await using server = await httpServer((_, response) => {
      response.writeHead(200, events)
      response.write('data: one\n\ndata: tw')
    })
    const { captured, wire } = wireListener()
    const answer = await openStream(callTo(server.url, { fetch, wire, signal: controller.signal }))
    const reading = readBody(answer).catch(() => '')
    await expect.poll(() => captured[0]?.pieces).toEqual(['data: one\n\n'])
    controller.abort()
    await reading
    answer.close()
    expect(captured[0]?.pieces.join('')).toBe('data: one\n\ndata: tw')
  })
})

test('a request that reaches no server is still reported as sent', async () => {
  const { captured, wire } = wireListener()
  const error = await failureFrom(openStream(callTo(await unusedAddress(), { wire })))
  expect(error.code).toBe('stream_error')
  expect(captured).toEqual([expect.objectContaining({ body: '{"hello":"there"}', pieces: [] })])
  expect(captured[0]).not.toHaveProperty('status')
})

test('a listener that throws fails the request and leaves no connection open', async () => {
  await using server = await httpServer((_, response) => {
    response.writeHead(200, events)
    response.write('data: {}\n\n')
  })
  const { wire } = wireListener()
  const throwing = {
    ...wire,
    responded() {
      throw new Error('no')
    },
  }
  const call = openStream(callTo(server.url, { wire: throwing }))
  await expect(call).rejects.toThrow('no')
  await server.disconnected
})

test('a model without its key sends nothing', async () => {
  const { captured, error } = await capture(openai('m', { apiKey: '', baseURL: 'https://api.openai.com/v1' }))
  expect(error?.code).toBe('auth')
  expect(captured).toEqual([])
})
