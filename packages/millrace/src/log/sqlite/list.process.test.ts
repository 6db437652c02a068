import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import type { ThreadPage } from '../../protocol/index.ts'
import { sqliteStore } from '../sqlite.ts'
import type { Lease, ThreadStore } from '../store.ts'
import { soon, temporaryFolder } from './sqlite.test-kit.ts'
import { databaseStore } from './store.ts'

const folder = temporaryFolder()

/** Makes threads rest with this text in each of their messages. */
async function saveTexts(store: ThreadStore, ids: readonly string[], messages: number, text: string) {
  const texts = Array.from({ length: messages }, (_, index) => ({ seq: index + 1, text, search: text }))
  for (const id of ids) {
    await store.signal(id, 'key', { type: 'stop', reason: '' })
    const lease = (await store.claim(id, 'worker', 5000))?.lease as Lease
    const facts = { nanos: 0, tools: ['look'], texts }
    expect(await store.release(lease, { head: 1, status: 'idle', facts })).toBe('released')
  }
}

it('a deleted thread leaves no search text in the file', async () => {
  const path = join(folder, 'gone.db')
  const store = sqliteStore(path)
  await store.create({ id: 'gone', agent: 'a', label: { search: 'hunter2' } })
  await store.create({ id: 'stays', agent: 'a', label: { search: 'STAYS' } })
  await saveTexts(store, ['gone'], 2, 'hunter3')
  await saveTexts(store, ['stays'], 1, 'stays')
  await store.delete('gone')
  const database = new DatabaseSync(path)
  await soon(() => database.prepare('SELECT n FROM threads').all().length === 1)
  await store.close()
  expect(database.prepare('SELECT text FROM searches').all()).toEqual([{ text: 'STAYS' }])
  expect(database.prepare('SELECT text FROM texts').all()).toEqual([{ text: 'stays' }])
  expect(database.prepare('SELECT name FROM tools').all()).toEqual([{ name: 'look' }])
  database.close()
})

it('a long search does not block other work', async () => {
  const store = sqliteStore(join(folder, 'long.db'))
  await Promise.all(
    Array.from({ length: 6500 }, (_, index) =>
      store.create({ id: `t${index}`, agent: 'a', label: { search: 'hay' } }),
    ),
  )
  let turns = 0
  let searching = true
  const turn = () => {
    turns++
    if (searching) setImmediate(turn)
  }
  setImmediate(turn)
  const { threads } = await store.list({ limit: 10, search: ['nothing'] })
  searching = false
  expect(threads).toEqual([])
  expect(turns).toBeGreaterThanOrEqual(3)
  await store.close()
})

it('a search in one long thread does not block other work', async () => {
  const store = sqliteStore(join(folder, 'long-thread.db'))
  await store.create({ id: 't', agent: 'a' })
  await saveTexts(store, ['t'], 2000, 'hay '.repeat(2000))
  let turns = 0
  let searching = true
  const turn = () => {
    turns++
    if (searching) setImmediate(turn)
  }
  setImmediate(turn)
  const { threads } = await store.list({ limit: 10, search: ['nothing'] })
  searching = false
  expect(threads).toEqual([])
  // There are 16 MB to search, of which four milliseconds are enough for a few at most.
  expect(turns).toBeGreaterThanOrEqual(2)
  await store.close()
})

it('a search is aborted when the store is closed', async () => {
  const store = sqliteStore(join(folder, 'closed.db'))
  await Promise.all(
    Array.from({ length: 2500 }, (_, index) =>
      store.create({ id: `t${index}`, agent: 'a', label: { search: 'hay' } }),
    ),
  )
  const search = store.list({ limit: 10, search: ['nothing'] })
  const outcome = search.catch((error: unknown) => error)
  await store.close()
  expect(await outcome).toMatchObject({ code: 'store_error', message: expect.stringMatching(/is closed/) })
})

it('a search that takes long returns what it has found, and where to continue', async () => {
  const path = join(folder, 'slow.db')
  const filled = sqliteStore(path)
  for (let index = 0; index < 40; index++)
    await filled.create({ id: `t${index}`, agent: 'a', label: { search: index % 9 ? 'hay' : 'needle' } })
  await filled.close()
  const database = new DatabaseSync(path)
  const store = databaseStore(database, { path, now: Date.now, busyMs: 1000, pollMs: 100, scanMs: 0 })
  for (const filter of [{ search: ['needle'] }, { since: 0 }]) {
    const all: string[] = []
    let [pages, cursor]: [number, string | undefined] = [0, undefined]
    do {
      const { threads, next }: ThreadPage = await store.list({ ...filter, limit: 100, cursor })
      all.push(...threads.map(({ id }) => id))
      pages++
      cursor = next
    } while (cursor !== undefined)
    const expected = Array.from({ length: 40 }, (_, index) => index).filter(
      (index) => 'since' in filter || index % 9 === 0,
    )
    expect(all).toEqual(expected.reverse().map((index) => `t${index}`))
    expect(pages).toBeGreaterThan(1)
  }
  await store.close()
})
