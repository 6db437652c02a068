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
    agents: agent({ name: 'a', model, retry: { baseMs: 0 }, shorten: false }),
    exchanges: memoryExchanges(),
    flushMs: 0,
    ...options,
  })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return app.thread('mine')
}

const runIds = (entries: readonly Entry[]) => eventsOf(entries, 'run-start').map(({ runId }) => runId)

/** Says something, and gives what was recorded of the run that it came to. */
async function recorded(thread: Thread): Promise<readonly Exchange[]> {
  const seq = await thread.send('Grüße!')
  const [run = ''] = runIds(await untilIdle(thread, seq))
  return thread.exchanges({ run })
}

describe.each(Object.entries(wires))('over %s', (_, open) => {
  test('the request and the answer of each round are kept byte for byte', async () => {
    const simulator = await provider([[{ call: 'none', input: { a: 'ö' } }], 'Größe 🙂.'], { deltaChars: 4 })
    const tap = await wiretap(simulator.url)
    const thread = opened(open(tap))
    const exchanges = await recorded(thread)
    expect(exchanges.map(({ round, attempt }) => [round, attempt])).toEqual([
      [1, 1],
      [2, 1],
    ])
    for (const [index, { wire, request, ms }] of exchanges.entries()) {
      const { body, answer } = tap.exchanges[index] ?? {}
      expect(wire).toHaveLength(1)
      expect(wire[0]).toMatchObject({ body, status: 200 })
      // The last bytes may come a moment after the model is done.
      const { runId, round } = exchanges[index] as Exchange
      await expect
        .poll(async () => (await thread.exchanges({ run: runId, round }))[0]?.wire[0]?.answer)
        .toBe(answer)
      expect(request).toBeUndefined()
      expect(ms).toEqual(expect.any(Number))
    }
  })
})

test('tries of a round are told apart, with what became of each', async () => {
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
  expect(exchanges[0]?.wire[0]?.answer).toContain('"error"')
})

