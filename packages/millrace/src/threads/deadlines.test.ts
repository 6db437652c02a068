import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MillraceError } from '../protocol/index.ts'
import { withDeadlines } from './deadlines.ts'
import type { ThreadStore } from './index.ts'
import { memoryStore } from './index.ts'
import {
  answering,
  checkNumbers,
  eventsOf,
  openStore,
  startApp,
  textIn,
  untilIdle,
} from './threads.test-kit.ts'

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const never = () => new Promise<never>(() => {})

/** Lets time pass until the promise settles. */
async function settled<Value>(promise: Promise<Value>): Promise<Value> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) await vi.advanceTimersByTimeAsync(10)
  return promise
}

/** A store whose first calls of this name do their work, if they do any, and never return. */
function hanging(store: ThreadStore, name: 'append' | 'claim' | 'signal', { works = true, times = 1 } = {}) {
  let left = times
  return {
    ...store,
    async [name](...args: never[]) {
      const isHung = left-- > 0
      if (isHung && !works) return never()
      const result = await (store[name] as (...args: never[]) => Promise<unknown>)(...args)
      return isHung ? never() : result
    },
  } as ThreadStore
}

test('a call that takes too long fails, and says what to do', async () => {
  const store = withDeadlines({ ...memoryStore(), get: never }, 5000)
  const failed = expect(store.get('t')).rejects.toMatchObject({
    code: 'store_error',
    op: 'store.get',
    message: expect.stringMatching(/did not answer get\(\) within 5000 ms: check that it is running/),
  })
  await vi.advanceTimersByTimeAsync(5000)
  await failed
})

test('a call that answers in time is passed through, and leaves no timer', async () => {
  const store = withDeadlines(memoryStore(), 5000)
  expect(await store.create({ id: 't', agent: 'a' })).toBe(true)
  await expect(store.read('missing', { after: 0, limit: 1 })).rejects.toMatchObject({ code: 'not_found' })
  expect(vi.getTimerCount()).toBe(0)
})

test('packing, watching and closing may take any time', async () => {
  const store = withDeadlines({ ...memoryStore(), packDeltas: never, close: never }, 50)
  const settle = vi.fn()
  store.packDeltas('t', 1).then(settle, settle)
  store.close().then(settle, settle)
  store.watch({}).close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(settle).not.toHaveBeenCalled()
})

test('a store that is a class keeps its state', async () => {
  class CountingStore {
    #calls = 0
    async usage() {
      return { calls: ++this.#calls }
    }
    watch() {
      return { calls: ++this.#calls }
    }
  }
  const store = withDeadlines(new CountingStore() as never, 50)
  expect(await store.usage('ada')).toEqual({ calls: 1 })
  expect(store.watch({})).toEqual({ calls: 2 })
})

test('a message that the store does not take fails, and the next one is answered', async () => {
  const store = hanging(openStore(), 'signal', { works: false })
  const thread = startApp({ agents: answering('Yes.'), store, storeTimeoutMs: 1000 }).thread('t')
  await expect(settled(thread.send('One?'))).rejects.toMatchObject({ code: 'store_error' })
  await settled(thread.send('Two?'))
  expect(textIn(await settled(untilIdle(thread)))).toBe('Yes.')
})

test.each(['append', 'claim'] as const)('a run continues after %s did not return', async (name) => {
  for (const works of [true, false]) {
    const errors: MillraceError[] = []
    const store = hanging(openStore(), name, { works, times: 2 })
    const thread = startApp({
      agents: answering('Yes.'),
      store,
      storeTimeoutMs: 1000,
      recoverMs: 1000,
      onError: (error) => errors.push(error),
    }).thread('t')
    await settled(thread.send('Well?'))
    const entries = await settled(untilIdle(thread))
    checkNumbers(entries)
    expect(eventsOf(entries, 'run-start')).toHaveLength(1)
    expect(textIn(entries)).toBe('Yes.')
    for (const { message } of errors) expect(message).toContain(`did not answer ${name}() within 1000 ms`)
  }
})
