import type { Fault, FaultKind, ProviderSimulator } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../agent/index.ts'
import type { RunEvent } from '../../protocol/index.ts'
import type { ScriptRound } from '../../testing/index.ts'
import { tool } from '../../tools/index.ts'
import { openai } from './model.ts'

const first: ScriptRound = [
  { reasoning: 'Look first.' },
  { text: 'Let me look. ' },
  { call: 'look', input: { id: 7 } },
  { text: 'One moment. ' },
]
const rounds: readonly ScriptRound[] = [first, 'It has shipped.']

const modelAt = ({ baseURL }: ProviderSimulator, options = {}) =>
  openai('gpt-5.5', { baseURL, apiKey: 'sk-test', background: true, ...options })

/** A run over a provider with these faults, to its end. */
async function play(faults: readonly Fault[], script: readonly ScriptRound[] = rounds) {
  await using sim = await providerSimulator(script, { faults, deltaChars: 5 })
  const looked: number[] = []
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: z.object({ id: z.number() }),
    run: ({ id }) => {
      looked.push(id)
      return 'shipped'
    },
  })
  const model = modelAt(sim)
  const run = agent({ model, tools: [look], retry: { attempts: 3, baseMs: 0 } }).stream('Where is it?')
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  const requests = sim.requests.map(({ method, path }) => `${method} ${path.replace(/resp_\w+/, ':id')}`)
  return { sim, events, looked, requests, result: await run.result }
}

const shown = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')
const count = (events: readonly RunEvent[], type: RunEvent['type']) =>
  events.filter((event) => event.type === type).length
const posts = (requests: readonly string[]) => requests.filter((one) => one === 'POST /v1/responses').length