test('a model that is fallen back to has a request of its own', async () => {
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

test('no key is in anything that is kept', async () => {
  const simulator = await provider([`Your key is ${key}.`], { deltaChars: 100 })
  const model = openaiChat('m', {
    baseURL: `${simulator.baseURL}?api-key=${key}-q`,
    apiKey: key,
    headers: { 'x-session-token': `${key}-h` },
  })
  const exchanges = await recorded(opened(model))
  expect(exchanges[0]?.wire[0]?.answer).toContain('Your key is [key].')
  expect(exchanges[0]?.wire[0]?.headers).toMatchObject({ authorization: '[key]', 'x-session-token': '[key]' })
  expect(JSON.stringify(exchanges)).not.toContain(key)
})

test('what a model was asked is kept where nothing goes over a wire', async () => {
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

describe('a call under way', () => {
  const halted = { faults: [{ kind: 'stall', at: { event: 3 } }] } as const

  async function underWay(store: ExchangeStore = memoryExchanges()) {
    const simulator = await provider(['A long answer, of which a part.'], halted)
    const model = openaiChat('m', { baseURL: simulator.baseURL, apiKey: key })
    const thread = opened(model, { exchanges: store })
    await thread.send('Go on.')
    let run = ''
    for await (const { event } of thread.follow()) {
      if (event.type === 'run-start') run = event.runId
      if (event.type === 'text') break
    }
    await expect.poll(async () => (await thread.exchanges({ run }))[0]?.wire[0]?.answer).toContain('A long')
    return { thread, run }
  }

  test('is shown as far as it has come', async () => {
    const { thread, run } = await underWay()
    const [exchange] = await thread.exchanges({ run })
    expect(exchange).not.toHaveProperty('ms')
    expect(exchange?.wire[0]).toMatchObject({ status: 200, body: expect.stringContaining('Go on.') })
  })

  test('is kept with what there is of it when it is cancelled', async () => {
    const { thread, run } = await underWay()
    const seq = await thread.stop('enough')
    await untilIdle(thread, seq - 1)
    const [exchange] = await thread.exchanges({ run })
    expect(exchange).toMatchObject({ ms: expect.any(Number), error: { code: 'stream_interrupted' } })
    expect(exchange?.wire[0]?.answer).toContain('A long')
  })

  test('leaves nothing behind when the thread is deleted', async () => {
    const store = memoryExchanges()
    const { thread, run } = await underWay(store)
    await thread.delete()
    await expect.poll(async () => thread.info().catch((error: MillraceError) => error.code)).toBe('not_found')
    await new Promise((resolve) => setImmediate(resolve))
    expect(await store.read('mine', run)).toEqual([])
  })
})

test('a call under way leaves nothing behind when another process deletes its thread', async () => {
  const [store, exchanges] = [memoryStore(), memoryExchanges()]
  const model = scriptedModel([[{ text: 'A long' }, { hang: true }]])
  const open = () => {
    const app = millrace({ agents: agent({ name: 'a', model }), store, exchanges, flushMs: 0 })
    onTestFinished(() => app.close({ graceMs: 0 }))
    return app
  }
  const app = open()
  const thread = app.thread('mine')
  await thread.send('Go on.')
  let run = ''
  for await (const { event } of thread.follow()) {
    if (event.type === 'run-start') run = event.runId
    if (event.type === 'text') break
  }
  await open().thread('mine').delete()
  await app.close({ graceMs: 0 })
  expect(await exchanges.read('mine', run)).toEqual([])
})

test('what belongs to a thread goes with it, and nothing else', async () => {
  const store = memoryExchanges()
  const app = millrace({ agents: agent({ model: scriptedModel(() => 'Yes.') }), exchanges: store })
  onTestFinished(() => app.close())
  const [one, other] = [app.thread('one'), app.thread('other')]
  const [[first], [second]] = [await recorded(one), await recorded(other)]
  await one.delete()
  expect(await store.read('one', first?.runId ?? '')).toEqual([])
  expect(await store.read('other', second?.runId ?? '')).toHaveLength(1)
})

test('a fork shows the calls of the runs that it took along, and its own', async () => {
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

test('a body or an answer of more than four million characters is cut, and says so', async () => {
  const long = 'x'.repeat(5 * 1024 * 1024)
  const simulator = await provider([long, 'Short.'], { deltaChars: 1024 * 1024 })
  const thread = opened(openaiChat('m', { baseURL: simulator.baseURL, apiKey: key }))
  const [answered] = await recorded(thread)
  expect(answered?.wire[0]).toMatchObject({ cut: true })
  expect(answered?.wire[0]?.answer).toHaveLength(4 * 1024 * 1024)
  const [asked] = await recorded(thread)
  expect(asked?.wire[0]).toMatchObject({ cut: true })
  expect(asked?.wire[0]?.body).toHaveLength(4 * 1024 * 1024)
  expect(asked?.wire[0]?.answer).toContain('[DONE]')
})

test('a request too long to keep is left out, and that is said', async () => {
  const thread = opened(scriptedModel(['x'.repeat(5 * 1024 * 1024), 'Short.'], { deltaChars: 1e6 }))
  expect((await recorded(thread))[0]?.request).toBeDefined()
  const [asked] = await recorded(thread)
  expect(asked).toMatchObject({ cut: true, wire: [] })
  expect(asked).not.toHaveProperty('request')
})

test.each<[string, Partial<ExchangeStore>]>([
  ['throws', { put: () => JSON.parse('{') }],
  ['rejects', { put: async () => JSON.parse('{') }],
])('a store that %s is reported, and the run is none the worse', async (_, broken) => {
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

test('the log is the same whether calls are recorded or not', async () => {
  const told = async (options: Partial<AppOptions>) => {
    const model = scriptedModel(script.tool('none', {}, 'Done.'))
    const thread = opened(model, options)
    const seq = await thread.send('Hi')
    return (await untilIdle(thread, seq)).map(({ event }) => event.type)
  }
  expect(await told({})).toEqual(await told({ exchanges: undefined }))
})

test('an app is not closed before what has ended is kept', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const store = memoryExchanges()
  const slow: ExchangeStore = { ...store, put: (...args) => promise.then(() => store.put(...args)) }
  const app = millrace({ agents: agent({ model: scriptedModel(['Yes.']) }), exchanges: slow })
  const thread = app.thread('mine')
  await thread.send('Hi')
  const [run = ''] = runIds(await untilIdle(thread))
  // Not written yet, and shown all the same.
  expect(await thread.exchanges({ run })).toHaveLength(1)
  const closed = app.close()
  setImmediate(resolve)
  await closed
  expect(await store.read('mine', run)).toHaveLength(1)
})

describe('asking for them', () => {
  test('says how to have them recorded where they are not', async () => {
    const thread = opened(scriptedModel(['Yes.']), { exchanges: undefined })
    await thread.send('Hi')
    await expect(thread.exchanges({ run: 'run_1' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('give millrace() or serve() the option exchanges'),
    })
  })

  test('says what is wrong with the question', async () => {
    const thread = opened(scriptedModel(['Yes.']))
    const refused = (options: unknown) => thread.exchanges(options as { run: string })
    await expect(refused(undefined)).rejects.toMatchObject({ code: 'invalid_input' })
    await expect(refused({})).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/'run'/),
    })
    await expect(refused({ run: 'r', rounds: 1 })).rejects.toMatchObject({
      message: expect.stringMatching(/did you mean 'round'/),
    })
    await expect(refused({ run: 'r', round: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/'round'/),
    })
    await expect(refused({ run: 'r' })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a store that is none is refused when the app is opened', () => {
    const options = { agents: agent({ model: scriptedModel([]) }), exchanges: {} as ExchangeStore }
    expect(() => millrace(options)).toThrow("the option 'exchanges' must be an ExchangeStore")
  })
})
