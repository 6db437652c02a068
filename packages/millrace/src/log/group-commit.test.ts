import { expect, onTestFinished, test, vi } from 'vitest'
import type { RunEvent } from '../protocol/index.ts'
import { deltaBuffer } from './delta-buffer.ts'
import { groupCommit } from './group-commit.ts'
import { memoryStore } from './memory.ts'
import type { Batch, Lease, ThreadStore } from './store.ts'

const started = (number: number): RunEvent => {
  return { type: 'tool-start', callId: `c${number}`, name: 'look', attempt: 1 }
}

/** Writes batches in place of the store's own `append`. */
type Append = (batches: readonly Batch[], append: ThreadStore['append']) => ReturnType<ThreadStore['append']>

/** The calls that were started, in the order of the log. */
async function startedIn(store: ThreadStore, id: string) {
  const entries = await store.read(id, { after: 1, limit: 1000 })
  return entries.map(({ event }) => (event.type === 'tool-start' ? event.callId : event.type))
}

/**
 * A group commit over a store that records, for each commit, how many events of which threads it
 * holds.
 */
async function setUp({
  flushMs = 0,
  retryForMs = 0,
  write,
}: {
  flushMs?: number
  retryForMs?: number
  write?: Append
} = {}) {
  const store = memoryStore()
  onTestFinished(() => store.close())
  const commits: Record<string, number>[] = []
  const append: ThreadStore['append'] = (batches) => {
    commits.push(Object.fromEntries(batches.map(({ lease, events }) => [lease.threadId, events.length])))
    return write ? write(batches, store.append) : store.append(batches)
  }
  const { open } = groupCommit({ store: { ...store, append }, flushMs, retryForMs })
  const lost: unknown[] = []
  const writer = async (id: string) => {
    await store.create({ id, agent: 'a' })
    await store.signal(id, crypto.randomUUID(), {
      type: 'input',
      message: { role: 'user', content: 'Hi.' },
      mode: 'queue',
    })
    const claim = await store.claim(id, 'me', 60_000)
    const end = deltaBuffer(() => {})
    let head = 0
    const writer = open((claim as { lease: Lease }).lease, {
      buffer: end,
      onWritten: (entries) => {
        head = entries.at(-1)?.seq ?? head
      },
      onLost: (why) => lost.push(why),
    })
    return {
      push(event: RunEvent) {
        end.push(event)
        writer.appended(event.type)
      },
      commit: () => writer.commit().then(() => head),
      free: writer.free,
    }
  }
  return { store, commits, writer, lost }
}

test('a burst of events is split into several commits, and other threads do not wait for all of it', async () => {
  const { commits, writer } = await setUp()
  const [large, small] = [await writer('large'), await writer('small')]
  for (let number = 1; number <= 1000; number++) large.push(started(number))
  const half = large.commit()
  for (let number = 1001; number <= 1500; number++) large.push(started(number))
  small.push(started(1))
  expect(await small.commit()).toBe(2)
  expect(commits).toEqual([{ large: 128, small: 1 }])
  // commit() resolves when everything up to its call is durable.
  expect(await half).toBe(1153)
  expect(await large.commit()).toBe(1501)
})

test.each([
  [1, 20.2],
  [50, 30],
  [1000, 50],
])('with %d threads, text waits %d ms for the next commit', async (threads, waitMs) => {
  const { commits, writer } = await setUp({ flushMs: 20 })
  const writers = await Promise.all(Array.from({ length: threads }, (_, index) => writer(`${index}`)))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const say = () => {
    for (const { push } of writers) push({ type: 'text', text: 'word ' })
  }
  say()
  await vi.advanceTimersByTimeAsync(0)
  expect(commits.length).toBe(1)
  say()
  await vi.advanceTimersByTimeAsync(waitMs - 1)
  expect(commits.length).toBe(1)
  await vi.advanceTimersByTimeAsync(2)
  expect(commits.length).toBe(2)
})

