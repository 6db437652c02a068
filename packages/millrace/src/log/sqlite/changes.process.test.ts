import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { watchers } from '../watchers.ts'
import { changePoller } from './changes.ts'
import { openDatabase } from './open.ts'
import { temporaryFolder } from './sqlite.test-kit.ts'
import { prepareStatements } from './statements.ts'

const folder = temporaryFolder()
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

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
  const poller = changePoller(statements, { path, pollMs: 2, watchers: listeners })
  poller.start()
  expect(pollsIn(1000)).toBe(500)
  expect(pollsIn(500)).toBe(50)
  vi.advanceTimersByTime(20_000)
  expect(pollsIn(1000)).toBe(2)
  poll.mockClear()
  await other.create({ id: 't', agent: 'a' })
  // Without any time passing: the file is watched.
  while (poll.mock.calls.length === 0) await nextTurn()
  await vi.advanceTimersByTimeAsync(10)
  expect(changed).toEqual(['t'])
  expect(pollsIn(100)).toBe(50)
  vi.advanceTimersByTime(20_000)
  expect(pollsIn(1000)).toBe(2)
  poll.mockClear()
  database.exec("UPDATE threads SET title = 'mine'")
  poller.ownWrite()
  while (poll.mock.calls.length === 0) await nextTurn()
  expect(pollsIn(100)).toBe(10)
  poller.stop()
  await other.close()
  database.close()
})

it('a file that cannot be watched is polled every 50 ms', () => {
  const path = join(folder, 'unwatched.db')
  const database = openDatabase(path, { allowNetworkFilesystem: false })
  const statements = prepareStatements(database)
  const poll = vi.spyOn(statements.dataVersion, 'get')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const gone = join(folder, 'gone.db')
  const poller = changePoller(statements, { path: gone, pollMs: 2, watchers: watchers() })
  poller.start()
  vi.advanceTimersByTime(20_000)
  poll.mockClear()
  vi.advanceTimersByTime(1000)
  expect(poll.mock.calls.length).toBe(20)
  poller.stop()
  database.close()
})
