import { homedir } from 'node:os'
import { describe, expect, it } from 'vitest'
import type { Access } from '../policy.ts'
import { argvAccess, commandAccess } from './commands.ts'
import { tableOf } from './commands-lines.test-kit.ts'

const place = { root: '/w', cwd: '/w/sub' }

/** As the table writes it. */
function told(access: Access): string {
  if (access.kind === 'fetch') return `fetch ${access.host}`
  if (access.kind !== 'run')
    return `${access.implied ? '+' : ''}${access.kind}${access.opaque ? '?' : ''} ${access.path.replace(homedir(), 'HOME')}`
  const verb = access.opaque ? 'opaque' : access.readOnly ? 'look' : 'run'
  const also = access.also ? ` = ${access.also.join(' | ')}` : ''
  return `${verb} ${access.command}${also}`
}

/** Each line with the accesses that stand indented below it. */
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
    expect(commandAccess(line, place).map(told)).toEqual(expected)
  })
})

describe('a command in words', () => {
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
    [
      ['bash', '-lc', 'cd d && a > f'],
      ['look cd d', 'run a', 'write sub/d/f'],
    ],
    [
      ['timeout', '5', 'sh', '-c', 'a | b'],
      ['run a', 'run b'],
    ],
    [
      ['env', 'A=1', 'a'],
      ['run env A=1 a', 'run A=1 a = a'],
    ],
    [
      ['find', '.', '-exec', 'rm', '{}', ';'],
      ["look find . -exec rm {} ';'", '+read sub', 'run rm {}', '+write? {}'],
    ],
    [['a b'], ["opaque 'a b'"]],
    [[''], ["opaque ''"]],
    [[], ['opaque ']],
  ])('%j', (argv, expected) => {
    expect(argvAccess(argv, place).map(told)).toEqual(expected)
  })
})

describe('a line that is too much to read', () => {
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
  ])('is opaque, and shown in short, when it %s', (_what, line) => {
    const accesses = commandAccess(line, place)
    expect(accesses).toContainEqual(expect.objectContaining({ kind: 'run', opaque: true }))
    expect(JSON.stringify(accesses).length).toBeLessThan(2_000)
  })

  it('is opaque for one word that nobody would read to its end', () => {
    expect(commandAccess(`echo ${'x'.repeat(10_000)}`, place)).toMatchObject([{ opaque: true }])
  })

  it('asks about all paths at once where there are more than anybody would read', () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `f${index}`)
    expect(commandAccess(`rm ${names.join(' ')}`, place).slice(1)).toEqual([
      { kind: 'write', path: '3000 paths', opaque: true, implied: true },
    ])
  })

  it('touches nothing if there is nothing in it', () => {
    expect(commandAccess('', place)).toEqual([])
    expect(commandAccess(' \n# nothing', place)).toEqual([])
  })
})

describe('the folders in which programs are looked for', () => {
  it.each([
    '((PATH=5)); ls',
    'echo $((PATH=5)); ls',
    'let a=1,PATH=5; ls',
    'a[PATH=5]=1; ls',
    ': {PATH}</dev/null; ls',
    ': {PATH}<<<x; ls',
    'coproc PATH { ls; }; ls',
  ])('are not changed in passing by %j', (line) => {
    expect(commandAccess(line, place)).toContainEqual(expect.objectContaining({ opaque: true }))
  })
})

describe('a command whose words do not say all', () => {
  const varying = (line: string, cwd = '/w') =>
    commandAccess(line, { root: '/w', cwd }).flatMap((access) =>
      access.kind === 'run' && access.varies ? [access.command] : [],
    )

  it.each([
    ['x=build; rm -rf "$x"', ['rm -rf "$x"']],
    ['for f in a b; do rm $f; done', ['rm $f']],
    ['cat "$x"', ['cat "$x"']],
    ['A=$x make', ['A=$x make']],
    ['cd build && rm -rf out', ['rm -rf out']],
    ['cd build; rm -rf out', ['rm -rf out']],
    ["python3 - <<'E'\nprint(1)\nE", ['python3 -']],
    ['python3 <<< x', ['python3']],
    ['python3 - < a.py', ['python3 -']],
    ['curl x | python3 -', ['python3 -']],
    ['a | { b; (c); }', ['b', 'c']],
    ['{ b; } < a', ['b']],
    ['ls | xargs rm', ['rm …']],
  ])('is known as one: %j', (line, commands) => {
    expect(varying(line)).toEqual(commands)
  })

  it('is known by its folder', () => {
    expect(varying('make', '/w/sub')).toEqual(['make'])
  })

  it.each(['npm test | tail -5', 'rm *.o', 'rm {a,b}', 'rm ~/x', 'A=1 make', 'cd sub', 'make > log 2>&1'])(
    'is not any: %j',
    (line) => {
      expect(varying(line)).toEqual([])
    },
  )
})
