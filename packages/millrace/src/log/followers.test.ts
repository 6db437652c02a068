import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { budget } from './budget.ts'
import { threadFollowers } from './followers.ts'
import { memoryStore } from './memory.ts'
import type { ThreadStore, Watcher } from './store.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Followers of a store that loses every notification, and one of them at the end of thread `t`. */
async function setUp(more: Partial<ThreadStore> = {}, isReliable = false) {
  const store = memoryStore()
  let watcher: Watcher = {}
  const followers = threadFollowers(
    {
      ...store,
      watch(given) {
        watcher = given
        return { ...store.watch({}), isReliable }
      },
      ...more,
    },
    budget(1024 * 1024),
  )
  onTestFinished(async () => {
    followers.close()
    await store.close()
  })
  await store.create({ id: 't', agent: 'a' })
  await write('first')
  const seen: string[] = []
  let isEnded = false
  const following = followers.follow('t', 0)
  const read = async () => {
    for (let next = await following.next(); !next.done; next = await following.next())
      seen.push((next.value as Entry & { event: { reason: string } }).event.reason)
    isEnded = true
  }
  void read()
  await passMs(10)
  expect(seen).toEqual(['first'])

  async function write(reason: string) {
    await store.signal('t', reason, { type: 'stop', reason })
  }
  return { store, seen, write, missed: () => watcher.missed?.(), isEnded: () => isEnded }
}

/** Also lets work be done that does not wait for a timer. */
async function passMs(ms: number) {
  await vi.advanceTimersByTimeAsync(ms)
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(0)
  }
}

test('a change whose notification was lost is found by polling the store', async () => {
  const { seen, write } = await setUp()
  await write('second')
  await passMs(1000)
  expect(seen).toEqual(['first'])
  await passMs(1000)
  expect(seen).toEqual(['first', 'second'])
})

test('a store that reports every change is polled less often', async () => {
  const { seen, write } = await setUp({}, true)
  await write('second')
  await passMs(20_000)
  expect(seen).toEqual(['first'])
  await passMs(10_000)
  expect(seen).toEqual(['first', 'second'])
})

test('after a lost connection, the store is polled right away', async () => {
  const { seen, write, missed } = await setUp()
  await write('second')
  missed()
  await passMs(0)
  expect(seen).toEqual(['first', 'second'])
})

test('a deletion whose notification was lost ends the follower', async () => {
  const { store, seen, isEnded } = await setUp()
  await store.delete('t')
  await passMs(2000)
  expect(isEnded()).toBe(true)
  expect(seen).toEqual(['first'])
})

test('a poll that fails is repeated', async () => {
  let failures = 1
  const { store, seen, write } = await setUp({
    heads: (ids) => (failures-- > 0 ? Promise.reject(new Error('not now')) : store.heads(ids)),
  })
  await write('second')
  await passMs(2000)
  expect(seen).toEqual(['first'])
  await passMs(2000)
  expect(seen).toEqual(['first', 'second'])
})

test('only followed threads are polled', async () => {
  const polled: string[][] = []
  const { store } = await setUp({
    heads(ids) {
      polled.push([...ids])
      return store.heads(ids)
    },
  })
  await store.create({ id: 'u', agent: 'a' })
  await passMs(2000)
  expect(polled).toEqual([['t']])
})
