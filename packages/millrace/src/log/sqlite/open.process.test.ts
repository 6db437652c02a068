import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { canMount, expectIntact, other, temporaryFolder } from './sqlite.test-kit.ts'

const folder = temporaryFolder()

/** Opening fails with that sentence, and everything in the file is as it was. */
function refuses(path: string, message: RegExp) {
  const before = readFileSync(path)
  expect(() => sqliteStore(path)).toThrow(
    expect.objectContaining({ code: 'store_error', message: expect.stringMatching(message) }),
  )
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(readdirSync(join(path, '..')).filter((name) => /-(wal|shm|journal)$/.test(name))).toEqual([])
}

/** The path of a file in a folder of its own. */
function place(name: string): string {
  mkdirSync(join(folder, name))
  return join(folder, name, 'threads.db')
}

describe('sqliteStore', () => {
  it('makes a file, and the folders above it', async () => {
    const path = join(folder, 'a/b/c/threads.db')
    const store = sqliteStore(path)
    await store.create({ id: 't', agent: 'a' })
    await store.close()
    const again = sqliteStore(relative(process.cwd(), path))
    expect(await again.get('t')).toMatchObject({ id: 't' })
    await again.close()
    const byUrl = sqliteStore(pathToFileURL(path))
    expect(await byUrl.get('t')).toMatchObject({ id: 't' })
    await byUrl.close()
    expect(readdirSync(join(folder, 'a/b/c'))).toEqual(['threads.db'])
    expectIntact(path)
  })

  it('takes an empty file, and any name', async () => {
    const path = join(folder, 'file:odd name?mode=ro&x=%41#é.db')
    writeFileSync(path, '')
    const store = sqliteStore(path)
    expect(await store.create({ id: 't', agent: 'a' })).toBe(true)
    await store.close()
    expect(statSync(path).size).toBeGreaterThan(0)
  })

  it('keeps every commit on the disk before it tells of it', async () => {
    const store = sqliteStore(place('pragmas'))
    const { openDatabase } = await import('./open.ts')
    const database = openDatabase(join(folder, 'pragmas/threads.db'), { allowNetworkFilesystem: false })
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    database.close()
    await store.close()
  })

  it.each<[what: string, path: unknown, message: RegExp]>([
    ['nothing', undefined, /must be that of a file, such as 'data\/threads.db', not undefined/],
    ['an empty path', '', /not empty/],
    ['a number', 7, /not a number/],
    ['a path that no file can have', 'a\0b', /must be that of a file/],
    ['memory', ':memory:', /there is memoryStore\(\)/],
    ['a web address', new URL('http://localhost/x.db'), /must be a file, not http:/],
  ])('refuses %s', (_, path, message) => {
    expect(() => sqliteStore(path as string)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(message) }),
    )
  })

  it('refuses an option that does not exist, and one that cannot be', () => {
    const path = join(folder, 'never.db')
    expect(() => sqliteStore(path, { busyMS: 1 } as never)).toThrow(
      /'busyMS' does not exist: did you mean 'busyMs'\?/,
    )
    expect(() => sqliteStore(path, { pollMs: 0 })).toThrow(/'pollMs' must be a positive number/)
    expect(() => sqliteStore(path, { now: 5 } as never)).toThrow(/'now' must be a function/)
    expect(readdirSync(folder)).not.toContain('never.db')
  })
})

describe('a file that is not ours', () => {
  it('is left alone if it is a folder', () => {
    expect(() => sqliteStore(folder)).toThrow(
      expect.objectContaining({
        code: 'store_error',
        message: expect.stringMatching(/is a folder: name a file in it/),
      }),
    )
  })

  it('is left alone if its folder is a file', () => {
    const path = join(place('below'), 'threads.db')
    writeFileSync(join(folder, 'below/threads.db'), 'text')
    expect(() => sqliteStore(path)).toThrow(
      expect.objectContaining({
        code: 'store_error',
        message: expect.stringMatching(/folder of .* cannot be made/),
      }),
    )
  })

  it.each([
    ['text', 'Dear diary,\n'.repeat(1000)],
    ['short', 'x'],
    ['zeros', '\0'.repeat(8192)],
  ])('is left alone if it is no database but %s', (name, content) => {
    const path = place(name)
    writeFileSync(path, content)
    refuses(path, /is not an SQLite database|is damaged/)
  })

  it.each([
    ['with tables', 'CREATE TABLE diary (day, entry)'],
    ['with an id', 'PRAGMA application_id = 42'],
    ['with a version', 'PRAGMA user_version = 3'],
    ['in WAL mode', 'PRAGMA journal_mode = WAL; CREATE TABLE threads (id)'],
  ])("is left alone if it is another program's, %s", (name, sql) => {
    const path = place(name)
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
    refuses(path, /is the database of another program: choose another path/)
  })

  it('is left alone if it is of a newer version', async () => {
    const path = place('newer')
    await sqliteStore(path).close()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA user_version = 5; CREATE TABLE something_new (x)')
    database.close()
    refuses(
      path,
      /was made by a newer millrace \(its version is 5, this package knows up to 4\): update millrace/,
    )
  })

  it.runIf(process.platform === 'linux')('is left alone if it is a device or a pipe', () => {
    expect(() => sqliteStore('/dev/null')).toThrow(/is no ordinary file/)
    const pipe = place('pipe')
    execFileSync('mkfifo', [pipe])
    expect(() => sqliteStore(pipe)).toThrow(/is no ordinary file/)
  })
})

describe.runIf(canMount)('a place that cannot be written to', () => {
  const readOnly = 'mount --bind "$FOLDER" "$FOLDER" && mount -o remount,ro,bind "$FOLDER" && exec "$@"'

  async function errorOf(path: string): Promise<unknown> {
    const process = other(['open', path], { before: readOnly.replaceAll('$FOLDER', join(path, '..')) })
    const { error } = await process.next()
    await process.ended()
    return error
  }

  it('is told of, where the file is there', async () => {
    const path = place('read-only')
    const store = sqliteStore(path)
    await store.create({ id: 't', agent: 'a' })
    await store.close()
    const before = readFileSync(path)
    expect(await errorOf(path)).toMatchObject({
      code: 'store_error',
      message: `'${path}' cannot be read and written to by this user: change its permissions, or choose another path`,
    })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('is told of, where it is not', async () => {
    const path = place('read-only-folder')
    expect(await errorOf(path)).toMatchObject({
      code: 'store_error',
      message: expect.stringMatching(/^the folder of .* cannot be read and written to/),
    })
    expect(readdirSync(join(path, '..'))).toEqual([])
  })
})
