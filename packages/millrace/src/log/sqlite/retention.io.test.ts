import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { temporaryFolder } from './sqlite.test-kit.ts'
import { makeVersion3 } from './version-3.test-kit.ts'

const folder = temporaryFolder()

test('a thread of an older file counts as changed when it was last written, or forked', async () => {
  const path = join(folder, 'older.db')
  const database = makeVersion3(path, [{ id: 'written' }, { id: 'forked' }])
  const set = database.prepare('UPDATE threads SET created_at = ?, updated_at = ?, due = NULL WHERE id = ?')
  set.run(1000, 5000, 'written')
  // A fork has the time of the entry at which it was forked.
  set.run(6000, 2000, 'forked')
  database.close()
  let time = 6000
  const store = sqliteStore(path, { now: () => time })
  onTestFinished(() => store.close())
  expect(await store.findUnchanged(1000, 10)).toEqual(['written'])
  time = 7000
  expect(await store.findUnchanged(1000, 10)).toEqual(['written', 'forked'])
  expect(await store.reserve({ name: 'model', perMinute: 60, burst: 1 }, 3)).toBe(2000)
})
