import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { agent } from '../agent/index.ts'
import type { AppGauges, MillraceError } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { AppOptions, Dispatcher, ThreadStore, WokenThread } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { eventsOf, heldTool, openStore, startApp, textIn, untilIdle } from './threads.test-kit.ts'

const patienceMs = 5000

afterEach(() => {
  vi.useRealTimers()
})

/** A queue that passes threads only on demand. */
function manualDispatcher(wakeMore?: Dispatcher['wake']) {
  const woken: WokenThread[] = []
  const runs: ((threadId: string) => Promise<void>)[] = []
  let isPaused = false
  let isClosed = false
  const dispatcher: Dispatcher = {
    patienceMs,
    wake(thread) {
      woken.push(thread)
      return wakeMore?.(thread)
    },
    work(run) {
      runs.push(run)
      return {
        pause() {
          isPaused = true
        },
        resume() {
          isPaused = false
        },
        async close() {
          isClosed = true
        },
      }
    },
  }
  return {
    dispatcher,
    woken,
    runs,
    /** Passes a thread to the first process. */
    pass: (threadId: string) => runs[0]?.(threadId),
    state: () => ({ isPaused, isClosed }),
  }
}

/** A store with its own clock. It counts scans and records claims. */
function observedStore() {
  let time = 1_700_000_000_000
  const store = memoryStore({ now: () => time })
  onTestFinished(() => store.close())
  const claimed: string[] = []
  let scans = 0
  const observed: ThreadStore = {
    ...store,
    findRunnable(...args) {
      scans++
      return store.findRunnable(...args)
    },
    async claim(...args) {
      const claim = await store.claim(...args)
      if (claim) claimed.push(args[0])
      return claim
    },
  }
  return {
    store: observed,
    claimed,
    advance(ms: number) {
      time += ms
    },
    /** Resolves when everything that scans do at the current time is done. */
    async scanned() {
      const before = scans
      await expect.poll(() => scans).toBeGreaterThan(before + 2)
    },
  }
}

/** An app whose agent answers `Yes.`, on a store with its own clock. */
function opened(options: Partial<AppOptions> = {}) {
  const observed = observedStore()
  const queue = manualDispatcher()
  const errors: MillraceError[] = []
  const start = (more: Partial<AppOptions> = {}) =>
    startApp({
      agents: agent({ name: 'helper', model: scriptedModel(() => 'Yes.') }),
      store: observed.store,
      dispatcher: queue.dispatcher,
      recoverMs: 10,
      onError: (error) => errors.push(error),
      ...options,
      ...more,
    })
  return { ...observed, ...queue, errors, start, app: start() }
}

/** An app whose runs wait until their tool is released. Without a dispatcher, and without scans. */
function openedHeld(options: Partial<AppOptions> = {}) {
  const held = heldTool('held')
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'held', input: {} }],
  )
  const desk = agent({ name: 'desk', model, tools: [held.tool] })
  const app = startApp({ agents: { desk, other: desk }, recoverMs: 600_000, ...options })
  return { app, held }
}

