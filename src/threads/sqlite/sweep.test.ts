import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import type { ThreadStore } from '../store.ts'
import { expectIntact, other, soon, temporaryFolder } from './sqlite.test-kit.ts'

const folder = temporaryFolder()

/** A thread with rows in every table. */
async function fill(path: string, id: string, entries: number): Promise<ThreadStore> {
  const store = sqliteStore(path)
  await store.create({ id, agent: 'a', user: 'ada' })
  const said = { type: 'input', mode: 'queue', message: { role: 'user', content: 'hello' } } as const
  await Promise.all(Array.from({ length: 1500 }, (_, index) => store.signal(id, `key ${index}`, said)))
  const claim = await store.claim(id, 'w', 5000)
  const events = Array.from({ length: entries }, (_, index) => ({ type: 'text', text: `${index} ` }) as const)
  if (claim) await store.append([{ lease: claim.lease, events }])
  const database = new DatabaseSync(path)
  database.exec("INSERT INTO snapshots (thread, name, seq, text) SELECT n, '', 1, 'state' FROM threads")
  database.close()
  return store
}

const tables = ['threads', 'entries', 'signals', 'searches', 'snapshots']

function rowsIn(path: string): number {
  const database = new DatabaseSync(path)
  const count = database.prepare(
    `SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ')} AS count`,
  )
  const { count: rows } = count.get() as { count: number }
  database.close()
  return rows
}

it('a deleted thread is invisible at once, and its rows are removed in slices', async () => {
  const path = join(folder, 'slices.db')
  const store = await fill(path, 't', 5000)
  expect(await store.delete('t')).toBe(true)
  expect(rowsIn(path)).toBeGreaterThan(4000)
  expect(await store.delete('t')).toBe(false)
  expect(await store.get('t')).toBeUndefined()
  for (const search of [undefined, 'hello'])
    expect(await store.list({ limit: 9, user: 'ada', search })).toEqual({ threads: [] })
  await store.create({ id: 't', agent: 'b', user: 'ada' })
  expect(await store.read('t', { after: 0, limit: 9 })).toEqual([])
  expect((await store.signal('t', 'key 1', { type: 'stop', reason: '' })).entry.seq).toBe(1)
  // What is left: the new thread with its entry, its key and its search text.
  await soon(() => rowsIn(path) === 4)
  await store.close()
  expectIntact(path)
})

it('what a killed process has not removed yet, the next one removes', async () => {
  const path = join(folder, 'killed.db')
  await (await fill(path, 't', 20_000)).close()
  const child = other(['delete', path, 't'])
  expect(await child.next()).toEqual({ deleted: true })
  await child.kill()
  expect(rowsIn(path)).toBeGreaterThan(0)
  const stores = [sqliteStore(path), sqliteStore(path)]
  await soon(() => rowsIn(path) === 0)
  for (const store of stores) await store.close()
  expectIntact(path)
})

it('a fork that was given up is removed after a minute, and counts no more', async () => {
  const path = join(folder, 'fork.db')
  const store = await fill(path, 't', 5000)
  const before = rowsIn(path)
  const forking = store.fork('t', 6000, { id: 'f', agent: 'a', caller: 'bob' })
  await soon(() => rowsIn(path) > before + 1)
  const [result] = await Promise.allSettled([forking, store.close()])
  expect(result).toMatchObject({ reason: { code: 'store_error' } })
  const left = rowsIn(path)
  expect(left).toBeGreaterThan(before + 1)
  let time = Date.now()
  const soonAfter = sqliteStore(path, { now: () => time })
  expect((await soonAfter.usage('bob')).storedBytes).toBeGreaterThan(0)
  expect((await soonAfter.list({ limit: 9 })).threads.map(({ id }) => id)).toEqual(['t'])
  await soonAfter.close()
  expect(rowsIn(path)).toBe(left)
  time += 61_000
  const later = sqliteStore(path, { now: () => time })
  await soon(() => rowsIn(path) === before)
  expect((await later.usage('bob')).storedBytes).toBe(0)
  await later.close()
})
