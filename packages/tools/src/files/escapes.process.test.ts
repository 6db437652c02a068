import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'

const secret = 'SECRET-7'
let kit: ReturnType<typeof filesKit>

beforeEach(() => {
  kit = filesKit()
  const { root, outside } = kit
  kit.put({ 'a.txt': 'inside\n', 'src/b.txt': 'inside\n' })
  writeFileSync(join(outside, 'secret.txt'), `${secret}\n`)
  mkdirSync(join(outside, 'folder'))
  writeFileSync(join(outside, 'folder', 'hidden-name.txt'), `${secret}\n`)
  mkdirSync(`${root}-evil`)
  writeFileSync(`${root}-evil/secret.txt`, `${secret}\n`)
  const links = {
    'out-file': '../outside/secret.txt',
    'out-file-absolute': join(outside, 'secret.txt'),
    'out-folder': '../outside',
    'out-folder-absolute': outside,
    chain: 'chain-2',
    'chain-2': 'src/chain-3',
    'src/chain-3': '../out-file',
    'chain-folder': 'src/../out-folder',
    loop: 'loop-2',
    'loop-2': 'loop',
    self: 'self',
    'src/up': '../..',
    'to-src': 'src',
    etc: '/etc',
    process: '/proc/self/root',
    'process-cwd': '/proc/self/cwd',
    zero: '/dev/zero',
    dangling: '../outside/new.txt',
    'dangling-folder': '../outside/new-folder',
    sibling: `${root}-evil/secret.txt`,
    'sibling-folder': `${root}-evil`,
    root: '/',
  }
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(root, path))
  execFileSync('mkfifo', [join(root, 'pipe')])
})
afterEach(() => kit.remove())

/** Paths that every tool rejects. */
const rejected: Record<string, () => string> = {
  'the folder above': () => '..',
  'the folder above, with a slash': () => '../',
  'a file above': () => '../outside/secret.txt',
  'up from a folder': () => 'src/../../outside/secret.txt',
  'up with dots in between': () => 'src/./.././../outside/secret.txt',
  'up very often': () => `${'../'.repeat(500)}etc/passwd`,
  'up through a missing folder': () => 'nope/../../outside/secret.txt',
  'up through a file': () => 'a.txt/../../outside/secret.txt',
  'an absolute path': () => '/etc/passwd',
  'an absolute path with two slashes': () => '//etc/passwd',
  'the root of the machine': () => '/',
  'the absolute path of the secret': () => join(kit.outside, 'secret.txt'),
  'an absolute path that goes up again': () => `${kit.root}/../outside/secret.txt`,
  'the same with slashes doubled': () => `${kit.root}//..//outside//secret.txt`,
  'a folder whose name starts like the workspace': () => `${kit.root}-evil/secret.txt`,
  'the workspace in capitals': () => `${kit.root.toUpperCase()}/a.txt`,
  'the process by /proc': () => '/proc/self/environ',
  'the working directory by /proc': () => '/proc/self/cwd/package.json',
  'the root by /proc': () => '/proc/self/root/etc/passwd',
  'an open file by /proc': () => '/proc/self/fd/0',
  'a device': () => '/dev/zero',
  'standard input': () => '/dev/stdin',
  'an open file by /dev': () => '/dev/fd/0',
  backslashes: () => '..\\outside\\secret.txt',
  'backslashes from a folder': () => 'src\\..\\..\\outside\\secret.txt',
  'a NUL byte at the end': () => 'a.txt\0',
  'a NUL byte before another ending': () => '../outside/secret.txt\0.png',
  'a line break': () => '..\n/outside/secret.txt',
  'an escape sequence': () => 'a\x1b[2J.txt',
  'the home folder': () => '~',
  'a file in the home folder': () => '~/secret.txt',
  'a name that is too long': () => 'x'.repeat(5000),
  'a path that is too long': () => `${'a/'.repeat(3000)}x`,
  'nothing at all': () => '',
  'a link to a file outside': () => 'out-file',
  'a link to a file outside by its absolute path': () => 'out-file-absolute',
  'a link to a folder outside': () => 'out-folder',
  'a file through a link to a folder outside': () => 'out-folder/secret.txt',
  'a deeper file through it': () => 'out-folder/folder/hidden-name.txt',
  'a new file through it': () => 'out-folder/new.txt',
  'a file through a link to a folder outside by its absolute path': () => 'out-folder-absolute/secret.txt',
  'out by a link and in again': () => 'out-folder/../outside/secret.txt',
  'a link to a link to a link': () => 'chain',
  'a link with a path in it': () => 'chain-folder/secret.txt',
  'links in a circle': () => 'loop',
  'a link to itself': () => 'self',
  'a file below a link to itself': () => 'self/a.txt',
  'a link that goes up': () => 'src/up/outside/secret.txt',
  'up from the target of a link': () => 'to-src/../../outside/secret.txt',
  'a link to /etc': () => 'etc/passwd',
  'a link to the root by /proc': () => 'process/etc/passwd',
  'a link to the working directory by /proc': () => 'process-cwd/package.json',
  'a link to a device': () => 'zero',
  'a link to a missing file outside': () => 'dangling',
  'a file below a link to a missing folder outside': () => 'dangling-folder/x.txt',
  'a link to a folder whose name starts like the workspace': () => 'sibling',
  'a file in it': () => 'sibling-folder/secret.txt',
  'a link to the root of the machine': () => 'root/etc/passwd',
  'a pipe without a writer': () => 'pipe',
}

