import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { followAccessLinks } from './links.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-links-')))
const [root, outside] = [join(base, 'workspace'), join(base, 'outside')]
mkdirSync(join(root, 'src'), { recursive: true })
mkdirSync(outside)
writeFileSync(join(root, 'a'), '')
const links = {
  out: '../outside',
  new: '../outside/new',
  in: 'src',
  two: 'new',
  self: 'self',
  late: 'src/late',
  all: '/',
  process: '/proc/self/cwd',
}
for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
afterAll(() => rmSync(base, { recursive: true, force: true }))

test.each([
  ['a', 'a'],
  ['.', '.'],
  ['not/there', 'not/there'],
  ['in', 'src'],
  ['in/not-there', 'src/not-there'],
  ['late', 'src/late'],
  ['out', outside],
  ['out/new', `${outside}/new`],
  ['new', `${outside}/new`],
  ['two', `${outside}/new`],
  ['all/not-there', '/not-there'],
  [`${outside}/x`, `${outside}/x`],
])('%s is %s', (path, real) => {
  expect(followAccessLinks({ kind: 'write', path }, root)).toEqual({ kind: 'write', path: real })
})

test.each(['self', 'self/x', '/proc/self/cwd/a', '/proc/1/root', 'process/a', '/dev/fd/3'])(
  '%s cannot be resolved',
  (path) => {
    expect(followAccessLinks({ kind: 'read', path }, root)).toEqual({ kind: 'read', path, opaque: true })
  },
)

test('other and opaque accesses stay unchanged', () => {
  const others = [
    { kind: 'run', command: 'out' },
    { kind: 'write', path: 'out', opaque: true },
  ] as const
  for (const access of others) expect(followAccessLinks(access, root)).toBe(access)
})

test('links of implied accesses are followed too', () => {
  const given = (path: string) => ({ kind: 'read', path, implied: true }) as const
  expect(followAccessLinks(given('in/x'), root)).toEqual(given('src/x'))
})
