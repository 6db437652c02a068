import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import type { ThreadEvent } from '../../protocol/index.ts'
import { sqliteStore } from '../sqlite.ts'
import { openDatabase } from './open.ts'
import { canMount, expectIntact, other, temporaryFolder, wholeLog } from './sqlite.test-kit.ts'
import { databaseStore } from './store.ts'

const folder = temporaryFolder()

function stop(reason: string): ThreadEvent {
  return { type: 'stop', reason }
}

function storeError(message: RegExp) {
  return { code: 'store_error', message: expect.stringMatching(message) }
}

/** A closed file with a thread of this many entries, a few kilobytes each. */
async function filledFile(name: string, entries = 100): Promise<string> {
  const path = join(folder, name)
  const store = sqliteStore(path)
  await store.create({ id: 't', agent: 'a' })
  await Promise.all(
    Array.from({ length: entries }, (_, index) =>
      store.signal('t', crypto.randomUUID(), stop(`${index} `.repeat(500))),
    ),
  )
  await store.close()
  return path
}

function overwrite(path: string, position: number, bytes: Uint8Array) {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, position)
  closeSync(file)
}

/** The pages with the entries of a closed file, in order, counted from 0. */
function pagesOfEntries(path: string): number[] {
  const database = new DatabaseSync(path)
  const sql =
    "SELECT pageno - 1 AS page FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf' ORDER BY path"
  const rows = database.prepare(sql).all() as { page: number }[]
  database.close()
  return rows.map(({ page }) => page)
}

