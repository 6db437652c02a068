import { symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isPlainConfig } from './git.ts'
import { protectPaths } from './protect.ts'
import { fill, folder } from './sandbox.test-kit.ts'

const repository = { HEAD: '', config: '', 'hooks/a.sample': '' }
const at = (folder: string) =>
  Object.fromEntries(Object.entries(repository).map(([name, text]) => [`${folder}/${name}`, text]))

describe('mounts', () => {
  const mountsOf = (root: string, writable: string[] = []) => {
    const { mounts, tidy } = protectPaths({ root, writable })
    return { tidy, paths: mounts.map((mount) => relative(root, mount.at)).toSorted() }
  }

  test('cover paths that take effect outside, also in nested repositories', () => {
    const root = fill(folder(), { ...at('.git'), ...at('vendor/lib/.git'), '.npmrc': '', 'app/.envrc': '' })
    const { paths, tidy } = mountsOf(root)
    tidy()
    expect(paths).toStrictEqual([
      ...['.git', '.git/config', '.git/hooks', '.npmrc', 'app/.envrc'],
      ...['vendor/lib/.git/config', 'vendor/lib/.git/hooks'],
    ])
  })

  test('leave out paths named as writable, but not by their parent folder', () => {
    const root = fill(join(folder(), 'workspace'), { ...at('.git'), '.npmrc': '' })
    const open = (...writable: string[]) => {
      const { paths, tidy } = mountsOf(
        root,
        writable.map((path) => join(root, path)),
      )
      tidy()
      return paths
    }
    expect(open('.git')).toStrictEqual(['.npmrc'])
    expect(open('.git/hooks', '.npmrc')).toStrictEqual(['.git', '.git/config'])
    expect(open('.')).toStrictEqual(['.git', '.git/config', '.git/hooks', '.npmrc'])
    expect(open('..')).toStrictEqual(['.git', '.git/config', '.git/hooks', '.npmrc'])
  })

  test('leave out paths that a running command could replace with a link', () => {
    const root = fill(folder(), { ...at('.git'), ...at('vendor/lib/.git'), '.npmrc': '' })
    const first = mountsOf(root)
    fill(root, { '.envrc': 'made by the first' })
    const second = mountsOf(root)
    expect(second.paths).toStrictEqual(['.git', '.git/config', '.git/hooks', '.npmrc'])
    for (const { tidy } of [first, second]) tidy()
    const third = mountsOf(root)
    third.tidy()
    expect(third.paths).toContain('vendor/lib/.git/config')
  })

  test('cover the target of a link, if it is in the workspace', () => {
    const root = fill(folder(), { 'shared/npmrc': '', 'shared/x': '' })
    symlinkSync('shared/npmrc', join(root, '.npmrc'))
    symlinkSync('/etc/passwd', join(root, '.envrc'))
    symlinkSync('..', join(root, '.vscode'))
    const { paths, tidy } = mountsOf(root)
    tidy()
    expect(paths).toStrictEqual(['.git', 'shared/npmrc'])
  })
})

describe('plain git config', () => {
  test.each([
    '',
    '[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote "origin"]\n\turl = https://a.test/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
    '# a comment\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = Ada Lovelace\n',
  ])('%j', (text) => {
    expect(isPlainConfig(text)).toBe(true)
  })

  test.each([
    '[core]\n\tfsmonitor = x\n',
    '[core] fsmonitor = x\n',
    '[core]fsmonitor=x\n',
    '[core]\n\tbare = false\\\n\tfsmonitor = x\n',
    '[CORE]\n\tFSMonitor = x\n',
    '[include]\n\tpath = x\n',
    '[includeIf "gitdir:/"]\n\tpath = x\n',
    '[core "]\n"]\n\tfsmonitor = x\n',
    '[alias]\n\tst = !x\n',
    '[remote "origin"]\n\tuploadpack = x\n',
    '[filter "a"]\n\tclean = x\n',
    '[submodule "a"]\n\tupdate = !x\n',
    '\tfsmonitor = x\n',
    '[core]\n\tbare\n\r\tfsmonitor = x\n',
    '[user]\n\tname = a "b\n',
  ])('does not include %j', (text) => {
    expect(isPlainConfig(text)).toBe(false)
  })

  test('does not include an unreadable file', () => {
    expect(isPlainConfig(undefined)).toBe(false)
  })
})
