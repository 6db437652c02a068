import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../millrace/src/testing/fake-clock.ts'
import { faultPlan } from './fault-plan.ts'
import { printFaults } from './fault-print.ts'
import { providerSimulator } from './provider-simulator.ts'
import {
  ask,
  eventsOf,
  keyHeaders,
  minimalRequest,
  post,
  rawAsk,
  until,
  wires,
} from './raw-client.test-kit.ts'

const errorOf = async (response: Response) => {
  const { error } = await response.json()
  return { status: response.status, message: error.message }
}

describe.each(wires)('over %s', (wire) => {
  test('each request gets the next round, and an extra one an error', async () => {
    await using sim = await providerSimulator(['one', [{ text: 'two' }]])
    expect(await (await ask(sim, wire)).text()).toContain('one')
    expect(await (await ask(sim, wire, {})).text()).toContain('two')
    expect(await errorOf(await ask(sim, wire))).toEqual({
      status: 400,
      message: 'the script has 2 rounds, but round 3 was requested: add it to the script',
    })
  })

  test('a function can answer by request', async () => {
    await using sim = await providerSimulator(
      ({ body, wire }, index) => `${index} ${wire} ${JSON.stringify(body)}`,
    )
    const text = await (await post(sim, wire, { ...minimalRequest(wire, 'riddle'), stream: false })).text()
    expect(text).toContain(`0 ${wire}`)
    expect(text).toContain('riddle')
    await using silent = await providerSimulator(() => undefined as never)
    expect((await errorOf(await ask(silent, wire))).message).toBe('the script returned nothing for round 1')
  })

  test('streams only on request', async () => {
    await using sim = await providerSimulator(['Hello', 'Hello'])
    const streamed = await ask(sim, wire)
    expect(streamed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(eventsOf(await streamed.text()).length).toBeGreaterThan(2)
    const whole = await ask(sim, wire, {})
    expect(whole.headers.get('content-type')).toBe('application/json')
    expect(JSON.stringify(await whole.json())).toContain('Hello')
  })

  test('records requests and responses, without keys', async () => {
    await using sim = await providerSimulator(['one'], { faults: [{ kind: 'no-usage' }] })
    const headers = { ...keyHeaders(wire), cookie: 'a=b', 'x-mine': '1' }
    await post(sim, wire, minimalRequest(wire), headers)
    await post(sim, wire, '{"half":')
    expect(sim.requests).toMatchObject([
      { wire, method: 'POST', status: 200, body: minimalRequest(wire), faults: [{ kind: 'no-usage' }] },
      { wire, status: 400, body: '{"half":', faults: [] },
    ])
    expect(sim.requests[0]?.headers).toMatchObject({ cookie: '[removed]', 'x-mine': '1' })
    expect(JSON.stringify(sim.requests)).not.toContain('sk-test')
  })

  test('a failure before any text has a status; a script can set it and retry-after', async () => {
    await using sim = await providerSimulator([
      [{ error: 'broken' }],
      [{ error: { code: 'llm_error', retryable: true } }],
      [{ error: { code: 'rate_limit', retryAfterMs: 1500 } }],
      [{ error: { code: 'overloaded' } }],
      [{ error: { code: 'auth' } }],
      [{ error: { code: 'context_overflow' } }],
      [{ error: { status: 418, message: 'teapot' } }],
      [{ text: 'a' }, { error: { status: 502 } }],
    ])
    const statuses: number[] = []
    const waits: (string | null)[] = []
    const messages: string[] = []
    // Not streamed: a late failure has a status too.
    for (let count = 0; count < 8; count++) {
      const response = await ask(sim, wire, { stream: count < 7 })
      statuses.push(response.status)
      waits.push(response.headers.get('retry-after'))
      messages.push((await errorOf(response)).message)
    }
    const overloaded = wire === 'anthropic' ? 529 : 503
    expect(statuses).toEqual([400, 500, 429, overloaded, 401, 400, 418, 502])
    expect(waits).toEqual([null, null, '2', null, null, null, null, null])
    expect([messages[0], messages[6]]).toEqual(['broken', 'teapot'])
    expect(messages[5]).toMatch(/maximum context length|exceeds the context window|prompt is too long/)
  })

  test('pauses use the given clock', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([[{ text: 'a' }, { pause: 60_000 }, { text: 'b' }]], { clock })
    const answer = rawAsk(sim, wire)
    await until(() => answer.body.includes('"a"'))
    while (answer.ended === undefined) await clock.advance(10_000)
    expect(answer.whole).toBe(true)
    expect(clock.now()).toBeGreaterThanOrEqual(60_000)
  })

  test('a failure can come after a pause', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([[{ pause: 5000 }, { error: { code: 'overloaded' } }]], {
      clock,
    })
    const answer = rawAsk(sim, wire)
    while (answer.ended === undefined) await clock.advance(1000)
    expect(answer.head).toMatch(/^HTTP\/1\.1 5/)
    expect(clock.now()).toBeGreaterThanOrEqual(5000)
  })

  test('a response that hangs ends when the client disconnects', async () => {
    await using sim = await providerSimulator([[{ text: 'a' }, { hang: true }], [{ hang: true }], 'next'])
    const answer = rawAsk(sim, wire)
    await until(() => answer.body.includes('"a"'))
    expect(sim.sockets).toBe(1)
    answer.destroy()
    await sim.idle()
    const silent = rawAsk(sim, wire, {})
    await until(() => sim.requests.length === 2)
    silent.destroy()
    await sim.idle()
    expect(await (await ask(sim, wire)).text()).toContain('next')
  })

  test('close ends everything, even hanging responses, and leaves no sockets or timers', async () => {
    const clock = fakeClock()
    const sim = await providerSimulator(() => [{ text: 'a' }, { pause: 1_000_000 }], {
      clock,
      faults: [
        { kind: 'stall', at: 'before-headers', request: 1 },
        { kind: 'pings', at: { event: 1 }, request: 2 },
      ],
    })
    const answers = [rawAsk(sim, wire)]
    await until(() => answers[0]?.body.includes('"a"') ?? false)
    answers.push(rawAsk(sim, wire))
    await until(() => sim.requests[1]?.faults.length === 1)
    answers.push(rawAsk(sim, wire))
    await until(() => answers[2]?.body.includes('ping') ?? false)
    expect(sim.sockets).toBe(3)
    await sim.close()
    await sim.close()
    expect(sim.sockets).toBe(0)
    await Promise.all(answers.map(({ closed }) => closed))
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timers left')
    await expect(ask(sim, wire)).rejects.toThrow('fetch failed')
  })

  test('survives random plans: a retry gets a response', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const faults = faultPlan(`${wire} ${seed}`, { requests: 2 }).filter(
        ({ kind }) => kind !== 'stall' && kind !== 'pings',
      )
      await using sim = await providerSimulator(
        () => [{ providerTool: 'web_search' }, { text: 'Grüße\n' }, { call: 'a', input: { b: 1 } }],
        { faults },
      )
      for (let count = 0; count < 2; count++) {
        const answer = rawAsk(sim, wire)
        await answer.closed
      }
      const response = await ask(sim, wire)
      expect(response.status, printFaults(faults)).toBe(200)
      await response.text()
      await sim.idle()
      expect(sim.requests).toHaveLength(3)
    }
  })
})

