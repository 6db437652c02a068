import type { ScriptRound } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../millrace/src/testing/fake-clock.ts'
import type { Fault } from './faults.ts'
import { providerSimulator } from './provider-simulator.ts'
import { ask, eventsOf, minimalRequest, post, rawAsk, until, wires } from './raw-client.test-kit.ts'
import type { Wire } from './wire.ts'

const round: ScriptRound = [{ text: 'Grüße,\n“friend” 😀' }, { call: 'look', input: { id: 'ORD-42' } }]

const simulate = (...faults: Fault[]) => providerSimulator(() => round, { faults, checks: false })

/** The response without faults, split into its events. */
async function plain(wire: Wire): Promise<{ readonly text: string; readonly events: string[] }> {
  await using sim = await simulate()
  const text = await (await ask(sim, wire)).text()
  return { text, events: text.split(/(?<=\n\n)/) }
}

describe.each(wires)('over %s', (wire) => {
  test('a refused connection is reset before a request is read', async () => {
    await using sim = await simulate({ kind: 'refuse', request: 0 })
    const connection = rawAsk(sim, wire)
    await connection.closed
    expect(connection).toMatchObject({ head: '', ended: 'reset' })
    expect(sim.requests).toEqual([
      { method: '', path: '', headers: {}, faults: [{ kind: 'refuse', request: 0 }] },
    ])
    expect((await ask(sim, wire)).status).toBe(200)
  })

  test('a reset before the headers leaves nothing to read', async () => {
    await using sim = await simulate({ kind: 'reset', at: 'before-headers' })
    const answer = rawAsk(sim, wire)
    await answer.closed
    expect(answer).toMatchObject({ head: '', ended: 'reset' })
    expect(sim.requests[0]).not.toHaveProperty('status')
    await expect(ask(sim, wire)).rejects.toThrow('fetch failed')
  })

  test('a reset after the headers leaves the headers', async () => {
    await using sim = await simulate({ kind: 'reset', at: 'after-headers' })
    const answer = rawAsk(sim, wire)
    await answer.closed
    expect(answer.head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(answer).toMatchObject({ chunks: [], whole: false, ended: 'reset' })
  })

  test.each([
    [{ event: 3 }, (events: string[]) => events.slice(0, 3).join('')],
    [{ event: 3, byte: 17 }, (events: string[]) => events.slice(0, 3).join('') + events[3]?.slice(0, 17)],
    [{ event: -1, byte: -1 }, (events: string[]) => events.join('').slice(0, -1)],
  ])('a reset at %j comes after exactly that byte', async (at, expected) => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'reset', at })
    const answer = rawAsk(sim, wire)
    await answer.closed
    expect(answer.body.toString()).toBe(expected(events))
    expect(answer).toMatchObject({ whole: false, ended: 'reset' })
  })

  test('a reset inside a character leaves its first byte', async () => {
    const { text } = await plain(wire)
    await using sim = await simulate({ kind: 'reset', at: { event: 0, byte: 'utf8' } })
    const answer = rawAsk(sim, wire)
    await answer.closed
    const whole = Buffer.from(text)
    const { length } = answer.body
    expect(answer.body).toEqual(whole.subarray(0, length))
    expect(whole.subarray(length - 1, length + 1).toString()).toBe('ü')
  })

  test('a reset inside an escape leaves its backslash', async () => {
    await using sim = await simulate({ kind: 'reset', at: { event: 0, byte: 'escape' } })
    const answer = rawAsk(sim, wire)
    await answer.closed
    expect(answer.body.at(-1)).toBe('\\'.charCodeAt(0))
    expect(answer.body.indexOf('\\')).toBe(answer.body.length - 1)
  })

  test('a point that is never reached changes nothing and is not reported', async () => {
    const { text } = await plain(wire)
    await using sim = await simulate(
      { kind: 'reset', at: { event: 999 } },
      { kind: 'duplicate', event: 999 },
      { kind: 'arguments', call: 7, how: 'empty' },
    )
    expect(await (await ask(sim, wire)).text()).toBe(text)
    expect(sim.requests[0]?.faults).toEqual([])
  })

  test('an end without a terminal event is a clean end for HTTP', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'end', at: { event: 4 } })
    const answer = rawAsk(sim, wire)
    await answer.closed
    expect(answer.body.toString()).toBe(events.slice(0, 4).join(''))
    expect(answer).toMatchObject({ whole: true, ended: 'end' })
  })

  test.each(['before-headers', 'after-headers', { event: 2, byte: 5 }] as const)(
    'a stall at %j sends nothing more until the client disconnects',
    async (at) => {
      const { events } = await plain(wire)
      await using sim = await simulate({ kind: 'stall', at })
      const answer = rawAsk(sim, wire)
      const expected = typeof at === 'object' ? events.slice(0, 2).join('') + events[2]?.slice(0, 5) : ''
      await answer.received(expected.length)
      await until(
        () => sim.requests[0]?.faults.length === 1 && (at === 'before-headers' || answer.head !== ''),
      )
      expect(answer.head === '').toBe(at === 'before-headers')
      expect(answer.body.toString()).toBe(expected)
      expect(answer.ended).toBeUndefined()
      expect(sim.sockets).toBe(1)
      answer.destroy()
      await sim.idle()
    },
  )

  test('pings are sent on the clock until the client disconnects', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([round], {
      faults: [{ kind: 'pings', at: { event: 1 }, everyMs: 1000 }],
      checks: false,
      clock,
    })
    const { events } = await plain(wire)
    const ping = wire === 'anthropic' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': ping\n\n'
    const answer = rawAsk(sim, wire)
    await answer.received(Buffer.byteLength(events[0] + ping))
    while (answer.body.length < Buffer.byteLength(events[0] + ping.repeat(5))) await clock.advance(1000)
    expect(clock.now()).toBeGreaterThanOrEqual(4000)
    expect(answer.body.toString().startsWith(events[0] + ping.repeat(5))).toBe(true)
    answer.destroy()
    await sim.idle()
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timers left')
  })

  test('chunks of one byte', async () => {
    const { text } = await plain(wire)
    await using sim = await simulate({ kind: 'chunks', bytes: 1 })
    const answer = rawAsk(sim, wire)
    await answer.closed
    expect(answer.body.toString()).toBe(text)
    expect(new Set(answer.chunks.map(({ length }) => length))).toEqual(new Set([1]))
  })

  test('chunks of several sizes in turn, and all at once', async () => {
    const { text } = await plain(wire)
    await using sim = await simulate(
      { kind: 'chunks', bytes: [3, 100], request: 0 },
      { kind: 'chunks', bytes: 'all', request: 1 },
    )
    const [pieces, whole] = [rawAsk(sim, wire), rawAsk(sim, wire)]
    await Promise.all([pieces.closed, whole.closed])
    const counts = [pieces, whole].map(({ chunks }) => chunks.map(({ length }) => length))
    const bytes = Buffer.byteLength(text)
    expect(counts.find(({ length }) => length === 1)).toEqual([bytes])
    expect(counts.find(({ length }) => length > 1)?.slice(0, 4)).toEqual([3, 100, 3, 100])
  })

  test('duplicates an event', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'duplicate', event: 3 })
    expect(await (await ask(sim, wire)).text()).toBe(events.toSpliced(3, 0, events[3] ?? '').join(''))
  })

  test('swaps two events', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'reorder', event: 2 })
    expect(await (await ask(sim, wire)).text()).toBe(
      events.toSpliced(2, 2, events[3] ?? '', events[2] ?? '').join(''),
    )
  })

  test('adds unknown events, fields and blocks', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate(
      { kind: 'unknown-event', event: 1, request: 0 },
      { kind: 'unknown-fields', request: 1 },
      { kind: 'unknown-block', request: 2 },
    )
    const [event, fields, block] = [await ask(sim, wire), await ask(sim, wire), await ask(sim, wire)]
    const withEvent = (await event.text()).split(/(?<=\n\n)/)
    expect(withEvent.toSpliced(1, 1)).toEqual(events)
    expect(withEvent[1]).toContain('not for you')
    const known = (event: unknown) => typeof event === 'string' || 'x_unknown' in Object(event)
    expect(eventsOf(await fields.text()).every(known)).toBe(true)
    const withBlock = await block.text()
    expect(withBlock).toContain('mystery')
    expect(eventsOf(withBlock).length).toBeGreaterThan(events.length)
    expect(sim.requests.map(({ faults }) => faults.length)).toEqual([1, 1, 1])
  })

  test('enlarges an event', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'oversize', event: 2, bytes: 1_000_000 })
    const received = (await (await ask(sim, wire)).text()).split(/(?<=\n\n)/)
    expect(received).toHaveLength(events.length)
    expect(received[2]?.length).toBeGreaterThan(1_000_000)
    expect(JSON.parse(received[2]?.slice(received[2].indexOf('{')) ?? '')).toMatchObject(
      eventsOf(events[2] ?? '')[0] as object,
    )
  })

  test('sends an event that is not JSON', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'malformed', event: 2, data: '{"a":' })
    const received = (await (await ask(sim, wire)).text()).split(/(?<=\n\n)/)
    expect(received[2]).toMatch(/data: \{"a":\n\n$/)
    expect(received.toSpliced(2, 1)).toEqual(events.toSpliced(2, 1))
  })

  test('reports an error in the stream in the format of the provider, as the last event', async () => {
    const { events } = await plain(wire)
    await using sim = await simulate({ kind: 'error-frame', event: 3, status: 429 })
    const received = eventsOf(await (await ask(sim, wire)).text())
    expect(received.slice(0, 3)).toEqual(eventsOf(events.slice(0, 3).join('')))
    const error = {
      'openai-chat': [{ error: { type: 'requests', code: 'rate_limit_exceeded' } }],
      'openai-responses': [
        { type: 'error', sequence_number: 3, error: { code: 'rate_limit_exceeded' } },
        { type: 'response.failed', sequence_number: 4, response: { model: 'm', status: 'failed' } },
      ],
      anthropic: [{ type: 'error', error: { type: 'rate_limit_error' } }],
    }[wire]
    expect(received.slice(3)).toMatchObject(error)
  })

  test.each([408, 409, 413, 429, 500, 502, 503, 529])(
    'sends status %i in the format of the provider',
    async (status) => {
      await using sim = await simulate({ kind: 'status', status })
      const response = await ask(sim, wire)
      expect(response.status).toBe(status)
      expect(response.headers.get('retry-after')).toBeNull()
      expect(response.headers.get('content-type')).toBe('application/json')
      const body = await response.json()
      expect(body).toMatchObject(
        wire === 'anthropic'
          ? { type: 'error', error: { type: expect.any(String), message: expect.any(String) } }
          : { error: { message: expect.any(String), type: expect.any(String), param: null } },
      )
    },
  )

  test('sends retry-after in all formats', async () => {
    await using sim = await simulate(
      { kind: 'status', status: 429, retryAfter: { seconds: 7 }, request: 0 },
      { kind: 'status', status: 429, retryAfter: { seconds: 0 }, request: 1 },
      { kind: 'status', status: 429, retryAfter: { seconds: 2_000_000_000 }, request: 2 },
      { kind: 'status', status: 429, retryAfter: { ms: 20 }, request: 3 },
      { kind: 'status', status: 429, retryAfter: { date: 3600 }, request: 4 },
    )
    const received: unknown[] = []
    for (let count = 0; count < 5; count++) {
      const { headers } = await ask(sim, wire)
      received.push(headers.get('retry-after') ?? headers.get('retry-after-ms'))
    }
    expect(received.slice(0, 4)).toEqual(['7', '0', '2000000000', '20'])
    const hour = Date.parse(String(received[4])) - Date.now()
    expect(Math.abs(hour - 3_600_000)).toBeLessThan(60_000)
    expect(String(received[4])).toMatch(/GMT$/)
  })

  test('sends a web page with status 200, and a wrong content type', async () => {
    const { text } = await plain(wire)
    await using sim = await simulate(
      { kind: 'html', request: 0 },
      { kind: 'content-type', type: 'text/plain', request: 1 },
    )
    const page = await ask(sim, wire)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toMatch(/^<!DOCTYPE html>/)
    const other = await ask(sim, wire)
    expect(other.headers.get('content-type')).toBe('text/plain')
    expect(await other.text()).toBe(text)
  })

  test.each([
    ['malformed', '{"id":"ORD-42",}'],
    ['truncated', '{"id":"'],
    ['empty', ''],
    ['double-encoded', '"{\\"id\\":\\"ORD-42\\"}"'],
  ] as const)('%s arguments are written as %s', async (how, raw) => {
    await using sim = await simulate({ kind: 'arguments', call: 0, how })
    expect(argumentsIn(eventsOf(await (await ask(sim, wire)).text()))).toBe(raw)
    expect(sim.requests[0]?.faults).toHaveLength(1)
  })

  test('gives all calls the same id', async () => {
    await using sim = await providerSimulator(() => [{ call: 'a' }, { call: 'b' }], {
      faults: [{ kind: 'same-call-ids' }],
      checks: false,
    })
    for (let count = 0; count < 2; count++) {
      const text = await (await ask(sim, wire)).text()
      const ids = [...text.matchAll(/"(?:call_id|id)":"(call_0)"/g)].map(([, id]) => id)
      expect(ids.length).toBeGreaterThanOrEqual(2)
    }
  })

  test('reaches the output limit within a call', async () => {
    await using sim = await simulate({ kind: 'length-cut', call: 0 })
    const text = await (await ask(sim, wire)).text()
    expect(argumentsIn(eventsOf(text))).toBe('{"id":"')
    expect(text).toMatch(/"finish_reason":"length"|"reason":"max_output_tokens"|"stop_reason":"max_tokens"/)
    expect(text).not.toContain('function_call_arguments.done')
    if (wire === 'openai-responses')
      expect(text).toMatch(/output_item\.done.*"type":"function_call","status":"incomplete"/)
  })

  test('omits usage', async () => {
    await using sim = await simulate({ kind: 'no-usage' })
    const text = await (
      await ask(sim, wire, { stream: true, stream_options: { include_usage: true } })
    ).text()
    expect(text).not.toMatch(/_tokens":\d/)
    expect(await (await ask(sim, wire, {})).text()).not.toMatch(/_tokens":\d/)
  })

  test('sends the same events in other framings', async () => {
    const { text, events } = await plain(wire)
    const framed = async (fault: Omit<Extract<Fault, { kind: 'sse' }>, 'kind'>) => {
      await using sim = await simulate({ kind: 'sse', ...fault })
      const answer = rawAsk(sim, wire)
      await answer.closed
      return answer.body.toString()
    }
    expect(await framed({ newline: 'crlf' })).toBe(text.replaceAll('\n', '\r\n'))
    expect(await framed({ newline: 'cr' })).toBe(text.replaceAll('\n', '\r'))
    expect(await framed({ bom: true })).toBe(`\uFEFF${text}`)
    expect(await framed({ finalBlank: false })).toBe(text.trimEnd())
    const commented = await framed({ comments: true })
    expect(commented.replaceAll(': a comment\n:\n', '')).toBe(text)
    expect(commented.length).toBeGreaterThan(text.length)
    const lines = await framed({ dataLines: true })
    expect(lines).toMatch(/data: \{\ndata: {2}"/)
    const first = lines
      .slice(0, lines.indexOf('\n\n'))
      .split('\n')
      .filter((line) => line.startsWith('data: '))
    expect(JSON.parse(first.map((line) => line.slice('data: '.length)).join('\n'))).toEqual(eventsOf(text)[0])
    const withFields = await framed({ fields: true })
    expect(withFields).toContain('id: 0\nretry: 3000\ncolor: blue\nfield-without-colon\n')
    expect(await framed({ done: false })).toBe(events.filter((event) => !event.includes('[DONE]')).join(''))
  })

  test('applies faults to a response that is not streamed', async () => {
    await using sim = await simulate(
      { kind: 'reset', at: { event: 0, byte: 10 }, request: 0 },
      { kind: 'chunks', bytes: 1, request: 1 },
      { kind: 'end', at: { event: 0, byte: 10 }, request: 2 },
    )
    const reset = rawAsk(sim, wire, {})
    await reset.closed
    expect([reset.body.length, reset.ended]).toEqual([10, 'reset'])
    const drip = rawAsk(sim, wire, {})
    await drip.closed
    expect(drip.chunks.every(({ length }) => length === 1)).toBe(true)
    expect(JSON.parse(drip.body.toString())).toMatchObject({ model: 'm' })
    const cut = rawAsk(sim, wire, {})
    await cut.closed
    expect([cut.body.length, cut.whole]).toEqual([10, true])
  })
})

test('repeats a round that a fault broke for a retry, and for nothing else', async () => {
  await using sim = await providerSimulator(['one', 'two', 'three'], {
    faults: [
      { kind: 'status', status: 500, request: 0 },
      { kind: 'end', at: { event: 1 }, request: 1 },
      { kind: 'chunks', bytes: 'all', request: 2 },
      { kind: 'reset', at: { event: 2 }, request: 3 },
    ],
  })
  const say = async (prompt = 'hi') => {
    const response = await post(sim, 'openai-chat', {
      ...minimalRequest('openai-chat', prompt),
      stream: true,
    })
    return response.text().then(
      (text) => /"content":"(\w+)"/.exec(text)?.[1],
      () => 'broken',
    )
  }
  expect([await say(), await say(), await say(), await say()]).toEqual([
    undefined,
    undefined,
    'one',
    'broken',
  ])
  const further = {
    model: 'm',
    stream: true,
    messages: ['hi', 'and?'].map((content) => ({ role: 'user', content })),
  }
  const response = await post(sim, 'openai-chat', further)
  expect(await response.text()).toContain('three')
  expect(await say()).toBe('two')
})

function argumentsIn(events: readonly unknown[]): string {
  return events.flatMap((event) => deltasIn(event)).join('')
}

function deltasIn(event: unknown): string[] {
  const { type, delta, choices } = Object(event)
  if (type === 'response.function_call_arguments.delta') return [delta]
  if (type === 'content_block_delta') return delta.type === 'input_json_delta' ? [delta.partial_json] : []
  const [call] = choices?.[0]?.delta?.tool_calls ?? []
  return call ? [call.function.arguments] : []
}
