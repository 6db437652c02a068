import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import type { ThreadStore } from '../store.ts'
import { expectIntact, other, soon, temporaryFolder, wholeLog } from './sqlite.test-kit.ts'
import { prepareStatements } from './statements.ts'

const folder = temporaryFolder()

/** A thread with rows in every table. */
async function fill(path: string, id: string, entries: number): Promise<ThreadStore> {
  const texts = Array.from({ length: 700 }, (_, index) => ({
    seq: index * 10 + 1,
    text: 'x'.repeat(500),
    search: 'X'.repeat(500),
  }))
  const store = sqliteStore(path)
  await store.create({ id, agent: 'a', user: 'ada', label: { title: 'Hello', search: 'hello' } })
  const input = { type: 'input', mode: 'queue', message: { role: 'user', content: 'hello' } } as const
  await Promise.all(Array.from({ length: 1500 }, (_, index) => store.signal(id, `key ${index}`, input)))
  const claim = await store.claim(id, 'w', 5000)
  const events = Array.from({ length: entries }, (_, index) => ({ type: 'text', text: `${index} ` }) as const)
  if (claim) await store.append([{ lease: claim.lease, number: 1, events }])
  const limits = [{ scope: 'agent', name: 'a', limits: {} }] as const
  if (claim) await store.hold(claim.lease, { id: 'h', least: {}, most: {}, limits })
  if (claim) await store.saveFacts(claim.lease, { nanos: 1, tools: ['look'], texts })
  const database = new DatabaseSync(path)
  database.exec(
    "INSERT INTO snapshots (thread, name, seq, text) SELECT n, 'head/0000000001', 1, 'state' FROM threads",
  )
  database.close()
  return store
}

const tables = ['threads', 'tail', 'entries', 'signals', 'searches', 'snapshots', 'holds', 'texts', 'tools']

function rowsIn(path: string): number {
  const database = new DatabaseSync(path)
  const count = database.prepare(
    `SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ')} AS count`,
  )
  const { count: rows } = count.get() as { count: number }
  database.close()
  return rows
}

function countOf(path: string, table: string): number {
  const database = new DatabaseSync(path)
  const { count } = database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }
  database.close()
  return count
}

/** Whether nothing more can be removed. */
function isSwept(path: string): boolean {
  const database = new DatabaseSync(path)
  const found = prepareStatements(database).findHidden.get()
  database.close()
  return found === undefined
}

/** The largest number of any entry in the file. */
function lastEntry(path: string): number {
  const database = new DatabaseSync(path)
  const { last } = database.prepare('SELECT max(seq) AS last FROM entries').get() as { last: number }
  database.close()
  return last
}

it('a deleted thread is hidden right away, and its rows are removed in slices', async () => {
  const path = join(folder, 'slices.db')
  const store = await fill(path, 't', 5000)
  expect(await store.delete('t')).toBe(true)
  expect(rowsIn(path)).toBeGreaterThan(4000)
  expect(await store.delete('t')).toBe(false)
  expect(await store.get('t')).toBeUndefined()
  for (const search of [undefined, ['hello']])
    expect(await store.list({ limit: 9, user: 'ada', search })).toEqual({ threads: [] })
  await store.create({ id: 't', agent: 'b', user: 'ada', label: { search: 'hallo' } })
  expect(await store.read('t', { after: 0, limit: 9 })).toEqual([])
  expect((await store.signal('t', 'key 1', { type: 'stop', reason: '' })).entry.seq).toBe(1)
  // What remains is the new thread with its entry, its key and its search text.
  await soon(() => rowsIn(path) === 4)
  await store.close()
  expectIntact(path)
})

it('what a killed process did not remove, the next one removes', async () => {
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

it('only what forks share of a deleted thread is kept, until the last of them is deleted', async () => {
  const path = join(folder, 'forks.db')
  const store = await fill(path, 't', 6000)
  await store.packDeltas('t', 7500)
  await store.fork('t', 6000, { id: 'f', agent: 'a' })
  await store.fork('f', 1510, { id: 'g', agent: 'a' })
  await store.fork('f', 6000, { id: 'h', agent: 'a' })
  const logs = { f: await wholeLog(store, 'f'), g: await wholeLog(store, 'g') }
  await store.delete('t')
  // Removes the entries after the last fork point, and the keys.
  await soon(() => isSwept(path))
  expect(countOf(path, 'signals')).toBe(0)
  expect(lastEntry(path)).toBeLessThan(7000)
  // Those up to the last number that a fork shares.
  expect(countOf(path, 'texts')).toBe(600)
  expect(lastEntry(path)).toBeGreaterThanOrEqual(6000)
  expect(await wholeLog(store, 'f')).toEqual(logs.f)
  await store.delete('f')
  await soon(() => countOf(path, 'threads') === 3 && isSwept(path))
  expect(lastEntry(path)).toBeGreaterThanOrEqual(6000)
  await store.delete('h')
  await soon(() => countOf(path, 'threads') === 2 && isSwept(path))
  expect(lastEntry(path)).toBeLessThan(3000)
  expect(countOf(path, 'texts')).toBe(151)
  expect(await wholeLog(store, 'g')).toEqual(logs.g)
  await store.delete('g')
  await soon(() => rowsIn(path) === 0)
  await store.close()
  expectIntact(path)
})

it('deleted threads that forks still need are not scanned again and again', async () => {
  const path = join(folder, 'kept.db')
  const store = sqliteStore(path)
  for (let index = 0; index < 20; index++) {
    await store.create({ id: `t${index}`, agent: 'a' })
    await store.signal(`t${index}`, crypto.randomUUID(), { type: 'stop', reason: '' })
    await store.fork(`t${index}`, 1, { id: `f${index}`, agent: 'a' })
    await store.delete(`t${index}`)
  }
  await soon(() => isSwept(path))
  expect(countOf(path, 'threads')).toBe(40)
  for (let index = 0; index < 20; index++) await store.delete(`f${index}`)
  await soon(() => rowsIn(path) === 0)
  await store.close()
})
