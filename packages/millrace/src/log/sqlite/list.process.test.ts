import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { temporaryFolder } from './sqlite.test-kit.ts'

const folder = temporaryFolder()

it('a deleted thread leaves no search text in the file', async () => {
  const path = join(folder, 'gone.db')
  const store = sqliteStore(path)
  await store.create({ id: 'gone', agent: 'a', label: { search: 'hunter2' } })
  await store.create({ id: 'stays', agent: 'a', label: { search: 'STAYS' } })
  await store.delete('gone')
  await store.close()
  const database = new DatabaseSync(path)
  expect(database.prepare('SELECT text FROM searches').all()).toEqual([{ text: 'STAYS' }])
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