/** Changes a closed file behind the store's back. */
function change(path: string, sql: string) {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

describe('a full disk', () => {
  it('fails only that write, and accepts writes again when there is space', async () => {
    const path = join(folder, 'pages.db')
    const database = openDatabase(path, { allowNetworkFilesystem: false })
    const store = databaseStore(database, { path, now: Date.now, busyMs: 1000, pollMs: 2 })
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', crypto.randomUUID(), stop('first'))
    database.exec('PRAGMA max_page_count = 40')
    const [small, large, last] = [
      store.signal('t', 'small', stop('small')),
      store.signal('t', 'large', stop('x'.repeat(500_000))),
      store.signal('t', 'last', stop('last')),
    ]
    // They shared a commit, and only one of them was too large.
    await expect(large).rejects.toMatchObject(
      storeError(/disk .* is full and nothing was written: free some space/),
    )
    expect((await small).entry.seq).toBe(2)
    expect((await last).entry.seq).toBe(3)
    expect(await wholeLog(store, 't')).toHaveLength(3)
    database.exec('PRAGMA max_page_count = 100000')
    expect(await store.signal('t', 'large', stop('x'.repeat(500_000)))).toMatchObject({
      entry: { seq: 4 },
      repeated: false,
    })
    await store.close()
    expectIntact(path)
  })

  it.runIf(canMount)('is reported correctly on a real disk', async () => {
    const disk = '/mnt'
    const before = `mount -t tmpfs -o size=1500k tmpfs ${disk} && head -c 700k /dev/zero > ${disk}/ballast && exec "$@"`
    const process = other(['fill', `${disk}/threads.db`, `${disk}/ballast`], { before })
    const { written, error } = await process.next()
    expect(written).toBeGreaterThan(0)
    expect(error).toMatchObject(
      storeError(/the disk with '\/mnt\/threads\.db' is full|reading or writing '\/mnt\/threads\.db' failed/),
    )
    expect(await process.next()).toEqual({ read: written })
    expect(await process.next()).toEqual({ read: Number(written) + 1, written: Number(written) + 1 })
    expect(await process.next()).toEqual({ intact: { integrity_check: 'ok' } })
    await process.ended()
  })
})

describe('a damaged file', () => {
  it('is reported on opening if its header was overwritten', async () => {
    const path = await filledFile('header.db')
    overwrite(path, 0, new Uint8Array(50).fill(7))
    expect(() => sqliteStore(path)).toThrow(
      expect.objectContaining(storeError(/is not an SQLite database, or its header/)),
    )
  })

  it('is reported if it was truncated', async () => {
    const path = await filledFile('short.db')
    truncateSync(path, statSync(path).size - 4096 * 30)
    let error: unknown
    try {
      const store = sqliteStore(path)
      error = await wholeLog(store, 't').catch((error: unknown) => error)
      await store.close()
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject(
      storeError(/is damaged .*restore it from a backup, or recover what is readable/),
    )
  })

  it('is reported when the damage is found, and is not written to after that', async () => {
    const path = await filledFile('middle.db')
    // Damages only some of the entries: everything else could still be written.
    for (const page of pagesOfEntries(path).slice(10, 20))
      overwrite(path, page * 4096, new Uint8Array(4096).fill(0xa5))
    const store = sqliteStore(path)
    await expect(wholeLog(store, 't')).rejects.toMatchObject(storeError(/is damaged .*\.recover/))
    // Some reads hit damage in SQLite's own structure, not only in the stored events.
    for (let after = 0; after < 100; after++) await store.read('t', { after, limit: 1 }).catch(() => {})
    const before = readFileSync(path)
    for (const call of [
      store.create({ id: 'new', agent: 'a' }),
      store.signal('t', crypto.randomUUID(), stop('more')),
    ])
      await expect(call).rejects.toMatchObject(storeError(/is damaged/))
    await store.close()
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('never returns a log with a gap', async () => {
    const path = await filledFile('gap.db', 20)
    change(path, 'DELETE FROM entries WHERE seq = 8')
    const store = sqliteStore(path)
    const missing = storeError(/is damaged \(entry 8 of thread 't' is missing\)/)
    await expect(wholeLog(store, 't')).rejects.toMatchObject(missing)
    await expect(store.read('t', { after: 7, limit: 1 })).rejects.toMatchObject(missing)
    await expect(store.packDeltas('t', 20)).rejects.toMatchObject(missing)
    expect(await store.read('t', { after: 8, limit: 3 })).toHaveLength(3)
    await store.close()
  })

  it('never returns a log without its end', async () => {
    const path = await filledFile('end.db', 20)
    change(path, 'DELETE FROM entries WHERE seq > 18')
    const store = sqliteStore(path)
    await expect(wholeLog(store, 't')).rejects.toMatchObject(storeError(/entry 19 of thread 't' is missing/))
    await store.close()
  })

  it('names the entry that is not valid JSON', async () => {
    const path = await filledFile('json.db', 20)
    change(path, `UPDATE entries SET event = '{"type":', sum = NULL WHERE seq = 5`)
    const store = sqliteStore(path)
    await expect(store.read('t', { after: 0, limit: 100 })).rejects.toMatchObject(
      storeError(/is damaged \(entry 5 of thread 't' is not valid JSON\)/),
    )
    await store.close()
  })

  it('names the entry that was changed, even if it is still valid JSON', async () => {
    const path = await filledFile('sum.db', 20)
    change(path, `UPDATE entries SET event = replace(event, '4 4 4', '4 5 4') WHERE seq = 5`)
    const store = sqliteStore(path)
    expect(await store.read('t', { after: 0, limit: 4 })).toHaveLength(4)
    await expect(store.read('t', { after: 0, limit: 100 })).rejects.toMatchObject(
      storeError(/is damaged \(entry 5 of thread 't' has a wrong checksum\)/),
    )
    await store.close()
    // Rows of older versions have no checksum until they are packed.
    change(path, 'UPDATE entries SET sum = NULL')
    const again = sqliteStore(path)
    expect(await again.read('t', { after: 0, limit: 100 })).toHaveLength(20)
    await again.close()
  })

  it('names the packed entry that was changed, in its text or its cuts', async () => {
    const path = join(folder, 'packed.db')
    const store = sqliteStore(path)
    await store.create({ id: 't', agent: 'a' })
    for (const text of 'abc') await store.signal('t', crypto.randomUUID(), { type: 'text', text })
    change(path, 'UPDATE entries SET sum = NULL')
    await store.packDeltas('t', 3)
    expect(await store.read('t', { after: 0, limit: 9 })).toMatchObject([{ event: { text: 'abc' } }])
    for (const [column, before, after] of [
      ['event', 'abc', 'abd'],
      ['cuts', '[1,', '[2,'],
    ]) {
      change(path, `UPDATE entries SET ${column} = replace(${column}, '${before}', '${after}')`)
      await expect(store.read('t', { after: 0, limit: 9 }), column).rejects.toMatchObject(
        storeError(/entry 3 of thread 't' has a wrong checksum/),
      )
      change(path, `UPDATE entries SET ${column} = replace(${column}, '${after}', '${before}')`)
    }
    await store.close()
  })

  it('reports missing tables', async () => {
    const path = await filledFile('tables.db', 1)
    change(path, 'DROP TABLE signals')
    expect(() => sqliteStore(path)).toThrow(
      expect.objectContaining(storeError(/tables\.db' cannot be used: no such table: signals/)),
    )
  })
})

describe('a file that changed after it was opened', () => {
  it('is reported if it was moved away, until it is back', async () => {
    const path = await filledFile('here.db', 3)
    const store = sqliteStore(path)
    renameSync(path, `${path}.away`)
    await expect(store.signal('t', crypto.randomUUID(), stop('lost?'))).rejects.toMatchObject(
      storeError(/here\.db' was moved, deleted or replaced while it was in use, and nothing was written/),
    )
    writeFileSync(path, '')
    await expect(store.create({ id: 'u', agent: 'a' })).rejects.toMatchObject(
      storeError(/was moved, deleted or replaced/),
    )
    renameSync(`${path}.away`, path)
    expect((await store.signal('t', crypto.randomUUID(), stop('back'))).entry.seq).toBe(4)
    await store.close()
    expectIntact(path)
  })

  it.each(['-wal', '-shm'])('is reported if its %s file was deleted or replaced', async (suffix) => {
    const path = await filledFile(`replaced${suffix}.db`, 3)
    const store = sqliteStore(path)
    await store.signal('t', crypto.randomUUID(), stop('kept?'))
    const lost = storeError(
      new RegExp(`${suffix}' was moved, deleted or replaced while it was in use, .* then reopen it`),
    )
    rmSync(`${path}${suffix}`)
    await expect(store.signal('t', crypto.randomUUID(), stop('lost'))).rejects.toMatchObject(lost)
    writeFileSync(`${path}${suffix}`, '')
    await expect(store.signal('t', crypto.randomUUID(), stop('lost'))).rejects.toMatchObject(lost)
    await store.close()
  })

  it('is reported if a file is lost during a commit', async () => {
    const path = join(folder, 'middle.db')
    const database = openDatabase(path, { allowNetworkFilesystem: false })
    const prepare = database.prepare.bind(database)
    database.prepare = (text) => {
      const statement = prepare(text)
      if (text === 'COMMIT') {
        const run = statement.run.bind(statement)
        statement.run = () => {
          if (isReady) rmSync(`${path}-wal`)
          return run()
        }
      }
      return statement
    }
    let isReady = false
    const store = databaseStore(database, { path, now: Date.now, busyMs: 1000, pollMs: 2 })
    await store.create({ id: 't', agent: 'a' })
    isReady = true
    await expect(
      Promise.allSettled([
        store.signal('t', crypto.randomUUID(), stop('one')),
        store.signal('t', crypto.randomUUID(), stop('two')),
      ]),
    ).resolves.toMatchObject([
      { reason: storeError(/-wal' was moved, deleted or replaced/) },
      { reason: storeError(/-wal' was moved, deleted or replaced/) },
    ])
    isReady = false
    await store.close()
  })

  it('is reported if an entry has a later protocol version', async () => {
    const path = await filledFile('later.db', 5)
    change(path, 'UPDATE entries SET version = 999 WHERE seq = 4')
    const store = sqliteStore(path)
    expect(await store.read('t', { after: 0, limit: 3 })).toHaveLength(3)
    const later = storeError(
      /entry 4 of thread 't' was written with protocol version 999, .*: update millrace/,
    )
    await expect(store.read('t', { after: 0, limit: 100 })).rejects.toMatchObject(later)
    await expect(store.packDeltas('t', 5)).rejects.toMatchObject(later)
    await store.close()
  })
})