describe('other requests', () => {
  test('lists models in the format of the provider', async () => {
    await using sim = await providerSimulator([])
    const list = async (headers: Record<string, string>) =>
      (await fetch(`${sim.baseURL}/models`, { headers })).json()
    expect(await list({})).toMatchObject({ object: 'list', data: [{ id: 'simulated', object: 'model' }] })
    expect(await list({ 'anthropic-version': '2023-06-01' })).toMatchObject({ data: [{ type: 'model' }] })
  })

  test('an unknown path is a 404, in both formats', async () => {
    await using sim = await providerSimulator([])
    expect(await errorOf(await fetch(`${sim.url}/v1/nothing`))).toEqual({
      status: 404,
      message: 'Invalid URL (GET /v1/nothing)',
    })
    const headers = { 'anthropic-version': '2023-06-01' }
    const anthropic = await fetch(`${sim.url}/v1/nothing`, { headers })
    expect([anthropic.status, await anthropic.json()]).toMatchObject([
      404,
      { error: { type: 'not_found_error' } },
    ])
  })

  test('another method is a 405', async () => {
    await using sim = await providerSimulator([])
    for (const path of ['chat/completions', 'responses', 'messages'])
      expect((await fetch(`${sim.baseURL}/${path}`)).status).toBe(405)
    expect((await fetch(`${sim.baseURL}/models`, { method: 'DELETE' })).status).toBe(405)
  })

  test('supports the Azure paths', async () => {
    await using sim = await providerSimulator(['a', 'b'])
    for (const path of ['/openai/deployments/gpt/chat/completions?api-version=1', '/openai/v1/responses']) {
      const body = JSON.stringify({ ...minimalRequest('openai-chat'), ...minimalRequest('openai-responses') })
      const response = await fetch(sim.url + path, { method: 'POST', headers: { 'api-key': 'k' }, body })
      expect(response.status).toBe(200)
    }
  })

  test('rejects empty deltas', async () => {
    await expect(providerSimulator([], { deltaChars: 0 })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'deltaChars must be at least 1',
    })
  })

  test('concurrent requests each get a round', async () => {
    await using sim = await providerSimulator(['one', 'two', 'three'])
    const texts = await Promise.all(wires.map(async (wire) => (await ask(sim, wire)).text()))
    expect(texts.map((text) => /one|two|three/.exec(text)?.[0]).sort()).toEqual(['one', 'three', 'two'])
  })
})
