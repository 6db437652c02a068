import type { AppOptions, ThreadStore } from 'millrace'
import { agent, memoryStore, millrace } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { heldTool, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import type { Measured, Point } from './otel.test-kit.ts'
import { measured } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

function opened(options: Partial<AppOptions> = {}, seen = measured()) {
  const slow = heldTool('slow')
  const model = scriptedModel(
    ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'slow' }]),
    { id: 'gpt' },
  )
  const store = options.store ?? memoryStore()
  const app = millrace({
    agents: agent({ name: 'desk', model, tools: [slow.tool] }),
    recoverMs: 10,
    telemetry: seen.telemetry,
    ...options,
    store,
  })
  open.push(store, { close: () => app.close({ graceMs: 0 }) })
  return { seen, slow, app }
}

const gauges = [
  'millrace.streams.open',
  'millrace.follower.lag',
  'millrace.threads.running',
  'millrace.queue.depth',
  'millrace.queue.age',
  'millrace.buffer.size',
  'millrace.loop.delay',
]

/** The value of each gauge; undefined if it reports nothing. */
async function gaugesOf(seen: Measured) {
  const metrics = await seen.metrics()
  return Object.fromEntries(
    gauges.map((name) => {
      const points: readonly Point[] = metrics.find((metric) => metric.name === name)?.points ?? []
      return [name.replace('millrace.', ''), points[0]?.value]
    }),
  )
}

test('an open app reports its gauges', async () => {
  const { seen, slow, app } = opened({ maxRuns: 1 })
  expect(await gaugesOf(seen)).toEqual({
    'streams.open': 0,
    'follower.lag': 0,
    'threads.running': 0,
    'queue.depth': 0,
    'queue.age': 0,
    'buffer.size': 0,
    'loop.delay': expect.any(Number),
  })
  const shapes = (await seen.metrics()).map(({ name, kind, unit, points }) => [
    name,
    kind,
    unit,
    points.length,
  ])
  expect(shapes.toSorted()).toEqual([
    ['millrace.buffer.size', 'gauge', 'By', 1],
    ['millrace.follower.lag', 'gauge', '{entry}', 1],
    ['millrace.loop.delay', 'gauge', 's', 1],
    ['millrace.queue.age', 'gauge', 's', 1],
    ['millrace.queue.depth', 'gauge', '{thread}', 1],
    ['millrace.streams.open', 'gauge', '{stream}', 1],
    ['millrace.threads.running', 'gauge', '{thread}', 1],
  ])

  await app.thread('a').send('go')
  await slow.startedTimes(1)
  await app.thread('b').send('go')
  await app.thread('c').send('go')
  expect(await gaugesOf(seen)).toMatchObject({ 'threads.running': 1, 'queue.depth': 2 })
  slow.runs[0]?.release()
  await slow.startedTimes(2)
  await expect.poll(() => gaugesOf(seen)).toMatchObject({ 'threads.running': 1, 'queue.depth': 1 })
  slow.runs[1]?.release()
  await slow.startedTimes(3)
  slow.runs[2]?.release()
  await expect.poll(() => gaugesOf(seen)).toMatchObject({ 'threads.running': 0, 'queue.depth': 0 })
})

test('the gauges of a closed app are reset to 0', async () => {
  const { seen, slow, app } = opened({ maxRuns: 1 })
  await app.thread('a').send('go')
  await slow.startedTimes(1)
  await app.thread('b').send('go')
  const following = app.thread('a').follow()
  await following.next()
  await expect
    .poll(() => gaugesOf(seen))
    .toMatchObject({
      'streams.open': 1,
      'follower.lag': expect.any(Number),
      'threads.running': 1,
      'queue.depth': 1,
    })
  await app.close({ graceMs: 0 })
  expect(await gaugesOf(seen)).toEqual({
    'streams.open': 0,
    'follower.lag': 0,
    'threads.running': 0,
    'queue.depth': 0,
    'queue.age': 0,
    'buffer.size': 0,
    'loop.delay': 0,
  })
})

test('without an app no gauges are reported', async () => {
  const seen = measured()
  await agent({ model: scriptedModel(['Hello.']), telemetry: seen.telemetry }).run('hello')
  expect(await gaugesOf(seen)).toEqual({})
})

