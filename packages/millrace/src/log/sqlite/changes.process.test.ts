import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { changes } from './changes.ts'
import { openDatabase } from './open.ts'
import { temporaryFolder } from './sqlite.test-kit.ts'
import { prepareStatements } from './statements.ts'

const folder = temporaryFolder()

afterEach(() => {
  vi.useRealTimers()
})

it('a file is looked at less often while it is quiet, and often again once it changes', async () => {
  const path = join(folder, 'quiet.db')
  const database = openDatabase(path, { allowNetworkFilesystem: false })
  const other = sqliteStore(path)
  const statements = prepareStatements(database)
  const look = vi.spyOn(statements.dataVersion, 'get')
  const changed: string[] = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const looksIn = (ms: number) => {
    look.mockClear()
    vi.advanceTimersByTime(ms)
    return look.mock.calls.length
  }
  const watched = changes(statements, { pollMs: 2, onChange: (id) => changed.push(id) })
  watched.start()
  expect(looksIn(100)).toBe(50)
  vi.advanceTimersByTime(1000)
  expect(looksIn(1000)).toBe(100)
  vi.advanceTimersByTime(20_000)
  expect(looksIn(1000)).toBe(20)
  await other.create({ id: 't', agent: 'a' })
  vi.advanceTimersByTime(50)
  expect(changed).toEqual(['t'])
  expect(looksIn(100)).toBe(50)
  vi.advanceTimersByTime(20_000)
  watched.wrote()
  vi.advanceTimersByTime(50)
  expect(looksIn(100)).toBe(50)
  watched.stop()
  await other.close()
  database.close()
})
