import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../millrace/src/testing/fake-clock.ts'
import { type Cassette, readChunk } from './cassette.ts'
import type { Fault } from './faults.ts'
import { providerSimulator } from './provider-simulator.ts'
import { keyHeaders, minimalRequest, post, rawAsk, until, wires } from './raw-client.test-kit.ts'
import { recordCassette } from './record-cassette.ts'
import { replayCassette } from './replay-cassette.ts'
import type { Wire } from './wire.ts'

const rounds = [
  [{ text: 'Grüße aus Zürich 😀😀😀😀😀😀' }, { call: 'look', input: { id: 1 } }],
  [{ text: 'and good-bye' }],
]

/** Calls the simulator through a recorder, once for each body. */
async function record(
  wire: Wire,
  bodies: readonly unknown[],
  faults: readonly Fault[] = [],
): Promise<Cassette> {
  await using sim = await providerSimulator(rounds, { faults })
  await using recorder = await recordCassette({ upstream: sim.url })
  for (const body of bodies) await (await post(recorder, wire, body)).text().catch(() => {})
  await until(() => recorder.cassette().exchanges.length === bodies.length)
  return recorder.cassette()
}

const bytesOf = ({ exchanges }: Cassette, index = 0) =>
  (exchanges[index]?.response.chunks ?? []).map((chunk) => Buffer.from(readChunk(chunk)))

describe.each(wires)('over %s', (wire) => {
  const streamed = { ...minimalRequest(wire), stream: true }

  test('replays a recording byte by byte, with the same chunks', async () => {
    // Chunks of 7 bytes split characters and line ends.
    const cassette = await record(wire, [streamed, minimalRequest(wire)], [{ kind: 'chunks', bytes: 7 }])
    expect(
      bytesOf(cassette)
        .slice(0, -1)
        .every(({ length }) => length === 7),
    ).toBe(true)
    expect(cassette.exchanges[0]?.response.chunks.some((chunk) => 'base64' in chunk)).toBe(true)
    await using player = await replayCassette(JSON.stringify(cassette))
    const answer = rawAsk(player as never, wire)
    await answer.closed
    expect(answer.chunks).toEqual(bytesOf(cassette))
    expect(answer).toMatchObject({ whole: true, ended: 'end' })
    expect(answer.head).toContain('content-type: text/event-stream; charset=utf-8')
    expect(player.left).toBe(1)
    const whole = await post(player, wire, minimalRequest(wire))
    expect(await whole.text()).toBe(Buffer.concat(bytesOf(cassette, 1)).toString())
    expect(player.left).toBe(0)
  })

  test('a connection that broke breaks again at the same byte', async () => {
    const cassette = await record(wire, [streamed], [{ kind: 'reset', at: { event: 3, byte: 9 } }])
    expect(cassette.exchanges[0]?.response.complete).toBe(false)
    await using player = await replayCassette(cassette)
    const answer = rawAsk(player as never, wire)
    await answer.closed
    expect(answer.body).toEqual(Buffer.concat(bytesOf(cassette)))
    expect(answer.body.length).toBeGreaterThan(0)
    expect(answer.ended).toBe('reset')
  })

  test('records no secrets', async () => {
    const key = 'sk-very-secret-key'
    await using sim = await providerSimulator([`your key is ${key}, split or not`], {
      checks: false,
      deltaChars: Number.POSITIVE_INFINITY,
      faults: [{ kind: 'chunks', bytes: 5 }],
    })
    await using recorder = await recordCassette({ upstream: sim.url, secrets: ['Ada Lovelace'] })
    const headers = {
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'api-key': key,
      cookie: 'session=abcdefgh',
      'openai-organization': 'org-1234567',
      'anthropic-version': '2023-06-01',
    }
    const path = {
      'openai-chat': 'chat/completions',
      'openai-responses': 'responses',
      anthropic: 'messages',
    }[wire]
    const answer = await fetch(`${recorder.url}/v1/${path}?api-key=${key}&a=b`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...streamed, user: key, note: 'from Ada Lovelace' }),
    })
    expect(await answer.text()).toContain(key)
    const cassette = recorder.cassette()
    const [exchange] = cassette.exchanges
    const everything = JSON.stringify(cassette) + Buffer.concat(bytesOf(cassette)).toString()
    expect(everything).not.toMatch(/very-secret|abcdefgh|org-1234567|Lovelace/)
    expect(exchange?.request).toMatchObject({
      path: `/v1/${path}?api-key=[removed]&a=b`,
      body: { user: '*'.repeat(18) },
    })
    expect(Buffer.concat(bytesOf(cassette)).toString()).toContain(`your key is ${'*'.repeat(18)}, split`)
    // A request with another key of the same length matches.
    await using player = await replayCassette(cassette)
    const other = 'sk-just-for-replay'
    const again = await fetch(`${player.url}/v1/${path}?api-key=${other}&a=b`, {
      method: 'POST',
      headers: { 'x-api-key': other },
      body: JSON.stringify({ ...streamed, user: other, note: 'from Ada Lovelace' }),
    })
    expect(again.status).toBe(200)
  })

  test('reports how a request differs', async () => {
    const cassette = await record(wire, [streamed])
    await using player = await replayCassette(cassette)
    const say = async (body: unknown, to: Wire = wire) => {
      const response = await post(player, to, body)
      return [response.status, (await response.json()).error.message]
    }
    const other = { ...minimalRequest(wire, 'ho'), stream: true }
    const path = wire === 'openai-responses' ? 'body.input' : 'body.messages[0].content'
    expect(await say(other)).toEqual([
      400,
      `request 0 does not match the cassette: ${path} is "ho", recorded was "hi"`,
    ])
    expect((await say({ ...streamed, extra: 1 }))[1]).toContain('body.extra is 1, recorded was nothing')
    const elsewhere = wire === 'anthropic' ? 'openai-chat' : 'anthropic'
    expect((await say(streamed, elsewhere))[1]).toContain('the path is /v1/')
    const reordered = Object.fromEntries(Object.entries(streamed).reverse())
    expect((await post(player, wire, reordered)).status).toBe(200)
    expect((await say(streamed))[1]).toBe('no more recorded exchanges: the cassette has 1')
  })
})

