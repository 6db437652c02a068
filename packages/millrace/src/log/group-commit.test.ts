import { expect, test } from 'vitest'
import type { RunEvent } from '../protocol/index.ts'
import { deltaBuffer } from './delta-buffer.ts'
import { groupCommit } from './group-commit.ts'
import { memoryStore } from './memory.ts'
import type { Lease, ThreadStore } from './store.ts'

const started = (number: number): RunEvent => {
  return { type: 'tool-start', callId: `c${number}`, name: 'look', attempt: 1 }
}

/**
 * A group commit over a store that records, for each commit, how many events of which threads it
 * holds.
 */
async function setUp() {
  const store = memoryStore()
  const commits: Record<string, number>[] = []
  const append: ThreadStore['append'] = (batches) => {
    commits.push(Object.fromEntries(batches.map(({ lease, events }) => [lease.threadId, events.length])))
    return store.append(batches)
  }
  const { open } = groupCommit({ store: { ...store, append }, flushMs: 0, retryForMs: 0 })
  const writer = async (id: string) => {
    await store.create({ id, agent: 'a' })
    await store.signal(id, undefined, {
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
      onLost() {},
    })
    return {
      push(event: RunEvent) {
        end.push(event)
        writer.appended(event.type)
      },
      commit: () => writer.commit().then(() => head),
    }
  }
  return { commits, writer }
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

test('each commit takes one large event, along with the small ones of other threads', async () => {
  const { commits, writer } = await setUp()
  const [first, second, small] = [await writer('first'), await writer('second'), await writer('small')]
  for (const large of [first, second])
    for (const data of ['x'.repeat(3_000_000), 'y']) large.push({ type: 'tool-progress', callId: 'c', data })
  small.push(started(1))
  await Promise.all([first.commit(), second.commit(), small.commit()])
  expect(commits).toEqual([{ first: 2, small: 1 }, { second: 2 }])
})
