import type { JsonObject } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../millrace/src/testing/fake-clock.ts'
import { faultPlan } from './fault-plan.ts'
import { printFaults } from './fault-print.ts'
import type { Fault } from './faults.ts'
import { type ProviderSimulator, providerSimulator } from './provider-simulator.ts'
import { ask, eventsOf, keyHeaders, rawAsk, until } from './raw-client.test-kit.ts'

const wire = 'openai-responses'
const round: ScriptRound = [{ text: 'Hello, ' }, { text: 'friend' }, { call: 'look', input: { id: 1 } }]
const slow: ScriptRound = [{ text: 'Hello, ' }, { pause: 60_000 }, { text: 'friend' }]
const inBackground = { background: true, stream: true }

const clientOf = ({ baseURL }: ProviderSimulator) => new OpenAI({ baseURL, apiKey: 'sk-test', maxRetries: 0 })

const send = (sim: ProviderSimulator, path: string, method = 'GET') =>
  fetch(`${sim.baseURL}/responses/${path}`, { method, headers: keyHeaders(wire) })

/** All events of a response, as far as it arrived. */
async function eventsIn(response: Response): Promise<JsonObject[]> {
  return eventsOf(await response.text()) as JsonObject[]
}

const numbersOf = (events: readonly JsonObject[]) => events.map((event) => event.sequence_number)
const idIn = ([first]: readonly JsonObject[]) => String(Object(first?.response).id)
const errorIn = async (response: Response) => ({ status: response.status, ...(await response.json()).error })

/** Starts a response and disconnects once this text has arrived. */
async function startAndLeave(sim: ProviderSimulator, words = 'Hello, '): Promise<string> {
  const answer = rawAsk(sim, wire, inBackground)
  await until(() => answer.body.includes(words))
  answer.destroy()
  await answer.closed
  return /"id":"(resp_\w+)"/.exec(answer.body.toString())?.[1] ?? ''
}

