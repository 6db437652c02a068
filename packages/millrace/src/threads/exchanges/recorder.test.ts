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

/** A recorder over a store that counts what is put there, with a call under way. */
function begun(store: ExchangeStore = memoryExchanges()) {
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
  if (!wire) throw new Error('it does not listen')
  wire.sent(sent)
  wire.answered({ status: 200, headers: {} })
  wire.received('one ')
  return { recorder, session, wire, end: () => end({ done }), puts: () => puts }
}

test('a call is put when it ends, and again when its wire has a last word', async () => {
  const { recorder, wire, end, puts } = begun()
  expect(puts()).toBe(0)
  end()
  await recorder.settled()
  expect(puts()).toBe(1)
  wire.received('two')
  await recorder.settled()
  expect(puts()).toBe(2)
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({
    exchanges: [{ wire: [{ answer: 'one two' }] }],
  })
})

test('what comes while it is being put is put once more, after that', async () => {
  const store = memoryExchanges()
  const first = Promise.withResolvers<void>()
  const slow: ExchangeStore = { ...store, put: (...args) => first.promise.then(() => store.put(...args)) }
  const { recorder, wire, end, puts } = begun(slow)
  end()
  for (const text of ['two', ' three', ' four']) wire.received(text)
  expect(puts()).toBe(1)
  first.resolve()
  await recorder.settled()
  expect(puts()).toBe(2)
  expect(await store.read('t', 'run_1')).toMatchObject([{ wire: [{ answer: 'one two three four' }] }])
})

test('a call of a thread that was deleted meanwhile is not put, nor any after it', async () => {
  const { recorder, session, end, puts } = begun()
  await recorder.delete('t')
  end()
  session.observe({ ...call, round: 2 }).end({ done })
  await recorder.settled()
  expect(puts()).toBe(0)
})

test('a thread that is made anew under the same id is recorded as any other', async () => {
  const { recorder, end, session } = begun()
  await recorder.delete('t')
  end()
  session.close()
  recorder.open('t').observe(call).end({ done })
  await recorder.settled()
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({ exchanges: [{ wire: [] }] })
})

test('a call that goes on when its worker is done is still shown', async () => {
  const { recorder, session, end } = begun()
  session.close()
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({
    exchanges: [{ wire: [{ answer: 'one ' }] }],
  })
  end()
  await recorder.settled()
  expect(await recorder.read('t', { run: 'run_1' })).toMatchObject({
    exchanges: [{ ms: expect.any(Number) }],
  })
})

test('a store that cannot be read says so', async () => {
  const broken: ExchangeStore = { ...memoryExchanges(), read: () => Promise.reject(new Error('no')) }
  const { recorder } = begun(broken)
  await expect(recorder.read('t', { run: 'run_1' })).rejects.toMatchObject({
    code: 'store_error',
    message: 'no',
  })
})