test('can replay with the recorded delays', async () => {
  const cassette: Cassette = {
    version: 1,
    exchanges: [
      {
        request: {
          method: 'POST',
          path: '/v1/responses',
          headers: {},
          body: { ...minimalRequest('openai-responses'), stream: true },
        },
        response: {
          status: 200,
          headers: {},
          chunks: [
            { afterMs: 0, text: 'a' },
            { afterMs: 5000, text: 'b' },
          ],
          complete: true,
        },
      },
    ],
  }
  const clock = fakeClock()
  await using player = await replayCassette(cassette, { paced: true, clock })
  const answer = rawAsk(player as never, 'openai-responses')
  await answer.received(1)
  expect(answer.body.toString()).toBe('a')
  while (answer.ended === undefined) await clock.advance(1000)
  expect(answer.body.toString()).toBe('ab')
  expect(clock.now()).toBeGreaterThanOrEqual(5000)
})

test('measures delays on the clock, and omits unfinished responses', async () => {
  const clock = fakeClock()
  await using sim = await providerSimulator([[{ text: 'a' }, { pause: 3000 }, { text: 'b' }]], { clock })
  await using recorder = await recordCassette({ upstream: sim.url, clock })
  const response = await post(recorder, 'openai-chat', { ...minimalRequest('openai-chat'), stream: true })
  expect(recorder.cassette()).toEqual({ version: 1, exchanges: [] })
  const text = response.text()
  let done = false
  text.finally(() => {
    done = true
  })
  while (!done) await clock.advance(1000)
  const delays = recorder.cassette().exchanges[0]?.response.chunks.map(({ afterMs }) => afterMs) ?? []
  expect(Math.max(...delays)).toBeGreaterThanOrEqual(3000)
})

test('a real client works with a cassette as with the provider', async () => {
  await using sim = await providerSimulator(['Hello there'])
  await using recorder = await recordCassette({ upstream: sim.url })
  const say = async (url: string) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-anything', maxRetries: 0 })
    const stream = client.responses.stream({ model: 'm', input: 'hi' })
    return (await stream.finalResponse()).output_text
  }
  expect(await say(recorder.url)).toBe('Hello there')
  await using player = await replayCassette(recorder.cassette())
  expect(await say(player.url)).toBe('Hello there')
})

