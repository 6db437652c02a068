import type { ProviderSimulatorOptions } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../../agent/index.ts'
import { anthropic } from '../../models/anthropic.ts'
import { wires } from '../../models/every-model.test-kit.ts'
import { openaiChat } from '../../models/openai.ts'
import { wiretap } from '../../models/wire/wiretap.test-kit.ts'
import type { Entry, Exchange, MillraceError, Model } from '../../protocol/index.ts'
import type { ScriptRound } from '../../testing/index.ts'
import { script, scriptedModel } from '../../testing/index.ts'
import type { AppOptions, ExchangeStore, Thread } from '../index.ts'
import { memoryExchanges, memoryStore, millrace } from '../index.ts'
import { eventsOf, untilIdle } from '../threads.test-kit.ts'

const key = 'sk-proj-0123456789abcdef'

async function provider(rounds: readonly ScriptRound[], options: ProviderSimulatorOptions = {}) {
  const simulator = await providerSimulator(rounds, options)
  onTestFinished(() => simulator.close())
  return simulator
}

function opened(model: Model | readonly Model[], options: Partial<AppOptions> = {}) {
  const app = millrace({
    agents: agent({ name: 'a', model, retry: { baseMs: 0 }, compact: false }),
    exchanges: memoryExchanges(),
    flushMs: 0,
    ...options,
  })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return app.thread('mine')
}

const runIds = (entries: readonly Entry[]) => eventsOf(entries, 'run-start').map(({ runId }) => runId)

/** Sends a message, and returns the exchanges recorded for its run. */
async function recorded(thread: Thread): Promise<readonly Exchange[]> {
  const seq = await thread.send('Grüße!')
  const [run = ''] = runIds(await untilIdle(thread, seq))
  return thread.exchanges({ run })
}

describe.each(Object.entries(wires))('over %s', (_, open) => {
  test('the request and the response of each round are stored byte for byte', async () => {
    const simulator = await provider([[{ call: 'none', input: { a: 'ö' } }], 'Größe 🙂.'], { deltaChars: 4 })
    const tap = await wiretap(simulator.url)
    const thread = opened(open(tap))
    const exchanges = await recorded(thread)
    expect(exchanges.map(({ round, attempt }) => [round, attempt])).toEqual([
      [1, 1],
      [2, 1],
    ])
    for (const [index, { wire, request, ms }] of exchanges.entries()) {
      const { body, response } = tap.exchanges[index] ?? {}
      expect(wire).toHaveLength(1)
      expect(wire[0]).toMatchObject({ body, status: 200 })
      // The last bytes may come a moment after the model is done.
      const { runId, round } = exchanges[index] as Exchange
      await expect
        .poll(async () => (await thread.exchanges({ run: runId, round }))[0]?.wire[0]?.response)
        .toBe(response)
      expect(request).toBeUndefined()
      expect(ms).toEqual(expect.any(Number))
    }
  })
})

test('attempts at a round are recorded separately, with the result of each', async () => {
  const faults = [
    { kind: 'status', status: 503, request: 0 },
    { kind: 'end', at: { event: 2 }, request: 1 },
  ] as const
  const simulator = await provider(['Here.'], { faults })
  const exchanges = await recorded(opened(openaiChat('m', { baseURL: simulator.baseURL, apiKey: key })))
  expect(
    exchanges.map(({ round, attempt, error, wire }) => [round, attempt, error?.code, wire[0]?.status]),
  ).toEqual([
    [1, 1, 'overloaded', 503],
    [1, 2, 'stream_error', 200],
    [1, 3, undefined, 200],
  ])
  expect(exchanges[0]?.wire[0]?.response).toContain('"error"')
})

test('a fallback model has its own exchange', async () => {
  const simulator = await provider(['Here.'], { faults: [{ kind: 'status', status: 401, request: 0 }] })
  const first = openaiChat('first', { baseURL: simulator.baseURL, apiKey: key })
  const second = anthropic('second', { baseURL: simulator.url, apiKey: key, maxOutputTokens: 100 })
  const exchanges = await recorded(opened([first, second]))
  expect(exchanges.map(({ model, provider, attempt }) => [model, provider, attempt])).toEqual([
    ['first', expect.any(String), 1],
    ['second', 'anthropic', 2],
  ])
  expect(exchanges[1]?.wire[0]?.url).toBe(`${simulator.url}/v1/messages`)
})

