import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { canMount, expectIntact, other, temporaryFolder } from './sqlite.test-kit.ts'

const folder = temporaryFolder()

/** Opening fails with this message, and the file is unchanged. */
function expectRejected(path: string, message: RegExp) {
  const before = readFileSync(path)
  expect(() => sqliteStore(path)).toThrow(
    expect.objectContaining({ code: 'store_error', message: expect.stringMatching(message) }),
  )
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(readdirSync(join(path, '..')).filter((name) => /-(wal|shm|journal)$/.test(name))).toEqual([])
}

/** The path of a file in its own folder. */
function pathIn(name: string): string {
  mkdirSync(join(folder, name))
  return join(folder, name, 'threads.db')
}

describe('sqliteStore', () => {
  it('creates a file and the folders above it', async () => {
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

  it('accepts an empty file and any name', async () => {
    const path = join(folder, 'file:odd name?mode=ro&x=%41#é.db')
    writeFileSync(path, '')
    const store = sqliteStore(path)
    expect(await store.create({ id: 't', agent: 'a' })).toBe(true)
    await store.close()
    expect(statSync(path).size).toBeGreaterThan(0)
  })

  it('has every commit on disk before it resolves', async () => {
    const store = sqliteStore(pathIn('pragmas'))
    const { openDatabase } = await import('./open.ts')
    const database = openDatabase(join(folder, 'pragmas/threads.db'), { allowNetworkFilesystem: false })
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    database.close()
    await store.close()
  })

  it.each<[what: string, path: unknown, message: RegExp]>([
    ['nothing', undefined, /must name a file, such as 'data\/threads.db', not undefined/],
    ['an empty path', '', /not an empty string/],
    ['a number', 7, /not a number/],
    ['an invalid path', 'a\0b', /must name a file/],
    ['memory', ':memory:', /use memoryStore\(\)/],
    ['a web URL', new URL('http://localhost/x.db'), /must be a file: URL, not http:/],
  ])('rejects %s', (_, path, message) => {
    expect(() => sqliteStore(path as string)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(message) }),
    )
  })

  it('rejects unknown options and invalid values', () => {
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
    const path = join(pathIn('below'), 'threads.db')
    writeFileSync(join(folder, 'below/threads.db'), 'text')
    expect(() => sqliteStore(path)).toThrow(
      expect.objectContaining({
        code: 'store_error',
        message: expect.stringMatching(/cannot create the folder of/),
      }),
    )
  })

  it.each([
    ['text', 'Dear diary,\n'.repeat(1000)],
    ['short', 'x'],
    ['zeros', '\0'.repeat(8192)],
  ])('is left alone if it is not a database but %s', (name, content) => {
    const path = pathIn(name)
    writeFileSync(path, content)
    expectRejected(path, /is not an SQLite database|is damaged/)
  })

  it.each([
    ['with tables', 'CREATE TABLE diary (day, entry)'],
    ['with an id', 'PRAGMA application_id = 42'],
    ['with a version', 'PRAGMA user_version = 3'],
    ['in WAL mode', 'PRAGMA journal_mode = WAL; CREATE TABLE threads (id)'],
  ])('is left alone if it belongs to another program, %s', (name, sql) => {
    const path = pathIn(name)
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
    expectRejected(path, /is a database of another program: choose another path/)
  })

  it('is left alone if its version is newer', async () => {
    const path = pathIn('newer')
    await sqliteStore(path).close()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA user_version = 10; CREATE TABLE something_new (x)')
    database.close()
    expectRejected(
      path,
      /was created by a newer version of millrace \(it has schema 10, this package supports up to 9\): update millrace/,
    )
  })

  it.runIf(process.platform === 'linux')('is left alone if it is a device or a pipe', () => {
    expect(() => sqliteStore('/dev/null')).toThrow(/is not a regular file/)
    const pipe = pathIn('pipe')
    execFileSync('mkfifo', [pipe])
    expect(() => sqliteStore(pipe)).toThrow(/is not a regular file/)
  })
})

describe.runIf(canMount)('a read-only path', () => {
  const readOnly = 'mount --bind "$FOLDER" "$FOLDER" && mount -o remount,ro,bind "$FOLDER" && exec "$@"'

  async function errorOf(path: string): Promise<unknown> {
    const process = other(['open', path], { before: readOnly.replaceAll('$FOLDER', join(path, '..')) })
    const { error } = await process.next()
    await process.ended()
    return error
  }

  it('is reported if the file exists', async () => {
    const path = pathIn('read-only')
    const store = sqliteStore(path)
    await store.create({ id: 't', agent: 'a' })
    await store.close()
    const before = readFileSync(path)
    expect(await errorOf(path)).toMatchObject({
      code: 'store_error',
      message: `this user cannot read and write '${path}': change its permissions, or choose another path`,
    })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('is reported if the file does not exist', async () => {
    const path = pathIn('read-only-folder')
    expect(await errorOf(path)).toMatchObject({
      code: 'store_error',
      message: expect.stringMatching(/^this user cannot read and write the folder of/),
    })
    expect(readdirSync(join(path, '..'))).toEqual([])
  })
})
