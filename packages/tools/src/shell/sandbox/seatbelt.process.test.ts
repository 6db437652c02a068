import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { fill, folder } from './sandbox.test-kit.ts'
import { findSandbox, sandboxed, sandboxProblem } from './sandbox.ts'
import { seatbelt } from './seatbelt.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

const profileOf = (args: readonly string[]) => args[args.indexOf('-p') + 1] ?? ''
const parameters = (args: readonly string[]) => args.filter((_, index) => args[index - 1] === '-D')

describe('the profile', () => {
  test('has paths only as parameters, with any characters', () => {
    const own = '/a "quoted") (allow default) path'
    const args = seatbelt('bash', ['-c', 'true'], { own: [own], secrets: ['/s'], network: false })
    expect(profileOf(args)).not.toContain('quoted')
    expect(profileOf(args)).toContain('(allow file-write* (subpath (param "P0")))')
    expect(parameters(args)).toStrictEqual([`P0=${own}`, 'P1=/s'])
    expect(args.slice(-3)).toStrictEqual(['bash', '-c', 'true'])
  })

  test('denies by default, and denies protected paths after allowing folders', () => {
    const args = seatbelt('true', [], {
      own: ['/w'],
      kept: ['/w/extra'],
      open: ['/w/.husky'],
      secrets: ['/h/.ssh'],
      network: false,
    })
    const lines = profileOf(args).split('\n')
    const at = (text: string) => lines.findIndex((line) => line.includes(text))
    const order = [
      '(deny default)',
      '(allow file-read*)',
      '"P0"',
      '[Hh][Uu][Ss][Kk][Yy]',
      '"P1"',
      '"P2"',
      '"P3"',
    ].map(at)
    expect(order.every((line) => line >= 0)).toBe(true)
    expect(order).toStrictEqual(order.toSorted((a, b) => a - b))
    expect(lines[at('"P3"')]).toBe('(deny file-read* file-write* (subpath (param "P3")))')
    expect(lines.join('')).not.toContain('network')
  })

  test('has balanced parentheses in every line', () => {
    const all = { own: ['/w'], kept: ['/k'], open: ['/o'], secrets: ['/s'] }
    for (const network of [true, false, 8080])
      for (const line of profileOf(seatbelt('true', [], { ...all, network })).split('\n')) {
        const bare = line.replace(/#"[^"]*"/g, '').replace(/"[^"]*"/g, '')
        expect(bare.split('(').length, line).toBe(bare.split(')').length)
      }
  })

  test('allows only the port of a proxy, if there is one', () => {
    const text = profileOf(seatbelt('true', [], { own: [], network: 8080 }))
    expect(text).toContain('(allow network-outbound (remote ip "localhost:8080"))')
    expect(text).not.toContain('*:*')
  })

  test.each([
    ...[
      '/w/.git',
      '/w/.git/config',
      '/w/.git/hooks/pre-commit',
      '/w/.GIT/hooks/x',
      '/w/vendor/lib/.git/commondir',
    ],
    ...[
      '/w/.git/modules/a/b/config',
      '/w/.git/worktrees/a/commondir',
      '/w/.npmrc',
      '/w/app/.vscode/tasks.json',
      '/w/src/HEAD',
    ],
  ])('protects %s', (path) => {
    expect(denials().some((fits) => fits(path))).toBe(true)
  })

  test.each([
    ...[
      '/w/.git/index',
      '/w/.git/HEAD',
      '/w/.git/objects/ab/cd',
      '/w/.git/refs/heads/config',
      '/w/.gitignore',
    ],
    ...['/w/.git/modules/a/HEAD', '/w/npmrc', '/w/src/config', '/w/hooks/use.ts'],
  ])('keeps %s writable', (path) => {
    expect(denials().some((fits) => fits(path))).toBe(false)
  })

  /** The patterns of denied names, which have the same meaning in Seatbelt. */
  function denials(): ((path: string) => boolean)[] {
    const lines = profileOf(seatbelt('true', [], { own: ['/w'], network: false })).split('\n')
    return lines
      .filter((line) => line.startsWith('(deny file-write*'))
      .map((line) => {
        const [wanted, unless] = [...line.matchAll(/#"([^"]*)"/g)].map(
          ([, pattern = '']) => new RegExp(pattern),
        )
        return (path) => wanted?.test(path) === true && !unless?.test(path)
      })
  }
})

describe('on a Mac', () => {
  const onMac = () => vi.stubGlobal('process', Object.create(process, { platform: { value: 'darwin' } }))

  test('sandbox-exec runs a program, with a temporary folder that is removed afterwards', () => {
    const root = fill(folder(), { '.git/HEAD': '', '.git/config': '[include]\n\tpath = ../extra\n' })
    onMac()
    const { file, args, tidy } = sandboxed('bash', ['-c', 'true'], {
      root,
      cwd: root,
      env: { A: 'b' },
      writable: ['.husky', 'src'],
    })
    expect(file).toBe('/usr/bin/sandbox-exec')
    const paths = parameters(args).map((text) => text.replace(/^P\d+=/, ''))
    const tmp = paths.find((path) => path.startsWith(`${realpathSync(tmpdir())}/millrace-`)) ?? ''
    expect(paths[0]).toBe(root)
    expect(args.slice(args.indexOf('/usr/bin/env'))).toStrictEqual([
      '/usr/bin/env',
      `TMPDIR=${tmp}`,
      'A=b',
      'bash',
      '-c',
      'true',
    ])
    expect(readdirSync(tmp)).toStrictEqual([])
    expect(paths).toContain(join(root, 'extra'))
    const allowed =
      profileOf(args)
        .split('\n')
        .findLast((line) => line.startsWith('(allow file-write*')) ?? ''
    const open = [...allowed.matchAll(/"P(\d+)"/g)].map(([, index]) => paths[Number(index)])
    expect(open).toStrictEqual([join(root, '.husky'), tmp])
    expect(tidy()).toStrictEqual([])
    expect(existsSync(tmp)).toBe(false)
  })

  test('nothing of the workspace can be changed in read-only mode', () => {
    onMac()
    const root = folder()
    const { args, tidy } = sandboxed('true', [], { root, cwd: root, readOnly: true })
    tidy()
    expect(parameters(args)[0]).toMatch(new RegExp(`^P0=${realpathSync(tmpdir())}/millrace-`))
    expect(parameters(args).join('\n')).not.toContain(`=${root}`)
  })

  test.skipIf(existsSync('/usr/bin/sandbox-exec'))('it says why there is no sandbox', async () => {
    onMac()
    expect(await findSandbox()).toBeUndefined()
    expect(await sandboxProblem()).toBe('/usr/bin/sandbox-exec is missing')
  })
})