describe('background: true', () => {
  test('requests a background response, and writes checkpoints to the log', async () => {
    const { sim, events, result } = await play([])
    expect(result.outcome).toBe('completed')
    expect(sim.requests[0]?.body).toMatchObject({ background: true, store: true, stream: true })
    const places = events.flatMap((event) => (event.type === 'checkpoint' ? [event.opaque?.data] : []))
    expect(places[0]).toEqual({ id: expect.stringMatching(/^resp_/), sequence: 0 })
    // After each item.
    expect(places.length).toBeGreaterThanOrEqual(5)
  })

  test.each(['reset', 'end', 'malformed'] as const)(
    'a connection that breaks (%s) at any event continues the same response',
    async (kind) => {
      for (let event = 1; ; event++) {
        const fault = kind === 'malformed' ? { kind, event } : { kind, at: { event } }
        const { sim, events, looked, requests, result } = await play([{ ...fault, request: 0 }])
        if (sim.requests[0]?.faults.length === 0) return expect(event).toBeGreaterThan(25)
        expect(result, `event ${event}`).toMatchObject({ outcome: 'completed', text: 'It has shipped.' })
        expect(shown(events)).toBe('Let me look. One moment. It has shipped.')
        expect(count(events, 'round-retract')).toBe(0)
        expect(looked).toEqual([7])
        expect(posts(requests)).toBe(2)
        expect(requests[1]).toMatch(
          /^GET \/v1\/responses\/:id\?stream=true&starting_after=\d+&include%5B%5D=/,
        )
      }
    },
  )

  test('a response is continued as often as its connection breaks', async () => {
    const faults = [4, 14, 14, 14, 14].map(
      (event, request): Fault => ({ kind: 'reset', at: { event }, request }),
    )
    const { events, requests, looked } = await play(faults)
    expect(shown(events)).toBe('Let me look. One moment. It has shipped.')
    expect(posts(requests)).toBe(2)
    expect(looked).toEqual([7])
  })

  test('the conversation afterwards is the same as if nothing had broken', async () => {
    const whole = await play([])
    const broken = await play([{ kind: 'reset', at: { event: 12 }, request: 0 }])
    expect(broken.result.messages).toEqual(whole.result.messages)
    expect(broken.result.usage).toEqual(whole.result.usage)
  })

  test.each<[string, readonly FaultKind[]]>([
    ['that has expired', [{ kind: 'expired' }, { kind: 'reset', at: { event: 10 } }]],
    ['that is unknown', [{ kind: 'reset', at: { event: 10 } }]],
  ])('a response %s is generated again', async (_, faults) => {
    const unknown: Fault = { kind: 'status', status: 404, request: 1 }
    const { events, requests, looked, result } = await play([
      ...faults.map((fault) => ({ ...fault, request: 0 })),
      unknown,
    ])
    expect(result).toMatchObject({ outcome: 'completed', text: 'It has shipped.' })
    expect(count(events, 'round-retract')).toBe(1)
    expect(looked).toEqual([7])
    expect(posts(requests)).toBe(3)
  })

  test('a response that was canceled elsewhere is generated again', async () => {
    await using sim = await providerSimulator([[{ text: 'Slow ' }, { hang: true }], 'Quick.'], {
      deltaChars: 5,
    })
    const run = agent({ model: modelAt(sim), retry: { attempts: 2, baseMs: 0 } }).stream('Go.')
    for await (const event of run) {
      if (event.type !== 'checkpoint' || !event.opaque) continue
      const { id } = event.opaque.data as { id: string }
      const headers = { authorization: 'Bearer sk-test' }
      if (sim.requests.length === 1)
        await fetch(`${sim.baseURL}/responses/${id}/cancel`, { method: 'POST', headers })
    }
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Quick.' })
  })

  test('a response that failed is not resumed', async () => {
    const failing: ScriptRound = [{ text: 'Let ' }, { error: { code: 'overloaded', status: 503 } }]
    const { requests, result } = await play([], [failing, 'It has shipped.'])
    expect(result).toMatchObject({ outcome: 'completed', text: 'It has shipped.' })
    expect(requests.filter((one) => one.startsWith('GET'))).toEqual([])
  })

  test('a canceled run cancels the response', async () => {
    await using sim = await providerSimulator([[{ text: 'Slow ' }, { hang: true }]], { deltaChars: 5 })
    const run = agent({ model: modelAt(sim) }).stream('Go.')
    for await (const { type } of run) if (type === 'text') run.cancel()
    expect((await run.result).outcome).toBe('canceled')
    await expect
      .poll(() => sim.requests.map(({ method, path, status }) => `${method} ${path} ${status}`))
      .toEqual([
        'POST /v1/responses 200',
        expect.stringMatching(/^POST \/v1\/responses\/resp_\w+\/cancel 200$/),
      ])
  })

  test('resuming uses the fetch option and the query of the base URL', async () => {
    await using sim = await providerSimulator(rounds, {
      faults: [{ kind: 'reset', at: { event: 6 }, request: 0 }],
      deltaChars: 5,
    })
    const urls: string[] = []
    const model = modelAt(sim, {
      baseURL: `${sim.baseURL}?api-version=preview`,
      fetch: (url: string, init: RequestInit) => {
        urls.push(`${init.method} ${url.replace(sim.baseURL, '').replace(/resp_\w+/, ':id')}`)
        return fetch(url, init)
      },
    })
    const run = agent({ model, retry: { attempts: 3, baseMs: 0 } }).stream('Where is it?')
    expect((await run.result).outcome).toBe('completed')
    expect(urls[0]).toBe('POST /responses?api-version=preview')
    expect(urls[1]).toMatch(/^GET \/responses\/:id\?api-version=preview&stream=true&starting_after=\d+/)
  })

  test('is off by default, and off for a request with store: false', async () => {
    await using sim = await providerSimulator(() => 'Hi.', {})
    const plain = openai('gpt-5.5', { baseURL: sim.baseURL, apiKey: 'sk-test' })
    expect(plain).not.toHaveProperty('background')
    await agent({ model: plain }).run('Hi?')
    await agent({ model: modelAt(sim), settings: { extra: { store: false } } }).run('Hi?')
    expect(sim.requests.map(({ body }) => body)).toMatchObject([{ store: false }, { store: false }])
    for (const { body } of sim.requests) expect(body).not.toHaveProperty('background')
  })

  test('is rejected together with store: false', () => {
    expect(() => openai('gpt-5.5', { background: true, extra: { store: false } })).toThrow(
      'remove either background or store: false',
    )
    expect(() => openai('gpt-5.5', { background: 'yes' as never })).toThrow('background')
  })
})