/** Paths that look like escapes but are ordinary names. */
const harmless: Record<string, string> = {
  'percent-encoded dots': '%2e%2e/outside/secret.txt',
  'percent-encoded slashes': '..%2foutside%2fsecret.txt',
  'percent code twice': '%252e%252e%252foutside',
  'a two-dot leader': '‥/outside/secret.txt',
  'full-width dots': '．．/outside/secret.txt',
  'a division slash': '..∕outside∕secret.txt',
  'dots with a zero-width space in between': '.\u200b./outside/secret.txt',
  'three dots': '.../outside/secret.txt',
  'a space before the dots': ' ../outside/secret.txt',
  'a space after the dots': '.. /outside/secret.txt',
  'the home of a user': '~root/secret.txt',
  'a file URL': 'file:///etc/passwd',
  'a file URL that goes up': 'file:../outside/secret.txt',
  'a variable': '$HOME/secret.txt',
  'a command': '$(cat ../outside/secret.txt)',
}

const calls: Record<string, (path: string) => Record<string, unknown>> = {
  read_file: (path) => ({ path }),
  write_file: (path) => ({ path, content: 'OWNED\n' }),
  edit_file: (path) => ({ path, old_text: 'SECRET', new_text: 'OWNED' }),
  list_files: (path) => ({ path, depth: 3 }),
  find_files: (path) => ({ path, pattern: '*' }),
  search_files: (path) => ({ path, pattern: 'SECRET|root:|inside' }),
}

function outsideTree(): string[] {
  return readdirSync(kit.outside, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return entry.isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path
    })
    .sort()
}

async function attempt(path: string, hold: boolean) {
  const before = outsideTree()
  const results: [string, string][] = []
  for (const [name, input] of Object.entries(calls)) {
    const result = String(await kit.call(name, input(path), { hold }))
    results.push([name, result])
    expect(result, name).not.toContain(secret)
    expect(result, name).not.toContain('hidden-name.txt (')
    expect(result, name).not.toContain('root:x')
    if (!path.includes(kit.outside)) expect(result, name).not.toContain(kit.outside)
    expect(result, name).not.toContain('/proc/self/fd/2')
  }
  expect(outsideTree()).toEqual(before)
  return results
}

describe.each([
  ['by handles', true],
  ['by checks', false],
])('confined to the workspace %s', (_, hold) => {
  test.each(Object.entries(rejected))('rejected by all six tools: %s', async (_, path) => {
    for (const [name, result] of await attempt(path(), hold))
      expect(result, name).toMatch(/^The tool failed: .+\.$/s)
  })

  test.each(Object.entries(harmless))('an ordinary name: %s', async (_, path) => {
    await attempt(path, hold)
  })

  test.each([
    '../**',
    '../outside/*',
    '/etc/*',
    '{..,src}/**',
    'out-folder/**',
    '**/secret.txt',
    'root/etc/*',
  ])('the glob %s matches nothing outside', async (pattern) => {
    for (const ripgrep of [undefined, false] as const) {
      const found = await kit.call('find_files', { pattern }, { hold, ripgrep })
      expect(found).toMatch(/^The tool failed|^\[no file|^src\/b\.txt$/)
      const lines = await kit.call('search_files', { pattern: 'SECRET', glob: pattern }, { hold, ripgrep })
      expect(lines).not.toContain(secret)
    }
  })

  test.each([
    '--pre=cat',
    '-f../outside/secret.txt',
    '--follow',
    '--',
    '-e',
    '--files',
    '--no-ignore\0--follow',
  ])('the pattern, path and glob %s are not read as options of ripgrep', async (option) => {
    kit.put({ 'dash.txt': `${option}\n` })
    const literal = await kit.call('search_files', { pattern: option, literal: true }, { hold })
    if (!option.includes('\0')) expect(literal).toBe(`dash.txt\n1:${option}`)
    for (const input of [
      { pattern: option },
      { pattern: 'SECRET', path: option },
      { pattern: 'SECRET', glob: option },
    ])
      expect(await kit.call('search_files', input, { hold })).not.toContain(secret)
  })

  test('a link to a path inside is followed, also with the absolute path of the workspace', async () => {
    symlinkSync(join(kit.root, 'src'), join(kit.root, 'absolute'))
    for (const path of ['to-src/b.txt', 'absolute/b.txt', 'to-src/../a.txt'])
      expect(await kit.call('read_file', { path }, { hold })).toBe('     1\tinside')
    expect(await kit.call('write_file', { path: 'absolute/b.txt', content: 'new\n' }, { hold })).toBe(
      'Wrote 1 line (4 bytes) to src/b.txt (replaced).',
    )
    expect(readFileSync(join(kit.root, 'src', 'b.txt'), 'utf8')).toBe('new\n')
  })

  test('a path can go up within the workspace, and can be absolute', async () => {
    for (const path of [
      'src/../a.txt',
      './/src//..//a.txt',
      `${kit.root}/a.txt`,
      `${kit.root}//src/../a.txt`,
    ])
      expect(await kit.call('read_file', { path }, { hold })).toBe('     1\tinside')
  })
})
