import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { agent } from '../agent/index.ts'
import type { Exchange } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { AppOptions, ThreadStore } from './index.ts'
import { memoryExchanges, memoryStore } from './index.ts'
import { answering, heldTool, openStore, startApp, untilIdle } from './threads.test-kit.ts'

const dayMs = 86_400_000
const agents = answering('Hello.')

async function idsIn(store: ThreadStore): Promise<string[]> {
  const { threads } = await store.list({ limit: 1000 })
  return threads.map(({ id }) => id).sort()
}

describe('keepDays', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** A store whose clock is independent of the timers. */
  function storeWithClock() {
    let time = 1_700_000_000_000
    const store = memoryStore({ now: () => time })
    onTestFinished(() => store.close())
    return {
      store,
      advance(ms: number) {
        time += ms
      },
      async create(...ids: string[]) {
        for (const id of ids) await store.create({ id, agent: 'helper' })
      },
    }
  }

  function start(store: ThreadStore, options: Partial<AppOptions> = {}) {
    const errors: string[] = []
    const app = startApp({
      agents,
      store,
      keepDays: 30,
      onError: (error) => errors.push(error.message),
      ...options,
    })
    return { app, errors }
  }

  test('threads that have not changed for so long are deleted, with all their data', async () => {
    const { store, create, advance } = storeWithClock()
    const old = Array.from({ length: 50 }, (_, index) => `old-${index}`)
    await create(...old)
    advance(1)
    await create('new')
    advance(30 * dayMs - 1)
    const exchanges = memoryExchanges()
    const exchange = { runId: 'run', round: 1, attempt: 1 } as Exchange
    for (const id of ['old-7', 'new']) await exchanges.put(id, exchange)
    const { app, errors } = start(store, { exchanges })
    const following = Array.fromAsync(app.thread('old-3').follow())
    expect(await idsIn(store)).toHaveLength(51)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await idsIn(store)).toEqual(['new'])
    expect(await exchanges.read('old-7', 'run')).toEqual([])
    expect(await exchanges.read('new', 'run')).toEqual([exchange])
    expect(await following).toEqual([])
    expect(errors).toEqual([])
  })

  test('threads are looked for again every hour', async () => {
    const { store, create, advance } = storeWithClock()
    start(store)
    await create('t')
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await idsIn(store)).toEqual(['t'])
    advance(30 * dayMs)
    await vi.advanceTimersByTimeAsync(0.8 * 3_600_000)
    expect(await idsIn(store)).toEqual(['t'])
    await vi.advanceTimersByTimeAsync(0.4 * 3_600_000)
    expect(await idsIn(store)).toEqual([])
  })

  test('without it, or after close(), nothing is deleted', async () => {
    const { store, create, advance } = storeWithClock()
    await create('t')
    advance(1000 * dayMs)
    start(store, { keepDays: undefined })
    const { app } = start(store)
    await app.close()
    await vi.advanceTimersByTimeAsync(2 * 3_600_000)
    expect(await idsIn(store)).toEqual(['t'])
  })

  test('close() waits for the deletion in progress, and starts no other', async () => {
    const { store, create, advance } = storeWithClock()
    await create('a', 'b')
    advance(30 * dayMs)
    let isDeleting = false
    const release = Promise.withResolvers<void>()
    const { app, errors } = start({
      ...store,
      async delete(id) {
        isDeleting = true
        await release.promise
        return store.delete(id)
      },
    })
    while (!isDeleting) await vi.advanceTimersByTimeAsync(100)
    let isClosed = false
    const closing = app.close().then(() => {
      isClosed = true
    })
    await vi.advanceTimersByTimeAsync(100)
    expect(isClosed).toBe(false)
    release.resolve()
    await closing
    expect(await idsIn(store)).toEqual(['b'])
    expect(errors).toEqual([])
  })

  test('a thread that gets a message at the last moment is kept', async () => {
    const { store, create, advance } = storeWithClock()
    await create('lucky', 'other')
    advance(30 * dayMs)
    const { app } = start({
      ...store,
      async findUnchanged(...args) {
        const found = await store.findUnchanged(...args)
        const message = { role: 'user', content: 'Still here?' } as const
        if (found.includes('lucky'))
          await store.signal('lucky', 'key', { type: 'input', mode: 'queue', message })
        return found
      },
    })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await idsIn(store)).toEqual(['lucky'])
    await vi.waitFor(async () => expect((await app.thread('lucky').info()).status).toBe('idle'))
    expect((await app.thread('lucky').state()).messages).toHaveLength(2)
  })

  test('a thread that cannot be deleted is reported once, and does not keep the others', async () => {
    const { store, create, advance } = storeWithClock()
    const ids = Array.from({ length: 45 }, (_, index) => `t${index}`)
    await create(...ids)
    advance(30 * dayMs)
    const { errors } = start({
      ...store,
      delete: (id) => (id === 't0' ? Promise.reject(new Error('row is damaged')) : store.delete(id)),
    })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(await idsIn(store)).toEqual(['t0'])
    expect(errors).toEqual(['row is damaged'])
  })

  test('a failing store is reported and asked again later', async () => {
    const { store, create, advance } = storeWithClock()
    await create('t')
    advance(30 * dayMs)
    let fails = true
    const { errors } = start({
      ...store,
      findUnchanged: (...args) =>
        fails ? Promise.reject(new Error('out of reach')) : store.findUnchanged(...args),
    })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(errors).toEqual(['out of reach'])
    fails = false
    await vi.advanceTimersByTimeAsync(2 * 3_600_000)
    expect(await idsIn(store)).toEqual([])
  })

  test.each([0, -1, '30', Number.NaN, Infinity])('%o is rejected', (keepDays) => {
    expect(() => startApp({ agents, keepDays: keepDays as number })).toThrow(
      "the option 'keepDays' must be a positive number of days",
    )
  })
})