describe('a background response', () => {
  test('is queued first, and numbers its events from 0', async () => {
    await using sim = await providerSimulator([round])
    const events = await eventsIn(await ask(sim, wire, inBackground))
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'response.created', response: { status: 'queued', background: true } },
      { type: 'response.queued', response: { status: 'queued' } },
      { type: 'response.in_progress', response: { status: 'in_progress' } },
    ])
    expect(numbersOf(events)).toEqual(events.map((_, index) => index))
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { id: idIn(events), status: 'completed', background: true },
    })
  })

  test('answers at once without a stream, and returns its current state when fetched', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([[{ call: 'look' }, ...slow]], { clock })
    const client = clientOf(sim)
    const queued = await client.responses.create({ model: 'm', input: 'hi', background: true })
    expect(queued).toMatchObject({ status: 'queued', background: true, output: [] })
    const current = await client.responses.retrieve(queued.id)
    expect(current).toMatchObject({ id: queued.id, status: 'in_progress' })
    expect(current.output.map(({ type }) => type)).toEqual(['function_call'])
    await clock.advance(60_000)
    const done = await client.responses.retrieve(queued.id)
    expect(done.status).toBe('completed')
    expect(done.output_text).toBe('Hello, friend')
  })

  test('continues when the client disconnects', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([slow], { clock })
    const id = await startAndLeave(sim)
    await sim.idle()
    expect(await (await send(sim, id)).json()).toMatchObject({ status: 'in_progress' })
    await clock.advance(60_000)
    expect(await (await send(sim, id)).json()).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 'Hello, friend' }] }],
    })
  })

  test('is resumed by the openai package where the connection broke', async () => {
    await using sim = await providerSimulator([round], {
      faults: [{ kind: 'reset', at: { event: 6, byte: 20 }, request: 0 }],
    })
    const client = clientOf(sim)
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    const read = async (stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>) => {
      for await (const event of stream) events.push(event)
    }
    const params = { model: 'm', input: 'hi', background: true, stream: true } as const
    await expect(read(await client.responses.create(params))).rejects.toThrow()
    expect(events).toHaveLength(6)
    const [first] = events
    const { id } = first?.type === 'response.created' ? first.response : expect.unreachable()
    await read(await client.responses.retrieve(id, { stream: true, starting_after: 5 }))
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    expect(events.at(-1)?.type).toBe('response.completed')
    expect(sim.requests).toMatchObject([
      { wire, method: 'POST', path: '/v1/responses', status: 200 },
      { wire, method: 'GET', path: `/v1/responses/${id}?stream=true&starting_after=5`, status: 200 },
    ])
  })

  test('streams the events after a number, including later ones', async () => {
    const clock = fakeClock()
    await using sim = await providerSimulator([slow], { clock })
    const id = await startAndLeave(sim)
    const texts = ['', '&starting_after=0', '&starting_after=4', '&starting_after=999'].map(async (after) =>
      eventsIn(await send(sim, `${id}?stream=true${after}`)),
    )
    let settled = false
    const all = Promise.all(texts).finally(() => {
      settled = true
    })
    await until(() => sim.requests.filter(({ status }) => status === 200).length === 5)
    while (!settled) await clock.advance(10_000)
    const [whole = [], afterFirst, afterFour, afterAll] = await all
    expect(numbersOf(whole)).toEqual(whole.map((_, index) => index))
    expect(whole.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
    expect([afterFirst, afterFour, afterAll]).toEqual([whole.slice(1), whole.slice(5), []])
    expect(await eventsIn(await send(sim, `${id}?stream=true`))).toEqual(whole)
  })

  test('that fails in the script is failed when it is fetched', async () => {
    await using sim = await providerSimulator([[{ text: 'a' }, { error: { code: 'overloaded' } }]])
    const { id } = await (await ask(sim, wire, { background: true })).json()
    expect(await (await send(sim, id)).json()).toMatchObject({
      status: 'failed',
      error: { code: 'server_is_overloaded' },
    })
  })

  test.each<Fault>([{ kind: 'reset', at: { event: 4 } }, { kind: 'expired' }])(
    'gets the same round again when the same conversation is sent after %j',
    async (fault) => {
      await using sim = await providerSimulator(['one', 'two'], { faults: [{ ...fault, request: 0 }] })
      await (await ask(sim, wire, inBackground)).text().catch(() => '')
      expect(await (await ask(sim, wire, inBackground)).text()).toContain('one')
      expect(await (await ask(sim, wire, inBackground)).text()).toContain('two')
    },
  )

  test('is found at the Azure paths', async () => {
    await using sim = await providerSimulator([round])
    const { id } = await (await ask(sim, wire, { background: true })).json()
    for (const prefix of ['/openai/v1', '/openai']) {
      const url = `${sim.url}${prefix}/responses/${id}`
      const response = await fetch(`${url}?api-version=1`, { headers: { 'api-key': 'k' } })
      expect(await response.json()).toMatchObject({ id })
      const canceled = await fetch(`${url}/cancel`, { method: 'POST', headers: { 'api-key': 'k' } })
      expect(canceled.status).toBe(200)
    }
    expect(sim.requests.map((request) => request.wire)).toEqual(Array(5).fill(wire))
  })

  test('leaves no timer behind when the simulator closes', async () => {
    const clock = fakeClock()
    const sim = await providerSimulator([slow], { clock })
    await startAndLeave(sim)
    await sim.close()
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timers left')
    expect(clock.now()).toBe(0)
  })
})

