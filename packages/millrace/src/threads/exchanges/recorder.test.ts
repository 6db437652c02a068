import { expect, test } from 'vitest'
import type { ModelCall } from '../../protocol/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { memoryExchanges } from './memory.ts'
import { exchangeRecorder } from './recorder.ts'
import type { ExchangeStore } from './store.ts'

const call: ModelCall = {
  runId: 'run_1',
  round: 1,
  attempt: 1,
  model: scriptedModel([]),
  request: { messages: [], tools: [], settings: {} },
}
const done = { type: 'done', finish: 'stop' } as const
const sent = { url: 'http://host/', headers: {}, body: '{}' }

/** A recorder over a store that counts writes, with a call in progress. */
function recording(store: ExchangeStore = memoryExchanges()) {
  let puts = 0
  const counting: ExchangeStore = {
    ...store,
    put(...exchange) {
      puts++
      return store.put(...exchange)
    },
  }
  const recorder = exchangeRecorder({ store: counting, onError: () => {} })
  const session = recorder.open('t')
  const { wire, end } = session.observe(call)
  if (!wire) throw new Error('the wire is not observed')
  wire.sent(sent)
  wire.responded({ status: 200, headers: {} })
  wire.received('one ')
  return { recorder, session, wire, end: () => end({ done }), puts: () => puts }
}

test('a call is stored when it ends, and again when more arrives late', async () => {
  const { recorder, wire, end, puts } = recording()
  expect(puts()).toBe(0)
  end()
  await recorder.settled()
  expect(puts()).toBe(1)
  wire.received('two')
  await recorder.settled()
  expect(puts()).toBe(2)
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({
    exchanges: [{ wire: [{ response: 'one two' }] }],
  })
})

test('what arrives during a write is stored once more, after it', async () => {
  const store = memoryExchanges()
  const first = Promise.withResolvers<void>()
  const slow: ExchangeStore = { ...store, put: (...args) => first.promise.then(() => store.put(...args)) }
  const { recorder, wire, end, puts } = recording(slow)
  end()
  for (const text of ['two', ' three', ' four']) wire.received(text)
  expect(puts()).toBe(1)
  first.resolve()
  await recorder.settled()
  expect(puts()).toBe(2)
  expect(await store.read('t', 'run_1')).toMatchObject([{ wire: [{ response: 'one two three four' }] }])
})

test('a call of a thread deleted in the meantime is not stored, nor any after it', async () => {
  const { recorder, session, end, puts } = recording()
  await recorder.delete('t')
  end()
  session.observe({ ...call, round: 2 }).end({ done })
  await recorder.settled()
  expect(puts()).toBe(0)
})

test('a thread created again under the same id is recorded normally', async () => {
  const { recorder, end, session } = recording()
  await recorder.delete('t')
  end()
  session.close()
  recorder.open('t').observe(call).end({ done })
  await recorder.settled()
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({ exchanges: [{ wire: [] }] })
})

test('a call that continues after its worker has ended is still returned', async () => {
  const { recorder, session, end } = recording()
  session.close()
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({
    exchanges: [{ wire: [{ response: 'one ' }] }],
  })
  end()
  await recorder.settled()
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({
    exchanges: [{ ms: expect.any(Number) }],
  })
})

test('a store that cannot be read is reported', async () => {
  const broken: ExchangeStore = { ...memoryExchanges(), read: () => Promise.reject(new Error('no')) }
  const { recorder } = recording(broken)
  await expect(recorder.read('t', { run: 'run_1' })).rejects.toMatchObject({
    code: 'store_error',
    message: 'no',
  })
})
