import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { PathAccess } from '../../../millrace/src/tools/policy.ts'
import { commandAccess } from './commands/commands.ts'
import { expandGlobs } from './globs.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-globs-')))
const root = join(base, 'workspace')
for (const name of [
  ...['.env', '.env.local', '.eslintrc', 'a.ts', 'b.ts', 'c*d', 'src/c.ts', 'src/.env', 'src/deep/d.ts'],
  ...['lib/c.ts', '../x.ts'],
]) {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  writeFileSync(join(root, name), '')
}
symlinkSync('src', join(root, 'link'))
const many = join(root, 'many')
mkdirSync(many)
for (let index = 0; index < 600; index++) writeFileSync(join(many, `${index}`), '')
afterAll(() => rmSync(base, { recursive: true, force: true }))

function read(line: string): PathAccess[] {
  return commandAccess(line, { root, cwd: root, home: '/root' })
    .flatMap((access) => expandGlobs(access, root))
    .flatMap((access) => (access.kind === 'read' ? [access] : []))
}

describe('a glob', () => {
  test.each([
    'cat .e*',
    'cat *.ts',
    'cat *',
    'cat ?env',
    'cat .en?',
    'cat src/*',
    'cat */*.ts',
    'cat link/*.ts',
    'cat */deep/*.ts',
    'cat */c.ts',
    'cat **/*.ts',
    'cat nope*',
    'cat c\\*?',
    'cat "c*"*',
    "cat 'a'*",
    'cat ../*.ts',
    `cat ${root}/*.ts`,
  ])('matches the same as in bash: %s', (line) => {
    const found = read(line)
    const said = execFileSync('bash', ['-c', `printf '%s\\n' ${line.slice('cat '.length)}`], { cwd: root })
    const real = `${said}`
      .trim()
      .split('\n')
      .map((path) => join(path.startsWith('/') ? '/' : root, path))
    expect(found.map(({ path }) => join(path.startsWith('/') ? '/' : root, path)).sort()).toEqual(real.sort())
    expect(found.every(({ implied, opaque }) => implied && !opaque)).toBe(true)
  })

  test.each([
    ['has a set, which depends on the locale', 'cat [.]env'],
    ['has too many matches', 'cat many/*'],
    ['may match ..', 'cat .*/x'],
    ['has .. after a possible link', 'cat */../.env'],
    ['has .. in a folder that may be a link', 'cd link && cat ../*'],
    ['is expanded in an unknown folder', 'cd src; cat *'],
  ])('stays unknown if it %s', (_why, line) => {
    expect(read(line)).toEqual([expect.objectContaining({ opaque: true, implied: true })])
    expect(read(line)[0]).not.toHaveProperty('glob')
  })
})