test('followers are counted, and the lag of the slowest one is measured', async () => {
  const { seen, slow, app } = opened()
  const thread = app.thread('t')
  await thread.send('go')
  await slow.startedTimes(1)
  const { head } = await thread.info()
  const [fast, slowFollower] = [thread.follow({ after: head }), thread.follow()]
  // A follower counts from its first read on.
  await slowFollower.next()
  await slowFollower.next()
  const waiting = fast.next()
  await expect.poll(() => gaugesOf(seen)).toMatchObject({ 'streams.open': 2, 'follower.lag': head - 2 })
  await slowFollower.return?.()
  await expect.poll(() => gaugesOf(seen)).toMatchObject({ 'streams.open': 1, 'follower.lag': 0 })
  slow.runs[0]?.release()
  await waiting
  await fast.return?.()
  await expect.poll(() => gaugesOf(seen)).toMatchObject({ 'streams.open': 0, 'follower.lag': 0 })
})

test('the age of a thread that no process takes is measured', async () => {
  let time = 1_700_000_000_000
  const { seen, app } = opened({ store: memoryStore({ now: () => time }), works: false })
  await app.thread('t').send('go')
  time += 1500
  await expect.poll(() => gaugesOf(seen)).toMatchObject({ 'queue.age': 1.5, 'threads.running': 0 })
})

test('two apps with the same telemetry are added up', async () => {
  const seen = measured()
  const [one, other] = [opened({}, seen), opened({}, seen)]
  for (const { app, slow } of [one, other]) {
    await app.thread('t').send('go')
    await slow.startedTimes(1)
  }
  expect(await gaugesOf(seen)).toMatchObject({ 'threads.running': 2 })
  one.slow.runs[0]?.release()
  await untilIdle(one.app.thread('t'))
  await one.app.close()
  expect(await gaugesOf(seen)).toMatchObject({ 'threads.running': 1 })
})

test('gauges of two apps are summed, but lag and age are the maximum', async () => {
  const seen = measured()
  for (const times of [1, 10])
    seen.telemetry.openApp?.({
      followers: () => 2 * times,
      lag: () => 3 * times,
      running: () => 4 * times,
      waiting: () => 5 * times,
      oldest: () => 600 * times,
      buffered: () => 7 * times,
    })
  expect(await gaugesOf(seen)).toEqual({
    'streams.open': 22,
    'follower.lag': 30,
    'threads.running': 44,
    'queue.depth': 55,
    'queue.age': 6,
    'buffer.size': 77,
    'loop.delay': expect.any(Number),
  })
})

test('the event loop delay is measured since the last reading', async () => {
  const { seen } = opened()
  await gaugesOf(seen)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const until = performance.now() + 150
  while (performance.now() < until);
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect((await gaugesOf(seen))['loop.delay']).toBeGreaterThan(0.1)
})

test('commits are measured: events per commit, and duration', async () => {
  const { seen, slow, app } = opened()
  const thread = app.thread('t')
  await thread.send('go')
  await slow.startedTimes(1)
  slow.runs[0]?.release()
  const entries = await untilIdle(thread)
  const metrics = (await seen.metrics()).filter(({ name }) => name.startsWith('millrace.flush'))
  expect(metrics.map(({ name, kind, unit }) => [name, kind, unit])).toEqual([
    ['millrace.flush.size', 'histogram', '{event}'],
    ['millrace.flush.duration', 'histogram', 's'],
  ])
  const [size, duration] = metrics.map(({ points }) => points)
  // All events of the run, each once. The message itself was written by the sender.
  const count = expect.any(Number)
  expect(size).toEqual([{ attributes: {}, value: { count, sum: entries.length - 1 } }])
  expect(duration).toEqual([{ attributes: {}, value: { count, sum: count } }])
})

test('background failures are counted by error, and failed commits are marked', async () => {
  let broken = false
  const memory = memoryStore()
  const store: ThreadStore = new Proxy(memory, {
    get(target, name: keyof ThreadStore) {
      const value = target[name]
      if (name !== 'append') return value
      return async (...args: unknown[]) => {
        if (broken) throw new Error('the disk is full')
        return (value as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  const { seen, slow, app } = opened({ store, leaseMs: 300, onError: () => {} })
  await app.thread('t').send('go')
  await slow.startedTimes(1)
  broken = true
  slow.runs[0]?.release()
  await expect
    .poll(() => seen.points('millrace.errors'))
    .toMatchObject([{ attributes: { 'error.type': 'store_error' }, value: expect.any(Number) }])
  expect(await seen.points('millrace.flush.duration')).toMatchObject([
    { attributes: {} },
    { attributes: { 'error.type': 'store_error' } },
  ])
  broken = false
})