describe('canceling', () => {
  test.each([
    ['in a pause', slow],
    ['in a response that hangs', [{ text: 'Hello, ' }, { hang: true }] satisfies ScriptRound],
  ])('%s ends its streams without a terminal event', async (_, script) => {
    const clock = fakeClock()
    await using sim = await providerSimulator([[{ call: 'look' }, ...script]], {
      clock,
      faults: [{ kind: 'chunks', bytes: 'all', request: 2 }],
    })
    const client = clientOf(sim)
    const attached = rawAsk(sim, wire, inBackground)
    await until(() => attached.body.includes('Hello, '))
    const id = /"id":"(resp_\w+)"/.exec(attached.body.toString())?.[1] ?? ''
    const canceled = await client.responses.cancel(id)
    expect(canceled).toMatchObject({ id, status: 'cancelled', output: [] })
    await attached.closed
    expect(attached.whole).toBe(true)
    const events = eventsOf(attached.body.toString()) as JsonObject[]
    expect(events.at(-1)).toMatchObject({ type: 'response.output_text.delta', delta: 'Hello, ' })
    await clock.advance(60_000)
    expect(await eventsIn(await send(sim, `${id}?stream=true`))).toEqual(events)
    expect(await client.responses.cancel(id)).toEqual(canceled)
    expect(await client.responses.retrieve(id)).toMatchObject(canceled)
    expect(sim.requests[1]).toMatchObject({ wire, method: 'POST', path: `/v1/responses/${id}/cancel` })
  })

  test('is part of deleting', async () => {
    await using sim = await providerSimulator([slow], { clock: fakeClock() })
    const attached = rawAsk(sim, wire, inBackground)
    await until(() => attached.body.includes('Hello, '))
    const id = /"id":"(resp_\w+)"/.exec(attached.body.toString())?.[1] ?? ''
    await clientOf(sim).responses.delete(id)
    await attached.closed
    expect(attached.body.toString()).not.toContain('response.completed')
  })

  test('a complete response changes nothing', async () => {
    await using sim = await providerSimulator([round])
    const { id } = await (await ask(sim, wire, { background: true })).json()
    const complete = await (await send(sim, id)).json()
    expect(complete.status).toBe('completed')
    expect(await (await send(sim, `${id}/cancel`, 'POST')).json()).toEqual(complete)
  })
})

describe('rejects a request', () => {
  test('for a background response that is not stored', async () => {
    await using sim = await providerSimulator([round])
    expect(await errorIn(await ask(sim, wire, { background: true, store: false }))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      param: 'store',
    })
  })

  test('for a stream that the response was not created with', async () => {
    await using sim = await providerSimulator(() => round)
    const foreground = idIn(await eventsIn(await ask(sim, wire)))
    const { id: polled } = await (await ask(sim, wire, { background: true })).json()
    const streamed = idIn(await eventsIn(await ask(sim, wire, inBackground)))
    const error = { status: 400, type: 'invalid_request_error', param: 'stream' }
    expect(await errorIn(await send(sim, `${foreground}?stream=true`))).toMatchObject({
      ...error,
      message: 'This response cannot be streamed because it was not created with background=true.',
    })
    expect(await errorIn(await send(sim, `${polled}?stream=true`))).toMatchObject({
      ...error,
      message: 'This response cannot be streamed because it was not created with stream=true.',
    })
    for (const after of ['soon', '', '1.5'])
      expect(await errorIn(await send(sim, `${streamed}?stream=true&starting_after=${after}`))).toMatchObject(
        { status: 400, param: 'starting_after' },
      )
  })

  test('to cancel a response that is not in the background', async () => {
    await using sim = await providerSimulator([round])
    const id = idIn(await eventsIn(await ask(sim, wire)))
    expect(await (await send(sim, id)).json()).toMatchObject({ id, status: 'completed', background: false })
    expect(await errorIn(await send(sim, `${id}/cancel`, 'POST'))).toMatchObject({
      status: 400,
      message: 'Cannot cancel a synchronous response.',
    })
  })

  test('for a response that is unknown, not stored, broken, deleted or expired', async () => {
    await using sim = await providerSimulator(() => round, {
      faults: [
        { kind: 'end', at: { event: 3 }, request: 1 },
        { kind: 'expired', request: 2 },
      ],
    })
    const ids = ['resp_unknown']
    ids.push(idIn(await eventsIn(await ask(sim, wire, { stream: true, store: false }))))
    ids.push(idIn(await eventsIn(await ask(sim, wire))))
    const expired = await eventsIn(await ask(sim, wire, inBackground))
    expect(expired.at(-1)).toMatchObject({ type: 'response.completed' })
    ids.push(idIn(expired))
    const deleted = idIn(await eventsIn(await ask(sim, wire, inBackground)))
    expect(await (await send(sim, deleted, 'DELETE')).json()).toMatchObject({ id: deleted, deleted: true })
    ids.push(deleted)
    expect(sim.requests[2]?.faults).toEqual([{ kind: 'expired', request: 2 }])
    for (const id of ids) {
      const error = { status: 404, type: 'invalid_request_error', param: null, code: null }
      const message = `Response with id '${id}' not found.`
      expect(await errorIn(await send(sim, id))).toEqual({ ...error, message })
      expect(await errorIn(await send(sim, `${id}?stream=true`))).toEqual({ ...error, message })
      expect(await errorIn(await send(sim, `${id}/cancel`, 'POST'))).toEqual({ ...error, message })
      await expect(clientOf(sim).responses.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    }
  })

  test('without a key, or with an unsupported method', async () => {
    await using sim = await providerSimulator([round])
    const { id } = await (await ask(sim, wire, { background: true })).json()
    expect((await fetch(`${sim.baseURL}/responses/${id}`)).status).toBe(401)
    expect((await send(sim, id, 'PUT')).status).toBe(405)
    expect((await send(sim, `${id}/cancel`)).status).toBe(405)
  })
})

