import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ThreadEvent } from '../../protocol/index.ts'
import { sqliteStore } from '../sqlite.ts'
import { commits, identitiesOf } from './commits.ts'
import { openDatabase } from './open.ts'
import { other, temporaryFolder, wholeLog } from './sqlite.test-kit.ts'
import { databaseStore } from './store.ts'

const folder = temporaryFolder()
const event: ThreadEvent = { type: 'stop', reason: '' }

/** A store that counts its commits. */
function countingStore(name: string, now = Date.now) {
  const path = join(folder, name)
  const database = openDatabase(path, { allowNetworkFilesystem: false })
  const prepare = database.prepare.bind(database)
  let commits = 0
  database.prepare = (text) => {
    const statement = prepare(text)
    if (text !== 'COMMIT') return statement
    const run = statement.run.bind(statement)
    statement.run = () => {
      commits++
      return run()
    }
    return statement
  }
  const store = databaseStore(database, { path, now, busyMs: 1000, pollMs: 2 })
  return { store, commits: () => commits }
}

describe('commits', () => {
  it('are shared by all concurrent requests', async () => {
    const { store, commits } = countingStore('shared.db')
    await store.create({ id: 't', agent: 'a' })
    const before = commits()
    const [written, missing] = await Promise.all([
      Promise.all(Array.from({ length: 50 }, () => store.signal('t', crypto.randomUUID(), event))),
      store.signal('missing', crypto.randomUUID(), event).catch((error: unknown) => error),
    ])
    expect(written.map(({ entry }) => entry.seq)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
    // One rejected job does not affect the others.
    expect(missing).toMatchObject({ code: 'not_found' })
    // A slow machine may need more than one commit.
    expect(commits() - before).toBeLessThan(25)
    await store.close()
  })

  it('are shared only by jobs that take a few milliseconds together', async () => {
    const slowly = () => {
      for (const end = performance.now() + 10; performance.now() < end; );
      return Date.now()
    }
    const { store, commits } = countingStore('slow.db', slowly)
    await store.create({ id: 't', agent: 'a' })
    const before = commits()
    await Promise.all(Array.from({ length: 5 }, () => store.signal('t', crypto.randomUUID(), event)))
    expect(commits() - before).toBe(5)
    await store.close()
  })

  it('leave time for everything else, even under constant writing', async () => {
    const { store } = countingStore('busy.db')
    await store.create({ id: 't', agent: 'a' })
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    while (turns < 5) await store.signal('t', crypto.randomUUID(), event)
    clearInterval(timer)
    await wholeLog(store, 't')
    await store.close()
  })

  it('in the background take turns with long work of others', async () => {
    const path = join(folder, 'background.db')
    const database = openDatabase(path, { allowNetworkFilesystem: false })
    const { writeLater, write, close } = commits(database, {
      path,
      busyMs: 1000,
      health: {},
      files: identitiesOf(path),
    })
    const done: string[] = []
    const work = async (name: string, slices: number) => {
      for (let slice = 0; slice < slices; slice++) await writeLater('test', () => done.push(name))
    }
    const long = work('long', 20)
    await Promise.all([work('short', 2), write('test', () => done.push('write'))])
    expect(done[0]).toBe('write')
    expect(done.filter((name) => name === 'long').length).toBeLessThan(5)
    await long
    await close()
    database.close()
  })

  it('fail alone for an event that cannot be serialized', async () => {
    const { store } = countingStore('circle.db')
    await store.create({ id: 't', agent: 'a' })
    const circle: Record<string, unknown> = { type: 'stop' }
    circle.reason = circle
    const [good, bad, better] = await Promise.allSettled([
      store.signal('t', 'good', event),
      store.signal('t', 'bad', circle as never),
      store.signal('t', 'better', event),
    ])
    expect([good.status, bad.status, better.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(bad).toMatchObject({ reason: { code: 'store_error', op: 'store.signal' } })
    expect(await wholeLog(store, 't')).toHaveLength(2)
    await store.close()
  })
})

describe('a process that watches', () => {
  it('exits when it has nothing else to do', async () => {
    const path = join(folder, 'watched.db')
    await sqliteStore(path).close()
    const watcher = other(['watch', path])
    expect(await watcher.next()).toEqual({ watching: true })
    await watcher.ended()
  })
})
