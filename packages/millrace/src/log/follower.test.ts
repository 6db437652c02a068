import { expect, onTestFinished, test, vi } from 'vitest'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { budget } from './budget.ts'
import { followThread } from './follow-thread.ts'
import type { Following } from './follower.ts'
import { threadFollowers } from './followers.ts'
import { memoryStore } from './memory.ts'

const passTurn = () => new Promise((resolve) => setImmediate(resolve))
const reasonOf = ({ event }: Entry) => (event as { reason: string }).reason

/** A thread `t` with the entry `first`, and its followers. */
async function setUp() {
  const store = memoryStore()
  const buffer = budget(1024 * 1024)
  const followers = threadFollowers(store, buffer)
  onTestFinished(async () => {
    followers.close()
    await store.close()
  })
  await store.create({ id: 't', agent: 'a' })
  let written = 0
  /** Writes entries and delivers them together. */
  const write = (...reasons: string[]) =>
    writeEvents(reasons.map((reason) => ({ type: 'stop', reason }) as const))
  async function writeEvents(events: readonly ThreadEvent[]) {
    const entries: Entry[] = []
    for (const event of events) entries.push((await store.signal('t', `${++written}`, event)).entry)
    followers.publish('t', entries)
  }
  await write('first')
  const follow = (after = 0) => followers.follow('t', after)
  /** As while the thread runs. Returns a function that ends that. */
  const attach = () =>
    followers.attach('t', {
      head: written,
      writing: undefined,
      readToEnd: async () => true,
      take() {},
      end() {},
    })
  const { stats, deleted } = followers
  return { store, write, writeEvents, follow, attach, buffer, stats, deleted }
}

/** A client that listens whenever it can, and reads nothing while it is `full`. */
function client(following: Following) {
  /** What it was handed, and single entries that it read. */
  const got: (readonly Entry[] | Entry)[] = []
  let drain = Promise.withResolvers<void>()
  let isFull = false
  let failure: unknown
  const self = {
    got,
    reasons: () => got.flat().map(reasonOf),
    fill() {
      isFull = true
    },
    drain() {
      isFull = false
      drain.resolve()
      drain = Promise.withResolvers()
    },
    onEntries(_: readonly Entry[]) {},
    failure: () => failure,
    ended: run().catch((error: unknown) => {
      failure = error
    }),
  }
  async function run() {
    for (;;) {
      const listening = following.listen((entries) => {
        got.push(entries)
        self.onEntries(entries)
        return !isFull
      })
      if (listening) await listening
      if (isFull) await drain.promise
      const { done, value } = await following.next()
      if (done) return
      got.push(value)
    }
  }
  return self
}

test('all who listen are handed the same entries, in the moment of the delivery', async () => {
  const { write, follow, buffer, stats } = await setUp()
  const [one, two] = [client(follow()), client(follow())]
  await passTurn()
  await write('read')
  await passTurn()
  await write('a', 'b')
  await write('c')
  expect(one.reasons()).toEqual(['first', 'read', 'a', 'b', 'c'])
  expect(one.got.slice(2)).toEqual(two.got.slice(2))
  expect(one.got[2]).toBe(two.got[2])
  expect(stats()).toEqual({ count: 2, lag: 0 })
  expect(buffer.used).toBe(0)
})

test('one that is full reads the rest in order, delays no other, and listens again', async () => {
  const { write, follow, buffer, stats } = await setUp()
  const [slow, fast] = [client(follow()), client(follow())]
  await passTurn()
  await write('read')
  await passTurn()
  slow.fill()
  await write('a')
  const sending = buffer.used
  expect(sending).toBeGreaterThan(0)
  await write('b', 'c')
  await passTurn()
  await write('d')
  expect(slow.reasons().at(-1)).toBe('a')
  expect(fast.reasons().at(-1)).toBe('d')
  expect(buffer.used).toBe(4 * sending)
  expect(stats().lag).toBe(3)
  slow.drain()
  await passTurn()
  expect(buffer.used).toBe(0)
  await write('e', 'f')
  expect(slow.reasons()).toEqual(['first', 'read', 'a', 'b', 'c', 'd', 'e', 'f'])
  expect(slow.got.at(-1)).toBe(fast.got.at(-1))
})

