import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../millrace/src/testing/fake-clock.ts'
import { faultPlan } from './fault-plan.ts'
import { printFaults } from './fault-print.ts'
import { providerSimulator } from './provider-simulator.ts'
import { ask, eventsOf, keyHeaders, least, post, rawAsk, until, wires } from './raw-client.test-kit.ts'

const errorOf = async (response: Response) => {
  const { error } = await response.json()
  return { status: response.status, message: error.message }
}

describe.each(wires)('over %s', (wire) => {
  test('each request gets the next round, and one too many is told so', async () => {
    await using sim = await providerSimulator(['one', [{ text: 'two' }]])
    expect(await (await ask(sim, wire)).text()).toContain('one')
    expect(await (await ask(sim, wire, {})).text()).toContain('two')
    expect(await errorOf(await ask(sim, wire))).toEqual({
      status: 400,
      message: 'the script has 2 rounds and was asked for round 3: write the missing one',
    })
  })

  test('a function decides by what is asked', async () => {
    await using sim = await providerSimulator(
      ({ body, wire }, index) => `${index} ${wire} ${JSON.stringify(body)}`,
    )
    const text = await (await post(sim, wire, { ...least(wire, 'riddle'), stream: false })).text()
    expect(text).toContain(`0 ${wire}`)
    expect(text).toContain('riddle')
    await using silent = await providerSimulator(() => undefined as never)
    expect((await errorOf(await ask(silent, wire))).message).toBe('the script gave nothing for round 1')
  })

  test('streams only if it is asked to', async () => {
    await using sim = await providerSimulator(['Hello', 'Hello'])
    const streamed = await ask(sim, wire)
    expect(streamed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(eventsOf(await streamed.text()).length).toBeGreaterThan(2)
    const whole = await ask(sim, wire, {})
    expect(whole.headers.get('content-type')).toBe('application/json')
    expect(JSON.stringify(await whole.json())).toContain('Hello')
  })

  test('remembers what it was sent and how it answered, without keys', async () => {
    await using sim = await providerSimulator(['one'], { faults: [{ kind: 'no-usage' }] })
    const headers = { ...keyHeaders(wire), cookie: 'a=b', 'x-mine': '1' }
    await post(sim, wire, least(wire), headers)
    await post(sim, wire, '{"half":')
    expect(sim.requests).toMatchObject([
      { wire, method: 'POST', status: 200, body: least(wire), faults: [{ kind: 'no-usage' }] },
      { wire, status: 400, body: '{"half":', faults: [] },
    ])
    expect(sim.requests[0]?.headers).toMatchObject({ cookie: '[removed]', 'x-mine': '1' })
    expect(JSON.stringify(sim.requests)).not.toContain('sk-test')
  })

  test('a failure before any word has a status; a script may set it and the time to wait', async () => {
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
    // Not streamed: the last one fails with a status too, however late.
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

  test('pauses are spent on the given clock', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([[{ text: 'a' }, { pause: 60_000 }, { text: 'b' }]], { clock })
    const answer = rawAsk(sim, wire)
    await until(() => answer.body.includes('"a"'))
    while (answer.ended === undefined) await clock.advance(10_000)
    expect(answer.whole).toBe(true)
    expect(clock.now()).toBeGreaterThanOrEqual(60_000)
  })

  test('a failure may take its time too', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([[{ pause: 5000 }, { error: { code: 'overloaded' } }]], {
      clock,
    })
    const answer = rawAsk(sim, wire)
    while (answer.ended === undefined) await clock.advance(1000)
    expect(answer.head).toMatch(/^HTTP\/1\.1 5/)
    expect(clock.now()).toBeGreaterThanOrEqual(5000)
  })

  test('an answer that hangs ends with the client', async () => {
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

  test('closing ends everything, also what hangs, and leaves no socket and no timer', async () => {
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
    await Promise.all(answers.map(({ over }) => over))
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timer is set')
    await expect(ask(sim, wire)).rejects.toThrow('fetch failed')
  })

  test('any plan by chance is survived: whoever asks again gets an answer', async () => {
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
        await answer.over
      }
      const response = await ask(sim, wire)
      expect(response.status, printFaults(faults)).toBe(200)
      await response.text()
      await sim.idle()
      expect(sim.requests).toHaveLength(3)
    }
  })
})

describe('everything else', () => {
  test('models are listed in the form of whoever is asked', async () => {
    await using sim = await providerSimulator([])
    const list = async (headers: Record<string, string>) =>
      (await fetch(`${sim.baseURL}/models`, { headers })).json()
    expect(await list({})).toMatchObject({ object: 'list', data: [{ id: 'simulated', object: 'model' }] })
    expect(await list({ 'anthropic-version': '2023-06-01' })).toMatchObject({ data: [{ type: 'model' }] })
  })

  test('what does not exist is not found, in both forms', async () => {
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

  test('another method is not allowed', async () => {
    await using sim = await providerSimulator([])
    for (const path of ['chat/completions', 'responses', 'messages'])
      expect((await fetch(`${sim.baseURL}/${path}`)).status).toBe(405)
    expect((await fetch(`${sim.baseURL}/models`, { method: 'DELETE' })).status).toBe(405)
  })

  test('Azure asks in its own places', async () => {
    await using sim = await providerSimulator(['a', 'b'])
    for (const path of ['/openai/deployments/gpt/chat/completions?api-version=1', '/openai/v1/responses']) {
      const body = JSON.stringify({ ...least('openai-chat'), ...least('openai-responses') })
      const response = await fetch(sim.url + path, { method: 'POST', headers: { 'api-key': 'k' }, body })
      expect(response.status).toBe(200)
    }
  })

  test('deltas that would be empty are refused', async () => {
    await expect(providerSimulator([], { deltaChars: 0 })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'deltaChars must be at least 1',
    })
  })

  test('at the same time each gets a round', async () => {
    await using sim = await providerSimulator(['one', 'two', 'three'])
    const texts = await Promise.all(wires.map(async (wire) => (await ask(sim, wire)).text()))
    expect(texts.map((text) => /one|two|three/.exec(text)?.[0]).sort()).toEqual(['one', 'three', 'two'])
  })
})
