import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { agent, isMillraceError } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'
import { files } from './files.ts'
import { canHold } from './folder.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const names = (options = {}) => files({ workspace: kit.root, ...options }).tools.map(({ name }) => name)

test('there are six tools, four of them read-only', () => {
  const all = ['read_file', 'write_file', 'edit_file', 'list_files', 'find_files', 'search_files']
  expect(names()).toEqual(all)
  expect(names({ readOnly: true })).toEqual(all.filter((name) => !/write|edit/.test(name)))
})

test('all except edit_file can be repeated after a crash', () => {
  const { tools } = files({ workspace: kit.root })
  expect(tools.filter(({ repeat }) => repeat !== 'safe').map(({ name }) => name)).toEqual(['edit_file'])
})

test('the workspace can be a link or a relative path, resolved once', async () => {
  kit.put({ 'a.txt': 'inside\n' })
  const link = join(kit.outside, 'link')
  symlinkSync(kit.root, link)
  for (const workspace of [link, relative(process.cwd(), kit.root), `${kit.root}/`]) {
    const [read] = files({ workspace }).tools
    expect(await read?.access?.({ path: 'a.txt' } as never)).toEqual([{ kind: 'read', path: 'a.txt' }])
  }
  const [read] = files({ workspace: link }).tools
  expect(await read?.access?.({ path: join(link, 'a.txt') } as never)).toEqual([
    { kind: 'read', path: 'a.txt' },
  ])
})

test.each([
  [undefined, /takes one object of options, not undefined/],
  [{}, /needs a workspace/],
  [{ workspace: '' }, /'workspace' must be text, not empty/],
  [{ workspace: '/nowhere/at/all' }, /'\/nowhere\/at\/all' cannot be opened: create the folder first/],
  [{ workspace: process.execPath }, /is not a folder/],
  [{ workspace: '.', maxResult: 1 }, /'maxResult' does not exist: did you mean 'maxResults'\?/],
  [{ workspace: '.', maxReadBytes: 0 }, /'maxReadBytes' must be a whole number of at least 1/],
  [{ workspace: '.', maxImageBytes: '5' }, /'maxImageBytes' must be a whole number/],
  [{ workspace: '.', readOnly: 1 }, /'readOnly' must be true or false/],
  [{ workspace: '.', ignore: 'dist' }, /'ignore' must be an array of globs/],
  [{ workspace: '.', ripgrep: 'rg' }, /'ripgrep' must be the absolute path of rg, or false/],
  [{ workspace: '.', ripgrep: '/nowhere/rg' }, /'ripgrep' must be the path of an executable program/],
])('invalid options are rejected: %j', (options, problem) => {
  let thrown: unknown
  try {
    files(options as never)
  } catch (error) {
    thrown = error
  }
  expect(isMillraceError(thrown) && thrown.code).toBe('invalid_input')
  expect(String(thrown)).toMatch(problem)
})

describe('the accesses of a call', () => {
  const access = async (name: string, input: object) => {
    const tool = files({ workspace: kit.root }).tools.find((tool) => tool.name === name)
    return tool?.access?.(input as never)
  }

  test('use the real path', async () => {
    kit.put({ 'src/a.ts': '' })
    mkdirSync(join(kit.root, 'other'))
    symlinkSync('src', join(kit.root, 'link'))
    symlinkSync('../src/a.ts', join(kit.root, 'other', 'file'))
    expect(await access('read_file', { path: './link/../link//a.ts' })).toEqual([
      { kind: 'read', path: 'src/a.ts' },
    ])
    expect(await access('read_file', { path: 'other/file' })).toEqual([{ kind: 'read', path: 'src/a.ts' }])
    expect(await access('write_file', { path: 'link/new/b.ts', content: '' })).toEqual([
      { kind: 'write', path: 'src/new/b.ts' },
    ])
    expect(await access('edit_file', { path: `${kit.root}/src/a.ts` })).toEqual([
      { kind: 'read', path: 'src/a.ts' },
      { kind: 'write', path: 'src/a.ts' },
    ])
    for (const name of ['list_files', 'find_files', 'search_files']) {
      expect(await access(name, { pattern: '*' })).toEqual([{ kind: 'read', path: '.' }])
      expect(await access(name, { pattern: '*', path: 'link' })).toEqual([{ kind: 'read', path: 'src' }])
    }
  })

  test('are empty for an invalid path, which the call itself reports', async () => {
    for (const path of ['../x', '/etc/passwd', 'a\0'])
      expect(await access('write_file', { path, content: '' })).toEqual([])
  })
})

test('an agent reads, edits and gets errors', async () => {
  kit.put({ 'src/sum.ts': 'export const sum = (a, b) => a - b\n' })
  const model = scriptedModel([
    [{ call: 'search_files', input: { pattern: 'sum' } }],
    [{ call: 'edit_file', input: { path: 'src/sum.ts', old_text: 'a  - b', new_text: 'a + b' } }],
    [{ call: 'edit_file', input: { path: 'src/sum.ts', old_text: 'a - b', new_text: 'a + b' } }],
    'Done.',
  ])
  const { messages } = await agent({ model, tools: [files({ workspace: kit.root })] }).run('Fix it.')
  const results = messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map((part) => (part.type === 'text' ? part.text : '')) : [],
  )
  expect(results).toEqual([
    'src/sum.ts\n1:export const sum = (a, b) => a - b',
    'The tool failed: old_text is in the file only with different spaces, tabs or line breaks. The lines are:\n     1\texport const sum = (a, b) => a - b',
    'Edited src/sum.ts: 1 replacement.\n+    1\texport const sum = (a, b) => a + b',
  ])
  expect(readFileSync(join(kit.root, 'src/sum.ts'), 'utf8')).toContain('a + b')
})

test.runIf(canHold)('no file or folder stays open', async () => {
  kit.put({ 'a/b/c.txt': 'foo\n', 'a/d.txt': 'bar\n' })
  const work = async () => {
    for (const path of ['a/b/c.txt', 'a', 'nope', '../x', 'a/b/c.txt/x']) {
      await kit.call('read_file', { path })
      await kit.call('write_file', { path: `${path}/new/x.txt`, content: 'foo\n' })
      await kit.call('edit_file', { path, old_text: 'foo', new_text: 'foo!' })
      await kit.call('list_files', { path, depth: 3 })
      await kit.call('find_files', { path, pattern: '*' }, { ripgrep: false, maxResults: 1 })
      await kit.call('search_files', { path, pattern: '.' }, { ripgrep: false, maxResults: 1 })
    }
  }
  await work()
  expect(filesOpen()).toEqual([])
})

/** Files and folders of the workspace that this process has open. */
function filesOpen(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(kit.root) ? [path] : []
    } catch {
      return []
    }
  })
}