test('one that is full for too long falls behind, and reads from the store', async () => {
  const { write, follow, buffer } = await setUp()
  const slow = client(follow())
  await passTurn()
  await write('read')
  await passTurn()
  slow.fill()
  const reasons = Array.from({ length: 700 }, (_, index) => `${index}`)
  for (let at = 0; at < reasons.length; at += 50) await write(...reasons.slice(at, at + 50))
  expect(buffer.used).toBeLessThan(600 * 256)
  slow.drain()
  await expect.poll(() => slow.reasons()).toEqual(['first', 'read', ...reasons])
  await write('last')
  await expect.poll(() => slow.reasons().at(-1)).toBe('last')
})

test('more than a socket should get at once is read one by one', async () => {
  const { write, follow } = await setUp()
  const one = client(follow())
  await passTurn()
  await write('read')
  await passTurn()
  const large = 'x'.repeat(20_000)
  await write(large, large)
  await passTurn()
  await write('small')
  expect(one.got.map((got) => Array.isArray(got))).toEqual([false, false, false, false, true])
})

test('a crowd gets deltas together, each once and in order, and so does one that joins it', async () => {
  const { write, writeEvents, follow } = await setUp()
  const clients = Array.from({ length: 40 }, () => client(follow()))
  await passTurn()
  await write('read')
  await passTurn()
  // Takes long enough to rest after it.
  for (const one of clients)
    one.onEntries = () => {
      const end = performance.now() + 0.2
      while (performance.now() < end);
    }
  for (let count = 0; count < 10; count++) {
    await writeEvents([{ type: 'text', text: `${count}` }])
    if (count === 5) clients.push(client(follow()))
    await passTurn()
  }
  await write('last')
  await passTurn()
  const numbers = Array.from({ length: 13 }, (_, index) => index + 1)
  for (const { got } of clients) {
    const entries = got.flat()
    expect(entries.flatMap(({ seq, from = seq }) => numbers.slice(from - 1, seq))).toEqual(numbers)
  }
  expect(clients[0]?.got.length).toBeLessThan(numbers.length)
})

test('one that returns while the thread runs gets what it has missed from memory', async () => {
  const { store, write, follow, attach, buffer } = await setUp()
  const read = vi.spyOn(store, 'read')
  await attach()
  await write('a', 'b')
  await write('c')
  const [one, two, three] = [client(follow(1)), client(follow(2)), client(follow(4))]
  await write('d')
  await passTurn()
  await write('e')
  expect(one.reasons()).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(two.reasons()).toEqual(['b', 'c', 'd', 'e'])
  expect(three.reasons()).toEqual(['d', 'e'])
  expect(read).not.toHaveBeenCalled()
  expect(buffer.used).toBe(0)
})

test('one that has missed more, or returns when the thread is at rest, reads from the store', async () => {
  const { store, write, follow, attach } = await setUp()
  const read = vi.spyOn(store, 'read')
  const detach = await attach()
  await write('a')
  const early = client(follow())
  await passTurn()
  expect(read).toHaveBeenCalled()
  read.mockClear()
  detach()
  const late = client(follow(1))
  await passTurn()
  expect(read).toHaveBeenCalled()
  await write('b')
  await passTurn()
  expect(early.reasons()).toEqual(['first', 'a', 'b'])
  expect(late.reasons()).toEqual(['a', 'b'])
})

test('nothing of a thread that was deleted is left in memory', async () => {
  const { store, write, follow, attach, deleted } = await setUp()
  await attach()
  await write('a')
  const one = client(follow())
  await passTurn()
  await store.delete('t')
  deleted('t')
  await one.ended
  const other = client(follow(1))
  await other.ended
  expect(other.got).toEqual([])
})

test('one that fails ends with its error, and no other', async () => {
  const { write, follow, stats } = await setUp()
  const [broken, other] = [client(follow()), client(follow())]
  await passTurn()
  await write('read')
  await passTurn()
  broken.onEntries = () => {
    throw new Error('broken')
  }
  await write('a')
  await broken.ended
  expect(broken.failure()).toEqual(new Error('broken'))
  await write('b')
  expect(other.reasons()).toEqual(['first', 'read', 'a', 'b'])
  expect(stats().count).toBe(1)
})

test('one that follows until a point gets no entry after it', async () => {
  const { store, write, follow } = await setUp()
  const following = followThread({
    log: { store, threadId: 't' },
    after: 0,
    until: 3,
    info: async () => ({ head: 1 }),
    follow,
  })
  const one = client(following)
  await passTurn()
  await write('second')
  await passTurn()
  await write('third', 'fourth')
  await one.ended
  expect(one.reasons()).toEqual(['first', 'second', 'third'])
  expect(one.failure()).toBe(undefined)
})