test('reports an unreachable upstream with the reason, and records nothing', async () => {
  const sim = await providerSimulator([])
  await sim.close()
  await using recorder = await recordCassette({ upstream: sim.url.replace('//', '//me:hidden-word@') })
  for (const wire of wires) {
    const response = await post(recorder, wire, {}, keyHeaders(wire))
    expect([response.status, await response.json()]).toEqual([
      502,
      {
        type: 'error',
        error: {
          type: 'api_error',
          message: expect.stringMatching(/^no response from http:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED/),
          param: null,
          code: 'cassette_not_recorded',
        },
      },
    ])
  }
  expect(recorder.cassette().exchanges).toEqual([])
})

test('a large request with stars in it is compared in one pass', async () => {
  // Backtracking from each character would take days.
  const key = 'sk-very-secret-key'
  const long = `${'x'.repeat(4_000_000)}${key}${'ü'.repeat(2_000_000)}`
  await using sim = await providerSimulator(['one'])
  await using recorder = await recordCassette({ upstream: sim.url })
  const headers = { authorization: `Bearer ${key}` }
  await (await post(recorder, 'openai-chat', minimalRequest('openai-chat', long), headers)).text()
  const cassette = recorder.cassette()
  expect(JSON.stringify(cassette)).not.toContain(key)
  await using player = await replayCassette(cassette)
  const other = long.replace(key, 'a key of another length')
  const wrong = await post(player, 'openai-chat', minimalRequest('openai-chat', `${other}!`))
  expect(wrong.status).toBe(400)
  expect((await post(player, 'openai-chat', minimalRequest('openai-chat', other))).status).toBe(200)
})

describe('stars on a cassette', () => {
  const recorded = (content: string): Cassette => ({
    version: 1,
    exchanges: [
      {
        request: {
          method: 'POST',
          path: '/v1/chat/completions',
          headers: {},
          body: minimalRequest('openai-chat', content),
        },
        response: { status: 200, headers: {}, chunks: [], complete: true },
      },
    ],
  })

  test.each<[string, string, boolean]>([
    ['I am ******.', 'I am Ada.', true],
    ['I am ******.', 'I am .', false],
    ['I am ******.', 'I was Ada.', false],
    ['I am ******.', 'I am Ada!', false],
    ['****** met ******', 'Ada met Ada met Eve', true],
    ['****** met ******', 'Ada saw Eve', false],
    ['******', 'anything', true],
    ['2 ** 3', '2 ** 3', true],
    ['2 ** 3', '2 ++ 3', false],
    ['* * * * * *', '* * * * * *', true],
  ])('%j matches %j: %j', async (then, now, same) => {
    await using player = await replayCassette(recorded(then))
    expect((await post(player, 'openai-chat', minimalRequest('openai-chat', now))).status).toBe(
      same ? 200 : 400,
    )
  })

  test('the error does not include the key of the request', async () => {
    await using player = await replayCassette(recorded('hi'))
    const headers = { authorization: 'Bearer sk-of-the-moment' }
    const body = minimalRequest('openai-chat', `${'x'.repeat(90)}sk-of-the-moment`)
    const answer = await (await post(player, 'openai-chat', body, headers)).json()
    expect(answer.error.message).toMatch(/body\.messages\[0\]\.content is "x{90}\*/)
    expect(JSON.stringify(answer)).not.toContain('sk-of')
  })
})

describe('an invalid cassette', () => {
  test.each<[unknown, string]>([
    ['{', 'the cassette is not valid JSON'],
    [7, 'a cassette must be { version, exchanges }, not a number'],
    [{ version: 2 }, 'cassette version 2 is not supported'],
    [{ version: 1 }, 'exchanges must be an array'],
    [{ version: 1, exchanges: [{}] }, 'exchanges[0].request needs a method and a path'],
    [
      { version: 1, exchanges: [{ request: { method: 'GET', path: '/' } }] },
      'exchanges[0].response needs a status',
    ],
  ])('%j is rejected', async (value, message) => {
    await expect(replayCassette(value as never)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(message),
    })
  })

  test('an invalid upstream URL is rejected', async () => {
    await expect(recordCassette({ upstream: 'api.openai.com' })).rejects.toThrow(
      "'upstream' must be a URL such as",
    )
  })
})
