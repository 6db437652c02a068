import assert from 'node:assert/strict'
import type { ListOptions } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, infoOf, leaseMs, ownedThread, rejectsWith, textDelta, userInput } from './context.ts'

async function idsOf(store: SuiteStore, options: Partial<ListOptions> = {}): Promise<string[]> {
  const { threads } = await store.list({ limit: 100, ...options })
  return threads.map(({ id }) => id)
}

async function createThreads(store: SuiteStore, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `t${index}`)
  for (const id of ids) await store.create({ id, agent: 'a' })
  return ids
}

export const listCases: Cases = {
  'threads are listed by their last change, the newest first': async ({ store, other, advance }) => {
    await createThreads(store, 3)
    assert.deepEqual(await idsOf(other), ['t2', 't1', 't0'])
    advance(5)
    await other.signal('t0', undefined, userInput('hello'))
    assert.deepEqual(await idsOf(store), ['t0', 't2', 't1'])
    const lease = await ownedThread(store, 'own')
    await store.signal('t1', undefined, userInput('hello'))
    await store.append([{ lease, events: [textDelta('x')] }])
    assert.deepEqual(await idsOf(other), ['own', 't1', 't0', 't2'])
    const [first] = (await store.list({ limit: 1 })).threads
    assert.deepEqual(first, await infoOf(store, 'own'))
  },

  'pages have no gaps, even if many threads change in the same millisecond': async ({ store }) => {
    const ids = await createThreads(store, 25)
    for (const limit of [1, 2, 5, 24, 25, 26]) {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const { threads, next } = await store.list({ limit, cursor })
        assert.ok(threads.length <= limit)
        seen.push(...threads.map(({ id }) => id))
        cursor = next
      } while (cursor !== undefined)
      assert.deepEqual(seen, ids.toReversed(), `with pages of ${limit}`)
    }
    assert.equal((await store.list({ limit: 25 })).next, undefined)
  },

  'no thread is listed twice while threads change between pages': async ({ store, other }) => {
    const ids = await createThreads(store, 30)
    const seen: string[] = []
    let cursor: string | undefined
    for (let page = 0; ; page++) {
      const { threads, next } = await store.list({ limit: 4, cursor })
      seen.push(...threads.map(({ id }) => id))
      if (next === undefined) break
      cursor = next
      await other.signal(seen[0] as string, undefined, userInput('seen already'))
      await other.signal(seen.at(-2) as string, undefined, userInput('seen just now'))
      await other.signal(`t${page + 1}`, undefined, userInput('not seen yet'))
      await other.create({ id: `new${page}`, agent: 'a' })
      await other.delete(seen.at(-1) as string)
    }
    assert.equal(new Set(seen).size, seen.length)
    assert.deepEqual(seen.filter((id) => ids.includes(id)).length, seen.length)
    // Threads that did not change before they were seen are all there.
    for (const id of ids.slice(10)) assert.ok(seen.includes(id), id)
  },

  'threads can be filtered by user, agent and status, combined and paged': async ({ store, advance }) => {
    for (const user of ['u', 'v'])
      for (const agent of ['a', 'b'])
        for (const status of ['idle', 'queued', 'running', 'waiting'])
          await store.create({ id: `${user}-${agent}-${status}`, agent, user })
    await store.create({ id: 'no-user', agent: 'a' })
    for (const id of await idsOf(store)) {
      const status = id.split('-')[2] ?? 'idle'
      if (status === 'idle') continue
      await store.signal(id, undefined, userInput('hello'))
      if (status === 'queued') continue
      const lease = await claimed(store, id, 'worker')
      if (status === 'waiting')
        assert.equal(await store.release(lease, { head: 1, status: 'waiting' }), 'released')
    }
    const matching = async (part: RegExp) => (await idsOf(store)).filter((id) => part.test(id))
    assert.deepEqual(await idsOf(store, { user: 'u' }), await matching(/^u/))
    assert.deepEqual(await idsOf(store, { agent: 'b' }), await matching(/-b-/))
    assert.deepEqual(await idsOf(store, { user: 'u', agent: 'b' }), await matching(/^u-b/))
    for (const status of ['queued', 'running', 'waiting'] as const) {
      assert.deepEqual(await idsOf(store, { status }), await matching(new RegExp(`${status}$`)))
      assert.deepEqual(
        await idsOf(store, { status, user: 'v' }),
        await matching(new RegExp(`^v.*${status}$`)),
      )
      assert.deepEqual(await idsOf(store, { status, user: 'v', agent: 'a' }), [`v-a-${status}`])
      const { threads, next } = await store.list({ limit: 3, status })
      const rest = await idsOf(store, { status, cursor: next })
      assert.deepEqual([...threads.map(({ id }) => id), ...rest], await idsOf(store, { status }))
      for (const thread of threads) assert.equal(thread.status, status)
    }
    assert.deepEqual(await idsOf(store, { status: 'idle', user: 'u' }), await matching(/^u.*idle$/))
    assert.ok((await idsOf(store, { status: 'idle' })).includes('no-user'))
    assert.deepEqual(await idsOf(store, { user: 'w' }), [])
    advance(leaseMs)
    assert.deepEqual(await idsOf(store, { status: 'running' }), [])
    assert.deepEqual(await idsOf(store, { status: 'queued' }), await matching(/queued$|running$/))
  },

  'a page of the list ends after a few hundred kilobytes, and the next continues there': async ({
    store,
  }) => {
    const ids = Array.from({ length: 40 }, (_, index) => `t${index}`)
    const metadata = { note: 'word', ['x'.repeat(16_000)]: null }
    for (const id of ids) await store.create({ id, agent: 'a', metadata, label: { search: 'word' } })
    for (const search of [undefined, ['word']]) {
      const seen: string[] = []
      let pages = 0
      let cursor: string | undefined
      do {
        const { threads, next } = await store.list({ limit: 100, cursor, search })
        assert.ok(threads.length > 0 && threads.length < 30, `${threads.length} threads`)
        seen.push(...threads.map(({ id }) => id))
        cursor = next
        pages++
      } while (cursor !== undefined)
      assert.deepEqual(seen, ids.toReversed())
      assert.ok(pages > 1)
    }
  },

  'an invalid cursor is rejected': async ({ store }) => {
    for (const cursor of ['x', '', '-1', '1; DROP TABLE threads', '9'.repeat(50)])
      await rejectsWith('invalid_input', store.list({ limit: 1, cursor }))
  },
}