test('API keys are not stored', async () => {
  const simulator = await provider([`Your key is ${key}.`], { deltaChars: 100 })
  const model = openaiChat('m', {
    baseURL: `${simulator.baseURL}?api-key=${key}-q`,
    apiKey: key,
    headers: { 'x-session-token': `${key}-h` },
  })
  const exchanges = await recorded(opened(model))
  expect(exchanges[0]?.wire[0]?.response).toContain('Your key is [key].')
  expect(exchanges[0]?.wire[0]?.headers).toMatchObject({ authorization: '[key]', 'x-session-token': '[key]' })
  expect(JSON.stringify(exchanges)).not.toContain(key)
})

test('the model request is stored if nothing goes over a wire', async () => {
  const headers = { 'x-title': 'secret' }
  const app = millrace({
    agents: agent({
      name: 'a',
      model: scriptedModel(['Yes.']),
      system: 'You are terse.',
      settings: { temperature: 0, headers },
    }),
    exchanges: memoryExchanges(),
  })
  onTestFinished(() => app.close())
  const [exchange] = await recorded(app.thread())
  expect(exchange).toMatchObject({
    model: 'scripted',
    provider: 'scripted',
    tools: [],
    request: { messages: [{ role: 'system', content: 'You are terse.' }, { content: 'Grüße!' }] },
    wire: [],
  })
  expect(exchange?.request?.settings).toEqual({ temperature: 0 })
})

describe('a call in progress', () => {
  const stalled = { faults: [{ kind: 'stall', at: { event: 3 } }] } as const

  async function inProgress(store: ExchangeStore = memoryExchanges()) {
    const simulator = await provider(['A long answer, cut off early.'], stalled)
    const model = openaiChat('m', { baseURL: simulator.baseURL, apiKey: key })
    const thread = opened(model, { exchanges: store })
    await thread.send('Continue.')
    let run = ''
    for await (const { event } of thread.follow()) {
      if (event.type === 'run-start') run = event.runId
      if (event.type === 'text') break
    }
    await expect.poll(async () => (await thread.exchanges({ run }))[0]?.wire[0]?.response).toContain('A long')
    return { thread, run }
  }

  test('is shown as far as it has come', async () => {
    const { thread, run } = await inProgress()
    const [exchange] = await thread.exchanges({ run })
    expect(exchange).not.toHaveProperty('ms')
    expect(exchange?.wire[0]).toMatchObject({ status: 200, body: expect.stringContaining('Continue.') })
  })

  test('is stored as far as it has come when it is canceled', async () => {
    const { thread, run } = await inProgress()
    const seq = await thread.stop('enough')
    await untilIdle(thread, seq - 1)
    const [exchange] = await thread.exchanges({ run })
    expect(exchange).toMatchObject({ ms: expect.any(Number), error: { code: 'stream_interrupted' } })
    expect(exchange?.wire[0]?.response).toContain('A long')
  })

  test('leaves nothing behind when the thread is deleted', async () => {
    const store = memoryExchanges()
    const { thread, run } = await inProgress(store)
    await thread.delete()
    await expect.poll(async () => thread.info().catch((error: MillraceError) => error.code)).toBe('not_found')
    await new Promise((resolve) => setImmediate(resolve))
    expect(await store.read('mine', run)).toEqual([])
  })
})

test('a call in progress leaves nothing behind when another process deletes its thread', async () => {
  const [store, exchanges] = [memoryStore(), memoryExchanges()]
  const model = scriptedModel([[{ text: 'A long' }, { hang: true }]])
  const open = () => {
    const app = millrace({ agents: agent({ name: 'a', model }), store, exchanges, flushMs: 0 })
    onTestFinished(() => app.close({ graceMs: 0 }))
    return app
  }
  const app = open()
  const thread = app.thread('mine')
  await thread.send('Continue.')
  let run = ''
  for await (const { event } of thread.follow()) {
    if (event.type === 'run-start') run = event.runId
    if (event.type === 'text') break
  }
  await open().thread('mine').delete()
  await app.close({ graceMs: 0 })
  expect(await exchanges.read('mine', run)).toEqual([])
})

test('deleting a thread deletes its exchanges, and no others', async () => {
  const store = memoryExchanges()
  const app = millrace({ agents: agent({ model: scriptedModel(() => 'Yes.') }), exchanges: store })
  onTestFinished(() => app.close())
  const [one, other] = [app.thread('one'), app.thread('other')]
  const [[first], [second]] = [await recorded(one), await recorded(other)]
  await one.delete()
  expect(await store.read('one', first?.runId ?? '')).toEqual([])
  expect(await store.read('other', second?.runId ?? '')).toHaveLength(1)
})

