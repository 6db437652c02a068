import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { argvAccess, commandAccess } from './commands.ts'
import { tableOf } from './lines.test-kit.ts'
import type { WrittenAccess } from './plain-line.ts'

const folders = { root: '/w', cwd: '/w/sub', home: homedir() }

/** The access in the notation of the table. */
function describeAccess(access: WrittenAccess): string {
  if (access.kind === 'fetch') return `fetch ${access.host}`
  if (access.kind !== 'run')
    return `${access.implied ? '+' : ''}${access.kind}${access.opaque ? '?' : ''} ${access.path.replace(homedir(), 'HOME')}`
  const verb = access.opaque ? 'opaque' : access.readOnly ? 'look' : 'run'
  const form = access.form === undefined || access.form === access.command ? '' : ` [${access.form}]`
  const also = access.also ? ` = ${access.also.join(' | ')}` : ''
  return `${verb} ${access.command}${form}${also}`
}

/** For an opaque line, the commands visible in it are left out. */
function describeLine(line: string): string[] {
  const accesses = commandAccess(line, folders)
  const [first] = accesses
  const isWhole = first?.kind === 'run' && first.opaque && first.form === undefined
  return isWhole ? ['opaque'] : accesses.map(describeAccess)
}

/** Each line with the accesses indented below it. */
function cases(rows: readonly string[]): [string, string[]][] {
  const found: [string, string[]][] = []
  for (const row of rows) {
    if (row.startsWith('    ')) found.at(-1)?.[1].push(row.slice(4))
    else found.push([row, []])
  }
  return found
}

describe.each([...tableOf('commands.table.txt')])('%s', (_title, rows) => {
  it.each(cases(rows))('%j', (line, expected) => {
    expect(describeLine(line)).toEqual(expected)
  })
})

describe('a command as argv', () => {
  it.each([
    [
      ['ls', '-l', 'a b'],
      ["look ls -l 'a b'", '+read sub/a b'],
    ],
    [
      ['rm', '$HOME', '*'],
      ["run rm '$HOME' '*'", '+write sub/$HOME', '+write sub/*'],
    ],
    [['echo', 'a; rm x'], ["look echo 'a; rm x'"]],
    [['bash', '-lc', 'a > f'], ["opaque bash -lc 'a > f' [bash] = 'a > f' | a"]],
    [['timeout', '5', 'make'], ['run make']],
    [['env', 'A=1', 'a'], ['opaque env A=1 a [env] = A=1 a | a=1 a | a']],
    [['a b'], ["opaque 'a b' = a b"]],
    [[''], ["opaque ''"]],
    [[], ['opaque ']],
  ])('%j', (argv, expected) => {
    expect(argvAccess(argv, folders).map(describeAccess)).toEqual(expected)
  })

  it('is opaque with a variable that may change what it runs, or with a NUL', () => {
    expect(argvAccess(['make'], folders, { CC: 'x' })).toMatchObject([{ command: 'CC=x make', opaque: true }])
    expect(argvAccess(['make'], folders, { CI: '1' })).toMatchObject([{ command: 'make' }])
    expect(argvAccess(['make', 'a\0b'], folders)).toMatchObject([{ opaque: true }])
  })
})

describe('a line that is too complex', () => {
  it.each([
    ['is long', 'a '.repeat(50_000)],
    ['is nested 10,000 times', `${'('.repeat(10_000)}ls${')'.repeat(10_000)}`],
    ['substitutes 10,000 times', `${'$('.repeat(10_000)}ls${')'.repeat(10_000)}`],
    ['sums up 10,000 numbers', `echo $((${'1+'.repeat(10_000)}1))`],
    ['runs 10,000 commands', 'ls;'.repeat(10_000)],
    ['opens 10,000 braces', `echo ${'{a,'.repeat(10_000)}`],
    ['evaluates 5,000 times', `${'eval '.repeat(5_000)}ls`],
    ['wraps 5,000 times', `${'nice '.repeat(5_000)}ls`],
    ['has a NUL', 'ls\0; rm x'],
    ['is empty', ''],
    ['has no command', ' \n# nothing'],
  ])('is opaque when it %s', (_what, line) => {
    expect(commandAccess(line, folders)[0]).toMatchObject({ kind: 'run', opaque: true })
  })

  it('joins its paths into one access if there are too many', () => {
    const names = Array.from({ length: 1_500 }, (_, index) => `f${index}`)
    expect(commandAccess(`rm ${names.join(' ')}`, folders).slice(1)).toEqual([
      { kind: 'write', path: '1500 paths', opaque: true, implied: true },
    ])
  })
})