test('each commit takes one large event, along with the small ones of other threads', async () => {
  const { commits, writer } = await setUp()
  const [first, second, small] = [await writer('first'), await writer('second'), await writer('small')]
  for (const large of [first, second])
    for (const data of ['x'.repeat(3_000_000), 'y']) large.push({ type: 'tool-progress', callId: 'c', data })
  small.push(started(1))
  await Promise.all([first.commit(), second.commit(), small.commit()])
  expect(commits).toEqual([{ first: 2, small: 1 }, { second: 2 }])
})

test('a thread that is busy does not delay the others, and is written when it no longer is', async () => {
  let isBusy = true
  const { store, commits, writer, lost } = await setUp({
    retryForMs: 60_000,
    async write(batches, append) {
      const isStuck = ({ lease }: Batch) => isBusy && lease.threadId === 'stuck'
      const written = await append(batches.filter((batch) => !isStuck(batch)))
      const results = written.values()
      return batches.map((batch) => (isStuck(batch) ? 'busy' : (results.next().value ?? 'fenced')))
    },
  })
  const [stuck, free] = [await writer('stuck'), await writer('free')]
  stuck.push(started(1))
  const waiting = stuck.commit()
  for (let number = 1; number <= 3; number++) {
    free.push(started(number))
    expect(await free.commit()).toBe(number + 1)
  }
  stuck.push(started(2))
  await expect.poll(() => commits.filter((commit) => 'stuck' in commit).length).toBeGreaterThan(3)
  expect((await store.get('stuck'))?.head).toBe(1)
  isBusy = false
  expect(await waiting).toBeGreaterThan(1)
  expect(await stuck.commit()).toBe(3)
  expect(await startedIn(store, 'stuck')).toEqual(['c1', 'c2'])
  expect(lost).toEqual([])
})

test('a thread that stays busy is given up in the end', async () => {
  const { writer, lost } = await setUp({ write: async (batches) => batches.map(() => 'busy') })
  const stuck = await writer('stuck')
  stuck.push(started(1))
  await stuck.commit()
  expect(lost).toMatchObject([
    { code: 'store_error', message: "thread 'stuck' could not be written: another write to it did not end" },
  ])
})

test('a batch whose acknowledgement was lost is repeated unchanged, before newer events', async () => {
  const batches: (readonly [number, number])[] = []
  let losses = 2
  const { store, writer, lost } = await setUp({
    retryForMs: 60_000,
    async write(given, append) {
      for (const { number, events } of given) batches.push([number, events.length])
      const results = await append(given)
      if (losses-- > 0) throw new Error('the connection was lost')
      return results
    },
  })
  const one = await writer('t')
  one.push(started(1))
  const first = one.commit()
  await expect.poll(() => batches.length).toBe(1)
  for (const number of [2, 3]) one.push(started(number))
  expect(await first).toBe(2)
  expect(await one.commit()).toBe(4)
  expect(batches.slice(0, 4)).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [2, 2],
  ])
  expect(await startedIn(store, 't')).toEqual(['c1', 'c2', 'c3'])
  expect(lost).toEqual([])
})

test('a hold ends in the commit that writes what was appended before', async () => {
  const written: unknown[] = []
  const { writer } = await setUp({
    write(batches, append) {
      written.push(...batches.map(({ events, freed }) => [events.length, freed]))
      return append(batches)
    },
  })
  const one = await writer('one')
  one.push(started(1))
  one.push(started(2))
  one.free('hold')
  await one.commit()
  expect(written).toEqual([[2, ['hold']]])
})

test('a batch that only ends a hold is repeated, and later events follow it', async () => {
  let failures = 1
  const freed: unknown[] = []
  const { writer } = await setUp({
    retryForMs: 60_000,
    async write(batches, append) {
      if (failures-- > 0) {
        one.push(started(1))
        return batches.map(() => 'busy' as const)
      }
      freed.push(...batches.map((batch) => batch.freed))
      return append(batches)
    },
  })
  const one = await writer('one')
  one.free('hold')
  await expect.poll(() => freed).toEqual([['hold'], undefined])
  expect(await one.commit()).toBe(2)
})
