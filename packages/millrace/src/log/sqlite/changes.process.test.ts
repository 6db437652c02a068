import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { watchers } from '../watchers.ts'
import { changePoller } from './changes.ts'
import { openDatabase } from './open.ts'
import { temporaryFolder } from './sqlite.test-kit.ts'
import { prepareStatements } from './statements.ts'

const folder = temporaryFolder()

afterEach(() => {
  vi.useRealTimers()
})

it('a file is polled less often while it is quiet, and often again after a change', async () => {
  const path = join(folder, 'quiet.db')
  const database = openDatabase(path, { allowNetworkFilesystem: false })
  const other = sqliteStore(path)
  const statements = prepareStatements(database)
  const poll = vi.spyOn(statements.dataVersion, 'get')
  const changed: string[] = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const pollsIn = (ms: number) => {
    poll.mockClear()
    vi.advanceTimersByTime(ms)
    return poll.mock.calls.length
  }
  const listeners = watchers()
  listeners.open({ changed: (id) => changed.push(id) }).follow('t')
  const poller = changePoller(statements, { pollMs: 2, watchers: listeners })
  poller.start()
  expect(pollsIn(100)).toBe(50)
  vi.advanceTimersByTime(1000)
  expect(pollsIn(1000)).toBe(100)
  vi.advanceTimersByTime(20_000)
  expect(pollsIn(1000)).toBe(20)
  await other.create({ id: 't', agent: 'a' })
  await vi.advanceTimersByTimeAsync(50)
  expect(changed).toEqual(['t'])
  expect(pollsIn(100)).toBe(50)
  vi.advanceTimersByTime(20_000)
  poller.ownWrite()
  vi.advanceTimersByTime(50)
  expect(pollsIn(100)).toBe(50)
  poller.stop()
  await other.close()
  database.close()
})