describe('a dispatcher', () => {
  test('gets each thread that has something to do, and passes it to a process', async () => {
    const { app, woken, pass, claimed, scanned } = opened({ recoverMs: 10 })
    const thread = app.thread('t', { priority: 'batch' })
    await thread.send('Well?')
    expect(woken).toEqual([{ id: 't', agent: 'helper', head: 1, priority: 'batch' }])
    await scanned()
    expect(claimed).toEqual([])
    await pass('t')
    expect(textIn(await untilIdle(thread))).toBe('Yes.')
  })

  test('gets a thread again if it has lost it, until a process takes it directly', async () => {
    const { app, woken, claimed, scanned, advance } = opened()
    const thread = app.thread('t')
    await thread.send('Well?')
    advance(patienceMs - 1)
    woken.length = 0
    await scanned()
    expect(woken[0]).toMatchObject({ id: 't', agent: 'helper', head: 1, priority: 'interactive' })
    expect(claimed).toEqual([])
    advance(1)
    expect(textIn(await untilIdle(thread))).toBe('Yes.')
    expect(claimed).toEqual(['t'])
  })

  test('may pass a thread several times, early or late', async () => {
    const { app, pass, errors } = opened()
    const thread = app.thread('t')
    await pass('t')
    await thread.send('Well?')
    await Promise.all([pass('t'), pass('t'), pass('t')])
    await pass('t')
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-start')).toHaveLength(1)
    expect(textIn(entries)).toBe('Yes.')
    expect(errors).toEqual([])
  })

  test('that never answers costs time, and nothing else', async () => {
    const { dispatcher } = manualDispatcher(() => new Promise<void>(() => {}))
    const { app, start, advance, scanned } = opened({ dispatcher })
    const thread = app.thread('t')
    await thread.send('Well?')
    await scanned()
    advance(patienceMs)
    expect(textIn(await untilIdle(thread))).toBe('Yes.')
    await start().close()
  })

  test('that fails is reported, and the process runs the thread itself', async () => {
    const { dispatcher } = manualDispatcher(() => Promise.reject(new Error('the queue is gone')))
    const { app, errors } = opened({ dispatcher, recoverMs: 600_000 })
    const thread = app.thread('t')
    await thread.send('Well?')
    expect(textIn(await untilIdle(thread))).toBe('Yes.')
    expect(errors).toMatchObject([{ message: 'the queue is gone' }])
  })

  test('is paused while a process has no room', async () => {
    const { dispatcher, pass, state } = manualDispatcher()
    const { app, held } = openedHeld({ dispatcher, maxRuns: 2 })
    for (const id of ['a', 'b']) {
      expect(state().isPaused).toBe(false)
      await app.thread(id).send('go')
      void pass(id)
    }
    await held.startedTimes(2)
    expect(state().isPaused).toBe(true)
    held.runs[0]?.release()
    await expect.poll(() => state().isPaused).toBe(false)
  })

  test('gets a thread that a closing process hands over', async () => {
    const { dispatcher, woken, pass, state } = manualDispatcher()
    const store = memoryStore()
    onTestFinished(() => store.close())
    const { app, held } = openedHeld({ store, dispatcher })
    await app.thread('t', { priority: 'batch' }).send('go')
    void pass('t')
    await held.startedTimes(1)
    await app.close({ graceMs: 0 })
    const { head, status } = (await store.get('t')) ?? {}
    expect(status).toBe('queued')
    expect(woken.at(-1)).toEqual({ id: 't', agent: 'desk', head, priority: 'batch', isHandedOver: true })
    expect(woken.at(-1)?.head).toBeGreaterThan(1)
    expect(state().isClosed).toBe(true)
  })

  test('that never answers does not keep an app from closing', async () => {
    const hangs = (thread: WokenThread) => (thread.isHandedOver ? new Promise<void>(() => {}) : undefined)
    const { dispatcher, pass } = manualDispatcher(hangs)
    const { app, held } = openedHeld({ dispatcher })
    await app.thread('t').send('go')
    void pass('t')
    await held.startedTimes(1)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const closing = app.close({ graceMs: 0 })
    let isClosed = false
    void closing.then(() => {
      isClosed = true
    })
    while (!isClosed) await vi.advanceTimersByTimeAsync(100)
  })
})

test('a process renews leases while it has some, and otherwise writes nothing', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const store = openStore()
  const renew = vi.fn(store.renew)
  const held = heldTool('wait')
  const model = scriptedModel([[{ call: 'wait', input: {} }], 'Done.'])
  const agents = agent({ name: 'helper', model, tools: [held.tool] })
  const app = startApp({ agents, store: { ...store, renew }, leaseMs: 3000 })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(renew).not.toHaveBeenCalled()

  await app.thread('t').send('Well?')
  await held.startedTimes(1)
  await vi.advanceTimersByTimeAsync(1000)
  expect(renew).toHaveBeenCalledOnce()
  held.runs[0]?.release()
  await untilIdle(app.thread('t'))
})

describe('a process that only serves threads', () => {
  test('never runs one, but passes them on', async () => {
    const { app, start, woken, runs, claimed, advance, scanned } = opened({ works: false })
    const thread = app.thread('t')
    await thread.send('Well?')
    expect(woken).toMatchObject([{ id: 't', head: 1 }])
    await scanned()
    expect(woken.length).toBeGreaterThan(1)
    advance(2 * patienceMs)
    await scanned()
    expect([claimed, runs]).toEqual([[], []])
    start({ works: true })
    expect(textIn(await untilIdle(thread))).toBe('Yes.')
  })

  test('leaves threads to other processes that have no dispatcher either', async () => {
    const { app, start, claimed, advance, scanned } = opened({ works: false, dispatcher: undefined })
    const thread = app.thread('t')
    await thread.send('Well?')
    advance(patienceMs)
    await scanned()
    expect(claimed).toEqual([])
    start({ works: true })
    expect(textIn(await untilIdle(thread))).toBe('Yes.')
  })
})

