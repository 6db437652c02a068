import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const write = (path: string, content: string) => kit.call('write_file', { path, content })
const text = (path: string) => readFileSync(join(kit.root, path), 'utf8')

test('a new file is created with its folders, and the result has counts', async () => {
  expect(await write('a/b/c.txt', 'one\ntwo ü\n')).toBe('Wrote 2 lines (11 bytes) to a/b/c.txt (new file).')
  expect(text('a/b/c.txt')).toBe('one\ntwo ü\n')
  expect(await write('a/b/c.txt', 'one')).toBe('Wrote 1 line (3 bytes) to a/b/c.txt (replaced).')
  expect(await write('a/b/c.txt', '')).toBe('Wrote 0 lines (0 bytes) to a/b/c.txt (replaced).')
  expect(readdirSync(join(kit.root, 'a/b'))).toEqual(['c.txt'])
})

test('a replaced file keeps its mode, a new one has the default', async () => {
  kit.put({ 'run.sh': '#!/bin/sh\n' })
  chmodSync(join(kit.root, 'run.sh'), 0o750)
  await write('run.sh', '#!/bin/sh\necho\n')
  expect(statSync(join(kit.root, 'run.sh')).mode & 0o7777).toBe(0o750)
  await write('new.sh', '')
  expect(statSync(join(kit.root, 'new.sh')).mode & 0o7777).toBe(0o666 & ~process.umask())
})

test('writing to a link changes its target', async () => {
  kit.put({ 'real.txt': 'old\n' })
  symlinkSync('real.txt', join(kit.root, 'link.txt'))
  symlinkSync('later/new.txt', join(kit.root, 'dangling.txt'))
  expect(await write('link.txt', 'new\n')).toBe('Wrote 1 line (4 bytes) to real.txt (replaced).')
  expect(text('real.txt')).toBe('new\n')
  expect(await write('dangling.txt', 'new\n')).toBe('Wrote 1 line (4 bytes) to later/new.txt (new file).')
})

test('folders are not overwritten', async () => {
  mkdirSync(join(kit.root, 'src'))
  expect(await write('src', '')).toBe("The tool failed: 'src' is a folder: pass the name of a file in it.")
  expect(await write('.', '')).toBe("The tool failed: '.' is a folder: pass the name of a file in it.")
  expect(await write('new/', '')).toBe("The tool failed: 'new/' is a folder: pass the name of a file.")
  kit.put({ 'a.txt': '' })
  expect(await write('a.txt/b.txt', '')).toMatch(/'a\.txt' is not a folder/)
})

test('a denied write creates no folder', async () => {
  const checkAccess = async () => 'only src may be written'
  expect(await kit.call('write_file', { path: 'a/b.txt', content: '' }, {}, { checkAccess })).toBe(
    "The tool failed: 'a/b.txt' may not be written: only src may be written.",
  )
  expect(readdirSync(kit.root)).toEqual([])
})

test('a failed write is explained without absolute paths, and leaves no files', async () => {
  mkdirSync(join(kit.root, 'busy.txt'))
  kit.put({ 'a.txt': 'old\n' })
  // A folder appears under the name just before the rename.
  const checkAccess = async () => {
    const { renameSync } = await import('node:fs')
    renameSync(join(kit.root, 'a.txt'), join(kit.root, 'away.txt'))
    renameSync(join(kit.root, 'busy.txt'), join(kit.root, 'a.txt'))
    return undefined
  }
  expect(await kit.call('write_file', { path: 'a.txt', content: 'new\n' }, {}, { checkAccess })).toBe(
    "The tool failed: 'a.txt' is a folder.",
  )
  expect(readdirSync(kit.root).sort()).toEqual(['a.txt', 'away.txt'])
})

test('many concurrent writes into missing folders all succeed', async () => {
  const said = await Promise.all(
    Array.from({ length: 20 }, (_, index) => write(`deep/er/${index % 10}.txt`, `${index}\n`)),
  )
  expect(said.filter((one) => !one.startsWith('Wrote'))).toEqual([])
  expect(readdirSync(join(kit.root, 'deep/er'))).toHaveLength(10)
})