test('a fork has the exchanges of the runs it inherited, and its own', async () => {
  const thread = opened(scriptedModel(() => 'Yes.'))
  const [first] = await recorded(thread)
  const fork = await thread.fork((await thread.info()).head)
  const again = await fork.fork((await fork.info()).head)
  const [own] = await recorded(again)
  expect(await again.exchanges({ run: first?.runId ?? '' })).toEqual([first])
  expect(await again.exchanges({ run: own?.runId ?? '' })).toEqual([own])
  await fork.delete()
  expect(await again.exchanges({ run: first?.runId ?? '' })).toEqual([])
})

test('a body or response of more than four million characters is cut and marked', async () => {
  const long = 'x'.repeat(5 * 1024 * 1024)
  const simulator = await provider([long, 'Short.'], { deltaChars: 1024 * 1024 })
  const thread = opened(openaiChat('m', { baseURL: simulator.baseURL, apiKey: key }))
  const [answered] = await recorded(thread)
  expect(answered?.wire[0]).toMatchObject({ cut: true })
  expect(answered?.wire[0]?.response).toHaveLength(4 * 1024 * 1024)
  const [sent] = await recorded(thread)
  expect(sent?.wire[0]).toMatchObject({ cut: true })
  expect(sent?.wire[0]?.body).toHaveLength(4 * 1024 * 1024)
  expect(sent?.wire[0]?.response).toContain('[DONE]')
})

test('a request that is too long is left out and marked', async () => {
  const thread = opened(scriptedModel(['x'.repeat(5 * 1024 * 1024), 'Short.'], { deltaChars: 1e6 }))
  expect((await recorded(thread))[0]?.request).toBeDefined()
  const [sent] = await recorded(thread)
  expect(sent).toMatchObject({ cut: true, wire: [] })
  expect(sent).not.toHaveProperty('request')
})

test.each<[string, Partial<ExchangeStore>]>([
  ['throws', { put: () => JSON.parse('{') }],
  ['rejects', { put: async () => JSON.parse('{') }],
])('a store that %s is reported, and the run is not affected', async (_, broken) => {
  const errors: MillraceError[] = []
  const thread = opened(scriptedModel(['Yes.']), {
    exchanges: { ...memoryExchanges(), ...broken },
    onError: (error) => errors.push(error),
  })
  const seq = await thread.send('Hi')
  const entries = await untilIdle(thread, seq)
  expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
  expect(errors).toMatchObject([{ op: 'exchanges.put', code: 'store_error' }])
})

test('the log does not depend on recording', async () => {
  const eventTypes = async (options: Partial<AppOptions>) => {
    const model = scriptedModel(script.tool('none', {}, 'Done.'))
    const thread = opened(model, options)
    const seq = await thread.send('Hi')
    return (await untilIdle(thread, seq)).map(({ event }) => event.type)
  }
  expect(await eventTypes({})).toEqual(await eventTypes({ exchanges: undefined }))
})

test('close() waits until finished exchanges are stored', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const store = memoryExchanges()
  const slow: ExchangeStore = { ...store, put: (...args) => promise.then(() => store.put(...args)) }
  const app = millrace({ agents: agent({ model: scriptedModel(['Yes.']) }), exchanges: slow })
  const thread = app.thread('mine')
  await thread.send('Hi')
  const [run = ''] = runIds(await untilIdle(thread))
  // Not written yet, but already returned.
  expect(await thread.exchanges({ run })).toHaveLength(1)
  const closed = app.close()
  setImmediate(resolve)
  await closed
  expect(await store.read('mine', run)).toHaveLength(1)
})

describe('reading exchanges', () => {
  test('names the option if exchanges are not recorded', async () => {
    const thread = opened(scriptedModel(['Yes.']), { exchanges: undefined })
    await thread.send('Hi')
    await expect(thread.exchanges({ run: 'run_1' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining("pass the option 'exchanges'"),
    })
  })

  test('rejects invalid options with the reason', async () => {
    const thread = opened(scriptedModel(['Yes.']))
    const readWith = (options: unknown) => thread.exchanges(options as { run: string })
    await expect(readWith(undefined)).rejects.toMatchObject({ code: 'invalid_input' })
    await expect(readWith({})).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/'run'/),
    })
    await expect(readWith({ run: 'r', rounds: 1 })).rejects.toMatchObject({
      message: expect.stringMatching(/did you mean 'round'/),
    })
    await expect(readWith({ run: 'r', round: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/'round'/),
    })
    await expect(readWith({ run: 'r' })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('an invalid store is rejected when the app is opened', () => {
    const options = { agents: agent({ model: scriptedModel([]) }), exchanges: {} as ExchangeStore }
    expect(() => millrace(options)).toThrow("the option 'exchanges' must be an ExchangeStore")
  })
})