describe('a paused process', () => {
  test.each([{ hasQueue: true }, { hasQueue: false }])(
    'takes no thread until it resumes, with a queue: $hasQueue',
    async ({ hasQueue }) => {
      const { dispatcher, pass, state } = manualDispatcher()
      const { app, claimed, advance, scanned } = opened({ dispatcher: hasQueue ? dispatcher : undefined })
      app.pause()
      const thread = app.thread('t')
      await thread.send('Well?')
      await pass('t')
      advance(patienceMs)
      await scanned()
      expect(claimed).toEqual([])
      expect(state().isPaused).toBe(hasQueue)
      app.resume()
      expect(textIn(await untilIdle(thread))).toBe('Yes.')
      expect(state().isPaused).toBe(false)
    },
  )

  test('finishes the runs that it has, and stays paused', async () => {
    const { dispatcher, pass, state } = manualDispatcher()
    const { app, held } = openedHeld({ dispatcher })
    await app.thread('t').send('go')
    void pass('t')
    await held.startedTimes(1)
    app.pause()
    held.runs[0]?.release()
    expect(textIn(await untilIdle(app.thread('t')))).toBe('Done.')
    await expect.poll(async () => (await app.thread('t').info()).status).toBe('idle')
    expect(state().isPaused).toBe(true)
  })
})

test('a thread that no process takes for 30 seconds is reported once, and measured', async () => {
  let gauges: AppGauges | undefined
  const { app, start, errors, advance, scanned } = opened({
    works: false,
    telemetry: {
      startRun: () => ({
        event() {},
        modelCall: () => ({ end() {} }),
        runInContext: (_, work) => work(),
        nested: () => ({}) as never,
        handedOver() {},
      }),
      openApp(given) {
        gauges = given
        return { flushed() {}, failed() {}, closed() {} }
      },
    },
  })
  const thread = app.thread('t')
  await thread.send('Well?')
  advance(29_999)
  await scanned()
  expect(errors).toEqual([])
  expect(gauges?.oldest?.()).toBe(29_999)
  advance(1)
  await scanned()
  expect(errors).toMatchObject([
    { code: 'store_error', message: expect.stringMatching(/thread 't' has waited 30 s .* agent 'helper'/) },
  ])
  advance(60_000)
  await scanned()
  expect(errors).toHaveLength(1)
  const worker = start({ works: true })
  await untilIdle(worker.thread('t'))
  await expect.poll(() => gauges?.oldest?.()).toBe(0)
})

describe('a free slot', () => {
  test('is not for an agent that has as many runs as it may, across all processes', async () => {
    const { app, held } = openedHeld({ maxAgentRuns: { desk: 1 } })
    const [first, second, others] = [app.thread('a'), app.thread('b'), app.thread('c', { agent: 'other' })]
    await first.send('go')
    await held.startedTimes(1)
    await second.send('go')
    await others.send('go')
    await held.startedTimes(2)
    expect((await others.info()).status).toBe('running')
    expect((await second.info()).status).toBe('queued')
    held.runs[0]?.release()
    await held.startedTimes(3)
    expect((await second.info()).status).toBe('running')
  })

  test('goes to a batch when no interactive thread waits', async () => {
    const { app, held } = openedHeld({ maxRuns: 1 })
    const [first, batch, user] = [
      app.thread('a'),
      app.thread('b', { priority: 'batch' }),
      app.thread('c', { priority: 'interactive' }),
    ]
    await first.send('go')
    await held.startedTimes(1)
    await batch.send('go')
    await user.send('go')
    held.runs[0]?.release()
    await held.startedTimes(2)
    expect((await user.info()).status).toBe('running')
    expect((await batch.info()).status).toBe('queued')
    held.runs[1]?.release()
    await held.startedTimes(3)
    expect((await batch.info()).status).toBe('running')
  })
})

test('an app rejects options that make no sense', () => {
  const agents = agent({ name: 'helper', model: scriptedModel([]) })
  expect(() => millrace({ agents, dispatcher: {} as never })).toThrow(/'dispatcher' must be a Dispatcher/)
  expect(() => millrace({ agents, maxAgentRuns: { helper: 0 } })).toThrow(/'maxAgentRuns.helper' must be/)
  expect(() => millrace({ agents, maxAgentRuns: { help: 1 } })).toThrow(/helper/)
  expect(() => millrace({ agents, works: 1 as never })).toThrow(/'works' must be/)
  expect(() => millrace({ agents, storeTimeoutMs: 1 })).toThrow(/'storeTimeoutMs' must be .* at least 50/)
})

test('a scan that fails after the app was closed is not reported', async () => {
  const scan = Promise.withResolvers<never>()
  const store: ThreadStore = { ...memoryStore(), findRunnable: () => scan.promise }
  const errors: MillraceError[] = []
  const app = millrace({
    agents: agent({ name: 'helper', model: scriptedModel([]) }),
    store,
    onError: (error) => errors.push(error),
  })
  await app.close()
  scan.reject(new Error('the store is closed'))
  await expect(scan.promise).rejects.toThrow()
  await new Promise((resolve) => setTimeout(resolve))
  expect(errors).toEqual([])
})