describe('faults of a background response', () => {
  test.each<Fault>([
    { kind: 'reset', at: { event: 4, byte: 10 } },
    { kind: 'end', at: { event: 4 } },
    { kind: 'chunks', bytes: 3 },
    { kind: 'malformed', event: 4 },
    { kind: 'duplicate', event: 4 },
    { kind: 'error-frame', event: 4 },
    { kind: 'splice', event: 4, start: false },
    { kind: 'status', status: 503 },
    { kind: 'html' },
  ])('%j affects only the planned connection', async (fault) => {
    await using sim = await providerSimulator([round], { faults: [{ ...fault, request: 1 }] })
    const plain = await (await ask(sim, wire, inBackground)).text()
    const events = eventsOf(plain) as JsonObject[]
    const path = `${idIn(events)}?stream=true`
    const hit = await send(sim, path).then((response) => response.text().catch(() => 'broken'))
    expect(hit === plain).toBe(fault.kind === 'chunks')
    expect(sim.requests[1]?.faults).toHaveLength(1)
    expect(await eventsIn(await send(sim, path))).toEqual(events)
    expect(await (await send(sim, idIn(events))).json()).toMatchObject({ status: 'completed' })
  })

  test('a failure in a resumed stream has the number of the event it replaces', async () => {
    await using sim = await providerSimulator([round], {
      faults: [{ kind: 'error-frame', event: 1, request: 1 }],
    })
    const events = await eventsIn(await ask(sim, wire, inBackground))
    const resumed = await eventsIn(await send(sim, `${idIn(events)}?stream=true&starting_after=4`))
    expect(numbersOf(resumed)).toEqual([5, 6, 7])
  })

  test('faults of the model are part of the response', async () => {
    await using sim = await providerSimulator([round], {
      faults: [{ kind: 'unclosed-call', call: 0, request: 0 }],
    })
    const events = await eventsIn(await ask(sim, wire, inBackground))
    const again = await eventsIn(await send(sim, `${idIn(events)}?stream=true`))
    expect(again).toEqual(events)
    expect(JSON.stringify(again)).not.toContain('function_call_arguments.done')
  })

  test('a stall holds one connection, and another one gets everything', async () => {
    await using sim = await providerSimulator([round], {
      faults: [{ kind: 'stall', at: { event: 4 }, request: 0 }],
    })
    const id = await startAndLeave(sim, 'output_item.added')
    const events = await eventsIn(await send(sim, `${id}?stream=true&starting_after=3`))
    expect(events[0]).toMatchObject({ sequence_number: 4 })
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' })
  })

  test('random plans do not affect the generation', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const faults = faultPlan(`background ${seed}`, { requests: 3 })
        .filter(({ kind }) => kind !== 'stall' && kind !== 'pings')
        .map((fault) => ({ ...fault, request: (fault.request ?? 0) + 1 }))
      await using sim = await providerSimulator(() => round, { faults })
      const events = await eventsIn(await ask(sim, wire, inBackground))
      for (let count = 0; count < 3; count++)
        await send(sim, `${idIn(events)}?stream=true&starting_after=${count}`).then(
          (response) => response.text().catch(() => ''),
          () => '',
        )
      const whole = await eventsIn(await send(sim, `${idIn(events)}?stream=true`))
      expect(whole, printFaults(faults)).toEqual(events)
      await sim.idle()
    }
  })
})
