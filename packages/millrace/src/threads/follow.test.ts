import { afterEach, describe, expect, test } from 'vitest'
import { budget } from '../log/budget.ts'
import { deltaBuffer } from '../log/delta-buffer.ts'
import { threadFollowers } from '../log/followers.ts'
import { groupCommit } from '../log/group-commit.ts'
import type { Lease } from '../log/store.ts'
import type { Entry, RunEvent } from '../protocol/index.ts'
import type { ThreadStore } from './index.ts'
import { memoryStore } from './index.ts'
import { checkNumbers, textIn } from './threads.test-kit.ts'

const mebibyte = 1024 * 1024

const stores: ThreadStore[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

async function setUp(store = memoryStore(), buffer = budget(64 * mebibyte)) {
  stores.push(store)
  await store.create({ id: 't', agent: 'a' })
  await store.signal('t', crypto.randomUUID(), { type: 'stop', reason: 'to make it runnable' })
  const lease = (await store.claim('t', 'me', 60_000))?.lease as Lease
  const followers = threadFollowers(store, buffer)
  let number = 0
  async function write(...texts: string[]) {
    const events = texts.map((text) => ({ type: 'text', text }) as const)
    const [entries] = await store.append([{ lease, number: ++number, events }])
    return entries as readonly Entry[]
  }
  return { store, lease, followers, write, buffer }
}

async function take(entries: AsyncIterator<Entry, undefined>, upTo: number): Promise<Entry[]> {
  const taken: Entry[] = []
  while ((taken.at(-1)?.seq ?? 0) < upTo) {
    const { done, value } = await entries.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

describe('following', () => {
  test('live followers get the same entry object, each as it was written', async () => {
    const { followers, write } = await setUp()
    const readers = [followers.follow('t', 1), followers.follow('t', 1)]
    const pending = readers.map((reader) => reader.next())
    // By now both have read to the buffer.
    await new Promise((resolve) => setImmediate(resolve))
    followers.publish('t', await write('one', 'two'))
    const [first, second] = await Promise.all(pending)
    expect(first?.value).toBe(second?.value)
    expect(await Promise.all(readers.map((reader) => take(reader, 3)))).toMatchObject([
      [{ event: { text: 'two' } }],
      [{ event: { text: 'two' } }],
    ])
  })

  test('a late follower, from any number, gets the rest and then new entries', async () => {
    const { followers, write } = await setUp()
    for (let count = 0; count < 50; count++) followers.publish('t', await write(`${count} `))
    const whole = [...Array(50).keys()].map((count) => `${count} `)
    for (const after of [0, 1, 2, 25, 50]) {
      const reader = followers.follow('t', after)
      const entries = await take(reader, 51)
      checkNumbers(entries, after)
      expect(textIn(entries)).toBe(whole.slice(Math.max(0, after - 1)).join(''))
      await reader.return?.()
    }
    const reader = followers.follow('t', 51)
    const next = reader.next()
    followers.publish('t', await write('new'))
    expect((await next).value).toMatchObject({ seq: 52, event: { text: 'new' } })
  })

  test('a follower that does not read gets fewer, longer deltas, and delays no other', async () => {
    const { followers, write } = await setUp()
    const slow = followers.follow('t', 1)
    const quick = followers.follow('t', 1)
    const first = [slow.next(), quick.next()]
    await new Promise((resolve) => setImmediate(resolve))
    followers.publish('t', await write('first'))
    await Promise.all(first)
    let words = ''
    for (let count = 0; count < 3000; count++) {
      followers.publish('t', await write(`${count} `))
      words += `${count} `
      expect((await quick.next()).value).toMatchObject({ event: { text: `${count} ` } })
    }
    const entries = await take(slow, 3002)
    checkNumbers(entries, 2)
    expect(textIn(entries)).toBe(words)
    expect(entries.length).toBeLessThan(100)
  })

  test('a follower that does not read holds about a mebibyte, and gets large entries when it reads', async () => {
    const { followers, write, buffer } = await setUp()
    const slow = followers.follow('t', 1, { caller: 'ann' })
    const quick = followers.follow('t', 1, { caller: 'bob' })
    const first = [slow.next(), quick.next()]
    await new Promise((resolve) => setImmediate(resolve))
    const large = 'x'.repeat(300_000)
    for (let count = 0; count < 20; count++) {
      followers.publish('t', await write(large))
      if (count > 0) expect((await quick.next()).value).toMatchObject({ seq: count + 2 })
      else await Promise.all(first)
      expect(buffer.used).toBeLessThan(4 * mebibyte)
    }
    const entries = await take(slow, 21)
    checkNumbers(entries, 2)
    expect(textIn(entries)).toBe(large.repeat(19))
    const waiting = [slow.next(), quick.next()]
    await expect.poll(() => buffer.used).toBe(0)
    const huge = 'y'.repeat(4_000_000)
    followers.publish('t', await write(huge))
    const [one, other] = await Promise.all(waiting)
    expect(one?.value).toBe(other?.value)
    expect(buffer.used).toBeGreaterThan(8_000_000)
    await slow.return?.()
    await quick.return?.()
    expect(buffer.used).toBe(0)
  })

  test('followers of one caller share a quarter of the buffer, and wait for each other to read', async () => {
    const { followers, write, buffer } = await setUp(memoryStore(), budget(3 * mebibyte))
    for (let count = 0; count < 4; count++) await write('x'.repeat(300_000))
    const open = (caller: string) => followers.follow('t', 1, { caller })
    const [one, two, others] = [open('ann'), open('ann'), open('bob')]
    expect((await one.next()).value).toMatchObject({ seq: 2 })
    let isRead = false
    const second = two.next().then(() => {
      isRead = true
    })
    expect((await others.next()).value).toMatchObject({ seq: 2 })
    expect(isRead).toBe(false)
    // Calling next() again means that the last entry was sent.
    void one.next()
    await second
    for (const follower of [one, two, others]) await follower.return?.()
    expect(buffer.used).toBe(0)
  })

  test('only as many waiting followers read as there is room for', async () => {
    const { followers, write, buffer } = await setUp(memoryStore(), budget(8 * mebibyte))
    for (let count = 0; count < 2; count++) await write('x'.repeat(900_000))
    const [first, ...others] = Array.from({ length: 8 }, () => followers.follow('t', 1, { caller: 'ann' }))
    await first?.next()
    let read = 0
    for (const follower of others) void follower.next().then(() => read++)
    await new Promise((resolve) => setImmediate(resolve))
    expect(read).toBe(0)
    await first?.return?.()
    await new Promise((resolve) => setImmediate(resolve))
    // A page is reserved with half a MiB, and a caller may hold two.
    expect(read).toBe(4)
    for (const follower of others) await follower.return?.()
    expect(buffer.used).toBe(0)
  })

  test('entries of other processes are read when they are reported, even before a follower is live', async () => {
    const { followers, write } = await setUp()
    const reader = followers.follow('t', 1)
    const next = reader.next()
    await write('from elsewhere')
    followers.changed('t')
    expect((await next).value).toMatchObject({ seq: 2 })
    const after = reader.next()
    await new Promise((resolve) => setImmediate(resolve))
    // One entry of theirs and one of ours, which is reported first.
    await write('theirs')
    followers.publish('t', await write('ours'))
    expect((await after).value).toMatchObject({ event: { text: 'theirs' } })
    expect((await reader.next()).value).toMatchObject({ event: { text: 'ours' } })
  })

  test('an entry that one follower reads before it is reported still reaches the live ones', async () => {
    const { followers, write } = await setUp()
    const first = followers.follow('t', 1)
    const next = first.next()
    await new Promise((resolve) => setImmediate(resolve))
    await write('unreported')
    // Reads to the buffer, and so becomes live as well.
    const second = followers.follow('t', 0)
    await take(second, 2)
    const later = second.next()
    expect((await next).value).toMatchObject({ seq: 2, event: { text: 'unreported' } })
    const further = first.next()
    await new Promise((resolve) => setImmediate(resolve))
    followers.publish('t', await write('published'))
    expect((await later).value).toMatchObject({ seq: 3 })
    expect((await further).value).toMatchObject({ seq: 3 })
  })

  test('ends with the signal, with the thread, and with the app, even while waiting', async () => {
    const { followers, store } = await setUp()
    const stopping = new AbortController()
    const bySignal = followers.follow('t', 1, { signal: stopping.signal }).next()
    await new Promise((resolve) => setImmediate(resolve))
    stopping.abort()
    expect((await bySignal).done).toBe(true)
    expect((await followers.follow('t', 0, { signal: stopping.signal }).next()).done).toBe(true)

    const byThread = followers.follow('t', 1).next()
    const byClose = followers.follow('other', 0)
    await store.create({ id: 'other', agent: 'a' })
    const waiting = byClose.next()
    await new Promise((resolve) => setImmediate(resolve))
    await store.delete('t')
    followers.changed('t')
    expect((await byThread).done).toBe(true)
    followers.close()
    expect((await waiting).done).toBe(true)
  })

  test('concurrent next() calls get the entries in order', async () => {
    const { followers, write } = await setUp()
    const reader = followers.follow('t', 1)
    let isDone = false
    const pending = Promise.all([reader.next(), reader.next(), reader.next()]).finally(() => {
      isDone = true
    })
    // Entries read together are joined, so more than three may be needed.
    let written = ''
    while (!isDone) {
      const word = String(written.length % 10)
      written += word
      followers.publish('t', await write(word))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const entries = (await pending).map(({ value }) => value as Entry)
    const words = textIn(entries)
    expect(words.length).toBeGreaterThanOrEqual(3)
    expect(words).toBe(written.slice(0, words.length))
  })

  test('a store failure is reported to followers, once', async () => {
    const { store, write } = await setUp()
    let broken = false
    const reads = {
      ...store,
      read: (...args: Parameters<ThreadStore['read']>) =>
        broken ? Promise.reject(new Error('disk on fire')) : store.read(...args),
    }
    const failing = threadFollowers(reads, budget(Number.POSITIVE_INFINITY))
    const reader = failing.follow('t', 1)
    const next = reader.next()
    await new Promise((resolve) => setImmediate(resolve))
    broken = true
    await write('unreadable')
    failing.changed('t')
    await expect(next).rejects.toThrow('disk on fire')
    expect((await reader.next()).done).toBe(true)
  })
})

describe('the group commit', () => {
  function commitsOver(store: ThreadStore, { retryForMs = 0, lost = [] as unknown[] } = {}) {
    const written: Entry[] = []
    const commits = groupCommit({ store, flushMs: 0, retryForMs })
    function open(lease: Lease) {
      const buffer = deltaBuffer(() => {})
      const writer = commits.open(lease, {
        buffer: buffer,
        onWritten: (entries) => written.push(...entries),
        onLost: (why) => lost.push(why),
      })
      return {
        commit: writer.commit,
        push(event: RunEvent) {
          buffer.push(event)
          writer.appended(event.type)
        },
      }
    }
    return { written, open, lost }
  }

  test('deltas that wait together are one entry', async () => {
    const { store, lease } = await setUp()
    const { open, written } = commitsOver(store)
    const writer = open(lease)
    for (const text of ['a', 'b', 'c']) writer.push({ type: 'text', text })
    writer.push({ type: 'reasoning', text: 'hm' })
    writer.push({ type: 'text', text: 'd' })
    await writer.commit()
    expect(written.at(-1)?.seq).toBe(4)
    expect(written.map(({ event }) => event)).toEqual([
      { type: 'text', text: 'abc' },
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'd' },
    ])
  })

  test('many threads share one commit', async () => {
    const store = memoryStore()
    stores.push(store)
    let commits = 0
    const counting: ThreadStore = {
      ...store,
      append(batches) {
        commits++
        return store.append(batches)
      },
    }
    const { open, written } = commitsOver(counting)
    const writers = []
    for (let count = 0; count < 20; count++) {
      await store.create({ id: `t${count}`, agent: 'a' })
      await store.signal(`t${count}`, crypto.randomUUID(), { type: 'stop', reason: 'x' })
      const { lease } = (await store.claim(`t${count}`, 'me', 60_000)) as { lease: Lease }
      writers.push(open(lease))
    }
    for (const writer of writers) writer.push({ type: 'text', text: 'hello' })
    await Promise.all(writers.map((writer) => writer.commit()))
    expect(written).toHaveLength(20)
    expect(commits).toBe(1)
  })

  test('a fenced writer is notified before its commit resolves, and writes no more', async () => {
    const { store, lease } = await setUp()
    const { open, written, lost } = commitsOver(store)
    const writer = open({ ...lease, epoch: lease.epoch - 1 })
    writer.push({ type: 'text', text: 'never' })
    await writer.commit()
    expect(lost).toEqual(['fenced'])
    writer.push({ type: 'text', text: 'never either' })
    await writer.commit()
    expect(written).toEqual([])
    expect((await store.get('t'))?.head).toBe(1)
  })

  test('a failed write is retried, in order, without an error', async () => {
    const { store, lease } = await setUp()
    let failures = 3
    const { open, written, lost } = commitsOver(
      {
        ...store,
        append: (batches) =>
          failures-- > 0 ? Promise.reject(new Error('a brief failure')) : store.append(batches),
      },
      { retryForMs: 60_000 },
    )
    const writer = open(lease)
    writer.push({ type: 'text', text: 'one ' })
    const first = writer.commit()
    writer.push({ type: 'text', text: 'two' })
    await Promise.all([first, writer.commit()])
    expect(textIn(written)).toBe('one two')
    expect(lost).toEqual([])
  })

  test('a batch that cannot be written does not affect the others', async () => {
    const { store, lease } = await setUp()
    await store.create({ id: 'bad', agent: 'a' })
    await store.signal('bad', crypto.randomUUID(), { type: 'stop', reason: 'x' })
    const bad = (await store.claim('bad', 'me', 60_000))?.lease as Lease
    const { open, written, lost } = commitsOver({
      ...store,
      append: (batches) =>
        batches.some((batch) => batch.lease.threadId === 'bad')
          ? Promise.reject(new Error('too big'))
          : store.append(batches),
    })
    const [good, broken] = [open(lease), open(bad)]
    good.push({ type: 'text', text: 'fine' })
    broken.push({ type: 'text', text: 'huge' })
    await Promise.all([good.commit(), broken.commit()])
    expect(textIn(written)).toBe('fine')
    expect(lost).toMatchObject([{ code: 'store_error', message: 'too big' }])
  })
})
