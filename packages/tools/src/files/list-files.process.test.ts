import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const list = (input: Record<string, unknown> = {}, options = {}) => kit.call('list_files', input, options)

test('names are sorted, with sizes, and folders end with a slash', async () => {
  kit.put({ 'b.txt': 'x'.repeat(2000), 'a/deep/er.txt': 'x', '.env': '', 'Z.txt': 'xx' })
  expect(await list()).toBe('.env (0 bytes)\nZ.txt (2 bytes)\na/\nb.txt (2 KiB)')
  expect(await list({ path: 'a', depth: 2 })).toBe('deep/\ndeep/er.txt (1 byte)')
  expect(await list({ depth: 3 })).toContain('a/\na/deep/\na/deep/er.txt (1 byte)\nb.txt')
})

test('links show their target if it is inside, and are not followed', async () => {
  kit.put({ 'src/a.txt': '' })
  const links = {
    file: 'src/a.txt',
    folder: 'src',
    absolute: join(kit.root, 'src'),
    out: '../outside',
    gone: 'nope',
    self: 'self',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(kit.root, name))
  execFileSync('mkfifo', [join(kit.root, 'pipe')])
  expect((await list({ depth: 2 })).split('\n')).toEqual([
    'absolute -> src/',
    'file -> src/a.txt',
    'folder -> src/',
    'gone -> nope (missing)',
    'out -> (outside the workspace, or broken)',
    'pipe (not a regular file)',
    'self -> (outside the workspace, or broken)',
    'src/',
    'src/a.txt (0 bytes)',
  ])
})

test('ignored files are skipped, unless named', async () => {
  kit.put({
    '.git/config': '',
    'node_modules/x/i.js': '',
    'dist/a.js': '',
    'src/a.min.js': '',
    'src/a.js': '',
  })
  const options = { ignore: ['dist/**', '*.min.js'] }
  expect(await list({ depth: 3 }, options)).toBe('src/\nsrc/a.js (0 bytes)')
  expect(await list({ path: 'dist' }, options)).toBe('a.js (0 bytes)')
  expect(await list({ path: 'node_modules/x' })).toBe('i.js (0 bytes)')
  expect(await list({ path: '.git' })).toBe('config (0 bytes)')
})

test('a long list is cut, with a note', async () => {
  kit.put(Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`d/${index}.txt`, ''])))
  const said = await list({ depth: 2 }, { maxResults: 5 })
  expect(said.split('\n')).toHaveLength(6)
  expect(said).toMatch(/\n\[first 5 entries: pass a deeper path or a smaller depth\]$/)
})

test('an empty folder, and paths that are not folders', async () => {
  expect(await list()).toBe("[nothing to show in '.']")
  kit.put({ 'a.txt': '' })
  expect(await list({ path: 'a.txt' })).toBe(
    "The tool failed: 'a.txt' is a file, not a folder: read_file shows it.",
  )
  expect(await list({ path: 'b' })).toMatch(/^The tool failed: There is no folder 'b' in the workspace/)
  expect(await list({ depth: 0 })).toMatch(/^Not run/)
})

test('a folder that the rules deny is not listed', async () => {
  kit.put({ 'secrets/a.txt': '' })
  symlinkSync('secrets', join(kit.root, 'harmless'))
  const checkAccess = async ({ path }: { path?: string }) =>
    path === 'secrets' ? 'a rule says so' : undefined
  expect(await kit.call('list_files', { path: 'harmless' }, {}, { checkAccess: checkAccess as never })).toBe(
    "The tool failed: 'secrets' may not be read: a rule says so.",
  )
})