describe('deleteThreads()', () => {
  test('all threads of a user are deleted, and no others', async () => {
    const store = openStore()
    const exchanges = memoryExchanges()
    const app = startApp({ agents, store, exchanges })
    for (let index = 0; index < 50; index++) await app.thread(`ada-${index}`, { user: 'ada' }).create()
    await app.thread('bob', { user: 'bob' }).create()
    await app.thread('anonymous').create()
    await app.thread('ada-7').send('Hi')
    await untilIdle(app.thread('ada-7'))
    await exchanges.put('ada-7', { runId: 'run', round: 1, attempt: 1 } as Exchange)
    expect(await app.deleteThreads({ user: 'ada' })).toBe(50)
    expect(await idsIn(store)).toEqual(['anonymous', 'bob'])
    expect(await exchanges.read('ada-7', 'run')).toEqual([])
    expect(await app.deleteThreads({ user: 'ada' })).toBe(0)
  })

  test('a running thread is stopped and deleted', async () => {
    const { tool, runs, startedTimes } = heldTool('wait')
    const helper = agent({
      name: 'helper',
      model: scriptedModel(script.tool('wait', {}, 'Done.')),
      tools: [tool],
    })
    const store = openStore()
    const errors: string[] = []
    const app = startApp({ agents: helper, store, onError: (error) => errors.push(error.message) })
    await app.thread('t', { user: 'ada' }).send('go')
    await startedTimes(1)
    expect(await app.deleteThreads({ user: 'ada' })).toBe(1)
    await vi.waitFor(() => expect(runs[0]?.signal.aborted).toBe(true), 10_000)
    expect(await idsIn(store)).toEqual([])
    expect(errors).toEqual([])
  })

  test('threads that are created meanwhile are deleted too', async () => {
    const store = openStore()
    let late = 0
    const app = startApp({
      agents,
      store: {
        ...store,
        async delete(id) {
          if (late < 3) await store.create({ id: `late-${late++}`, agent: 'helper', user: 'ada' })
          return store.delete(id)
        },
      },
    })
    await app.thread('t', { user: 'ada' }).create()
    expect(await app.deleteThreads({ user: 'ada' })).toBe(4)
    expect(await idsIn(store)).toEqual([])
  })

  test('it deletes nothing without a user', async () => {
    const app = startApp({ agents })
    await app.thread('t', { user: 'ada' }).create()
    const call = (options?: unknown) => app.deleteThreads(options as { user: string })
    await expect(call()).rejects.toThrow('deleteThreads() takes { user }, not undefined')
    await expect(call('ada')).rejects.toThrow('deleteThreads() takes { user }, not a string')
    for (const options of [{}, { user: undefined }, { user: '' }, { user: 7 }])
      await expect(call(options)).rejects.toThrow("the option 'user' must be text")
    await expect(call({ users: 'ada' })).rejects.toThrow("'users' does not exist: did you mean 'user'?")
    expect((await app.threads()).threads).toHaveLength(1)
    await app.close()
    await expect(call({ user: 'ada' })).rejects.toThrow('the app is closed')
  })
})