describe('commands visible in an opaque line', () => {
  it('are available for deny rules', () => {
    const [whole, ...rest] = commandAccess('for f in a; do cat .env; /bin/rm "$f"; done', folders)
    expect(whole).toMatchObject({ also: ['cat .env', "rm '$f'"] })
    expect(rest).toEqual([{ kind: 'read', path: 'sub/.env', implied: true }])
  })

  it('are found in a line passed to a shell', () => {
    const [whole] = commandAccess(`bash -c 'sh -c "git push"'`, folders)
    expect(whole).toMatchObject({ opaque: true, form: 'bash', also: expect.arrayContaining(['git push']) })
  })
})

describe('a command that depends on more than its words', () => {
  const varying = (line: string, cwd = '/w') =>
    commandAccess(line, { ...folders, root: '/w', cwd }).flatMap((access) =>
      access.kind === 'run' && access.varies ? [[access.command, access.line]] : [],
    )

  it.each([
    ['cd build && rm -rf out', 'rm -rf out'],
    ['cd build; rm -rf out', 'rm -rf out'],
    ["python3 - <<'E'\nprint(1)\nE", 'python3 -'],
    ['python3 - < a.py', 'python3 -'],
    ['curl x | python3 -', 'python3 -'],
    ['ls | xargs rm', 'xargs rm'],
  ])('can be allowed by its whole line: %j', (line, command) => {
    expect(varying(line)).toEqual([[command, line]])
  })

  it('cannot always be allowed in another folder', () => {
    expect(varying('make', '/w/sub')).toEqual([['make', undefined]])
    expect(varying('echo $X', '/w/sub')).toEqual([['echo $X', undefined]])
  })

  it.each(['npm test | tail -5', 'rm *.o', 'rm ~/x', 'CI=1 make', 'cd sub', 'make > log 2>&1'])(
    'is not found in %j',
    (line) => {
      expect(varying(line)).toEqual([])
    },
  )
})

describe('with a workspace', () => {
  const world = () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-commands-')))
    onTestFinished(() => rmSync(root, { recursive: true, force: true }))
    for (const folder of ['.git', 'src', 'lib/.git']) mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, 'a.ts'), '')
    const isOpaque = (line: string) =>
      commandAccess(line, { root, cwd: root, home: '/' }).some(
        (access) => access.kind === 'run' && access.opaque,
      )
    return { root, isOpaque }
  }

  it('a glob is not an option, unless a file is named like one', () => {
    const { root, isOpaque } = world()
    expect(isOpaque('rg foo *.ts')).toBe(false)
    writeFileSync(join(root, '--pre=x.ts'), '')
    expect(isOpaque('rg foo *.ts')).toBe(true)
    expect(isOpaque('rg foo ./*.ts')).toBe(false)
    expect(isOpaque('ls *.ts')).toBe(false)
  })

  it('git is clear in the repository of the workspace, and opaque in others', () => {
    const { isOpaque } = world()
    for (const line of ['git status', 'git -C . status', 'git -C src log', 'cd src && git diff'])
      expect(isOpaque(line)).toBe(false)
    for (const line of ['git -C lib status', 'cd lib && git log', 'cd src; git diff', 'git -C / status'])
      expect(isOpaque(line)).toBe(true)
  })

  it.each(['a.ts', 'a.ts/deeper', 'n'.repeat(5000)])('git is opaque in %.20s', (path) => {
    const { isOpaque } = world()
    expect(isOpaque(`git -C ${path} status`)).toBe(true)
    expect(isOpaque(`cd ${path} && git diff`)).toBe(true)
  })
})
