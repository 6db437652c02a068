import { symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isPlainConfig } from './git.ts'
import { guard } from './guard.ts'
import { fill, folder } from './sandbox.test-kit.ts'

const repository = { HEAD: '', config: '', 'hooks/a.sample': '' }
const at = (place: string) =>
  Object.fromEntries(Object.entries(repository).map(([name, text]) => [`${place}/${name}`, text]))

describe('what is mounted', () => {
  const mountsOf = (root: string, writable: string[] = []) => {
    const { mounts, tidy } = guard({ root, writable })
    return { tidy, paths: mounts.map((mount) => relative(root, mount.at)).toSorted() }
  }

  test('is what takes effect outside, also in repositories below', () => {
    const root = fill(folder(), { ...at('.git'), ...at('vendor/lib/.git'), '.npmrc': '', 'app/.envrc': '' })
    const { paths, tidy } = mountsOf(root)
    tidy()
    expect(paths).toStrictEqual([
      ...['.git', '.git/config', '.git/hooks', '.npmrc', 'app/.envrc'],
      ...['vendor/lib/.git/config', 'vendor/lib/.git/hooks'],
    ])
  })

  test('is left open where it is named, and not where a folder around it is', () => {
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

  test('is never what a running command could replace by a link in that moment', () => {
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

  test('is what a link leads to, if that is in the workspace', () => {
    const root = fill(folder(), { 'shared/npmrc': '', 'shared/x': '' })
    symlinkSync('shared/npmrc', join(root, '.npmrc'))
    symlinkSync('/etc/passwd', join(root, '.envrc'))
    symlinkSync('..', join(root, '.vscode'))
    const { paths, tidy } = mountsOf(root)
    tidy()
    expect(paths).toStrictEqual(['.git', 'shared/npmrc'])
  })
})

describe('settings are plain', () => {
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
  ])('not so: %j', (text) => {
    expect(isPlainConfig(text)).toBe(false)
  })

  test('nor what could not be read', () => {
    expect(isPlainConfig(undefined)).toBe(false)
  })
})
