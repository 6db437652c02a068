import {
  chmodSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'
import { globPattern } from './glob.ts'
import { lineMatcher } from './line-matcher.ts'
import { findRipgrep } from './ripgrep.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const program = findRipgrep('/nowhere')
const engines: [string, string | false][] = [
  ['our own walk', false],
  ...(program ? [['ripgrep', program] as [string, string]] : []),
]

describe.each(engines)('by %s', (_, ripgrep) => {
  const find = (input: Record<string, unknown>, options = {}) =>
    kit.call('find_files', input, { ripgrep, ...options })
  const search = (input: Record<string, unknown>, options = {}, context = {}) =>
    kit.call('search_files', input, { ripgrep, ...options }, context)

  describe('files are found', () => {
    beforeEach(() => {
      kit.put({
        'a.ts': '',
        'src/b.ts': '',
        'src/b.test.ts': '',
        'src/deep/c.ts': '',
        'src/deep/.hidden.ts': '',
        'src-2/d.ts': '',
        'docs/read me.md': '',
        '.git/e.ts': '',
        'node_modules/f/f.ts': '',
        'src/node_modules/g.ts': '',
      })
      symlinkSync('src', join(kit.root, 'link'))
      symlinkSync('a.ts', join(kit.root, 'link.ts'))
    })

    test.each([
      ['*.ts', 'a.ts src-2/d.ts src/b.test.ts src/b.ts src/deep/.hidden.ts src/deep/c.ts'],
      ['**/*.ts', 'a.ts src-2/d.ts src/b.test.ts src/b.ts src/deep/.hidden.ts src/deep/c.ts'],
      ['src/*.ts', 'src/b.test.ts src/b.ts'],
      ['./src/*.ts', 'src/b.test.ts src/b.ts'],
      ['src/**', 'src/b.test.ts src/b.ts src/deep/.hidden.ts src/deep/c.ts'],
      ['src/', 'src/b.test.ts src/b.ts src/deep/.hidden.ts src/deep/c.ts'],
      ['{a,c}.ts', 'a.ts src/deep/c.ts'],
      ['[!a-c].ts', 'src-2/d.ts'],
      ['?.test.ts', 'src/b.test.ts'],
      ['**/deep/*', 'src/deep/.hidden.ts src/deep/c.ts'],
    ])('by %s', async (pattern, expected) => {
      expect((await find({ pattern })).split('\n').sort()).toEqual(expected.split(' ').sort())
    })

    test('sorted by path', async () => {
      const paths = (await find({ pattern: '*' })).split('\n')
      const folders = (path: string) => path.split('/')
      const ordered = paths.toSorted((one, other) => {
        const [a, b] = [folders(one), folders(other)]
        const at = a.findIndex((name, index) => name !== b[index])
        return (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
      })
      expect(paths).toEqual(ordered)
    })

    test('below a folder, with patterns relative to it', async () => {
      expect(await find({ pattern: 'deep/*.ts', path: 'src' })).toBe('src/deep/.hidden.ts\nsrc/deep/c.ts')
      expect(await find({ pattern: '*.ts', path: 'link/deep' })).toBe('src/deep/.hidden.ts\nsrc/deep/c.ts')
      expect(await find({ pattern: '*.ts', path: 'node_modules' })).toBe('node_modules/f/f.ts')
    })

    test('by the absolute path of the workspace; another absolute path gets a note', async () => {
      expect(await find({ pattern: `${realpathSync(kit.root)}/src/deep/*.ts` })).toContain('src/deep/c.ts')
      expect(await find({ pattern: '/etc/*.conf' })).toBe(
        '[no file matches /etc/*.conf (searched only in the workspace)]',
      )
    })

    test('except ignored files', async () => {
      const ignore = ['deep', '/src-2/', '*.test.ts']
      expect(await find({ pattern: '*.ts' }, { ignore })).toBe('a.ts\nsrc/b.ts')
      expect(await find({ pattern: '*.ts', path: 'src/deep' }, { ignore })).toContain('src/deep/c.ts')
    })

    test('up to a limit', async () => {
      expect(await find({ pattern: '*.ts' }, { maxResults: 2 })).toMatch(
        /^[^\n]+\n[^\n]+\n\[first 2 results, there are more: narrow the pattern\]$/,
      )
      expect(await find({ pattern: 'src/*.ts' }, { maxResults: 2 })).toBe('src/b.test.ts\nsrc/b.ts')
    })

    test('or not found', async () => {
      expect(await find({ pattern: '*.rs' })).toBe('[no file matches *.rs]')
      expect(await find({ pattern: '' })).toMatch(/The glob is empty/)
      expect(await find({ pattern: '*', path: 'a.ts' })).toMatch(/is a file, not a folder/)
    })
  })

  describe('text is found', () => {
    beforeEach(() => {
      kit.put({
        'a.txt': 'one\ntwo foo\nthree\nfour\nfive\nsix Foo\n',
        'src/b.ts': 'const foo = (a) => a[0]\r\nfoo()\r\n',
        'src/größe.md': 'foo.bar\n\nmax  größe\n',
        'binary.dat': 'foo\0foo\n',
        'node_modules/x.js': 'foo\n',
      })
      writeFileSync(join(kit.root, 'utf16.txt'), Buffer.from('\ufeffeins\nfoo zwei\n', 'utf16le'))
    })

    test('with its lines and their numbers, file by file', async () => {
      expect(await search({ pattern: 'foo' })).toBe(
        [
          'a.txt\n2:two foo',
          'src/b.ts\n1:const foo = (a) => a[0]\n2:foo()',
          'src/größe.md\n1:foo.bar',
          'utf16.txt\n2:foo zwei',
        ].join('\n\n'),
      )
    })

    test.each([
      ['^foo', 'src/b.ts:2 src/größe.md:1 utf16.txt:2'],
      ['foo$', 'a.txt:2'],
      ['\\)$', 'src/b.ts:2'],
      ['foo\\b', 'a.txt:2 src/b.ts:1 src/b.ts:2 src/größe.md:1 utf16.txt:2'],
      ['fo{2}\\(', 'src/b.ts:2'],
      ['two|three', 'a.txt:2 a.txt:3'],
      ['[a-z]\\[\\d\\]', 'src/b.ts:1'],
      ['\\s{2}\\w', 'src/größe.md:3'],
      ['größe', 'src/größe.md:3'],
      ['gr..e$', 'src/größe.md:3'],
      ['^$', 'src/größe.md:2'],
      ['(?i)FOUR', 'a.txt:4'],
      ['foo\\.bar', 'src/größe.md:1'],
      // Only JavaScript supports these.
      ['(?<=two )foo', 'a.txt:2'],
      ['(o)\\1\\(', 'src/b.ts:2'],
    ])('by %s', async (pattern, expected) => {
      const found = (await search({ pattern })).split('\n\n').flatMap((file) => {
        const [path, ...lines] = file.split('\n')
        return lines.map((line) => `${path}:${line.split(':')[0]}`)
      })
      expect(found).toEqual(expected.split(' '))
    })

    test('literally, ignoring case, and with context', async () => {
      expect(await search({ pattern: 'a[0]', literal: true })).toBe('src/b.ts\n1:const foo = (a) => a[0]')
      expect(await search({ pattern: 'FOO.BAR', literal: true, ignore_case: true })).toMatch(/größe\.md\n1:/)
      expect(await search({ pattern: 'foo', ignore_case: true, context: 1, path: 'a.txt' })).toBe(
        'a.txt\n1-one\n2:two foo\n3-three\n--\n5-five\n6:six Foo',
      )
      expect(await search({ pattern: 'foo', ignore_case: true, context: 5, path: 'a.txt' })).not.toContain(
        '--',
      )
    })

    test('in a folder, a file, or files matching a glob', async () => {
      expect(await search({ pattern: 'foo', path: 'src', glob: '*.md' })).toBe('src/größe.md\n1:foo.bar')
      expect(await search({ pattern: 'foo', glob: 'src/*.ts' })).toMatch(/^src\/b\.ts\n1:[^\n]*\n2:foo\(\)$/)
      expect(await search({ pattern: 'foo', path: 'node_modules/x.js' })).toBe('node_modules/x.js\n1:foo')
      expect(await search({ pattern: 'foo', path: 'node_modules' })).toBe('node_modules/x.js\n1:foo')
      expect(await search({ pattern: 'foo' }, { ignore: ['src/**', '*16*'] })).toBe('a.txt\n2:two foo')
    })

    test('up to a limit of lines', async () => {
      const note = '[first 2 matching lines, there are more: narrow the pattern, path or glob]'
      expect(await search({ pattern: 'foo' }, { maxResults: 2 })).toBe(
        `a.txt\n2:two foo\n\nsrc/b.ts\n1:const foo = (a) => a[0]\n\n${note}`,
      )
      expect(await search({ pattern: 'foo', path: 'src/b.ts' }, { maxResults: 2 })).not.toContain('[first')
    })

    test('or not found, and an invalid pattern is an error', async () => {
      expect(await search({ pattern: 'nowhere' })).toBe('[no line matches nowhere]')
      expect(await search({ pattern: '(foo' })).toBe(
        "The tool failed: '(foo' is not a valid regular expression (Unterminated group): escape special characters with \\, or set literal.",
      )
      for (const pattern of ['a\nb', 'a\\nb', '\\\\\\n'])
        expect(await search({ pattern })).toMatch(/line by line/)
      expect(await search({ pattern: '\\\\n' })).toBe('[no line matches \\\\n]')
      expect(await search({ pattern: 'a\0' })).toMatch(/^The tool failed: .*NUL/)
    })

    test('long lines are cut', async () => {
      kit.put({ 'a.txt': `foo ${'x'.repeat(100_000)}\n` })
      expect(await search({ pattern: 'foo', path: 'a.txt' })).toBe(`a.txt\n1:foo ${'x'.repeat(496)}… [cut]`)
    })

    test('but not in files that the rules deny, without revealing that they match', async () => {
      kit.put({ '.env': 'KEY=foo\nKEY=unique\n' })
      const asked: unknown[] = []
      const checkAccess = async (access: { path: string }) => {
        asked.push(access)
        return access.path === '.env' ? 'a rule says so' : undefined
      }
      expect(await search({ pattern: 'unique' }, {}, { checkAccess })).toBe('[no line matches unique]')
      expect(asked).toEqual([
        { kind: 'read', path: '.' },
        { kind: 'read', path: '.env' },
      ])
      expect(await search({ pattern: 'foo' }, { maxResults: 1 }, { checkAccess })).toMatch(
        /^a\.txt\n2:two foo\n/,
      )
      expect(await search({ pattern: 'foo', path: '.env' }, {}, { checkAccess })).toBe(
        "The tool failed: '.env' may not be read: a rule says so.",
      )
    })

    test('a canceled search ends, and leaves no process', async () => {
      kit.put(
        Object.fromEntries(
          Array.from({ length: 300 }, (_, index) => [`many/${index}.txt`, 'foo\n'.repeat(500)]),
        ),
      )
      const controller = new AbortController()
      let asked = 0
      const checkAccess = async () => {
        if (++asked === 3) controller.abort(new Error('canceled'))
        return undefined
      }
      expect(
        await search({ pattern: 'foo' }, { maxResults: 100_000 }, { checkAccess, signal: controller.signal }),
      ).toBe('The tool failed: canceled')
      expect(processesIn(kit.root)).toEqual([])
    })
  })
})

test.each([
  ['pattern', /^(a+)+$/],
  ['glob', globPattern(`${'*a'.repeat(30)}c`)],
])('a %s that would take forever is stopped, without blocking anything', async (_, pattern) => {
  const matcher = lineMatcher(pattern, { signal: new AbortController().signal, timeLimitMs: 300 })
  let ticks = 0
  const ticking = setInterval(() => ticks++, 10)
  try {
    await expect(matcher.match(`${'a'.repeat(60)}b`)).rejects.toThrow(/takes too long/)
    expect(ticks).toBeGreaterThan(1)
  } finally {
    clearInterval(ticking)
    await matcher.close()
  }
})

test('a matcher that is aborted during work ends', async () => {
  const controller = new AbortController()
  const matcher = lineMatcher(/^(a+)+$/, { signal: controller.signal, timeLimitMs: 60_000 })
  try {
    const matching = matcher.match(`${'a'.repeat(60)}b`)
    setTimeout(() => controller.abort(new Error('canceled')), 50)
    await expect(matching).rejects.toThrow('canceled')
  } finally {
    await matcher.close()
  }
})

describe.runIf(program)('ripgrep', () => {
  test('is not taken from the workspace or a relative path', () => {
    kit.put({ 'node_modules/.bin/rg': '#!/bin/sh\n' })
    chmodSync(join(kit.root, 'node_modules/.bin/rg'), 0o755)
    const inside = join(kit.root, 'node_modules/.bin')
    expect(findRipgrep(kit.root, `.:${inside}:${process.env.PATH}`)).toBe(program)
    expect(findRipgrep(kit.root, inside)).toBeUndefined()
    expect(findRipgrep('/elsewhere', inside)).toBe(join(inside, 'rg'))
  })

  test('respects .gitignore, and ignores settings outside', async () => {
    kit.put({ '.gitignore': '*.log\nout/\n', 'a.log': 'foo', 'out/b.txt': 'foo', 'c.txt': 'foo' })
    writeFileSync(join(kit.outside, '..', '.gitignore'), '*\n')
    writeFileSync(join(kit.outside, '..', '.ignore'), '*\n')
    expect(await kit.call('search_files', { pattern: 'foo' })).toBe('c.txt\n1:foo')
    expect(await kit.call('find_files', { pattern: '*' })).toBe('.gitignore\nc.txt')
    expect(await kit.call('search_files', { pattern: 'foo', path: 'out' })).toBe('out/b.txt\n1:foo')
  })

  test.each([
    ['is gone', '#!/nowhere/at/all\n'],
    ['is too old', '#!/bin/sh\necho "error: unexpected argument" >&2\nexit 2\n'],
  ])('that %s is not used', async (_, script) => {
    kit.put({ 'a.txt': 'foo\n' })
    const rg = join(kit.outside, 'rg')
    writeFileSync(rg, script, { mode: 0o755 })
    expect(await kit.call('search_files', { pattern: 'foo' }, { ripgrep: rg })).toBe('a.txt\n1:foo')
    expect(await kit.call('find_files', { pattern: '*' }, { ripgrep: rg })).toBe('a.txt')
  })

  test('is ended when enough results are found', async () => {
    kit.put({ 'a.txt': 'foo\n', 'b.txt': 'foo\n', 'c.txt': 'foo\n' })
    const rg = join(kit.outside, 'rg')
    const hits = 'printf "./a.txt\\0001:x\\n./b.txt\\0001:x\\n./c.txt\\0001:x\\n"'
    writeFileSync(rg, `#!/bin/sh\n${hits}\nexec sleep 1000\n`, { mode: 0o755 })
    expect(await kit.call('search_files', { pattern: 'foo' }, { ripgrep: rg, maxResults: 1 })).toMatch(
      /^a\.txt\n1:foo\n\n\[first 1 /,
    )
    expect(processesIn(kit.root)).toEqual([])
  })

  test('that stops early is an error', async () => {
    kit.put({ 'a.txt': 'foo\n' })
    const rg = join(kit.outside, 'rg')
    writeFileSync(rg, '#!/bin/sh\nprintf "./a.txt\\0001:x\\n"\nkill -9 $$\n', { mode: 0o755 })
    expect(await kit.call('search_files', { pattern: 'foo' }, { ripgrep: rg })).toMatch(/stopped before/)
  })
})

function processesIn(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ')
        const cwd = readlinkSync(`/proc/${pid}/cwd`)
        return cwd.startsWith(folder) ? [command] : []
      } catch {
        return []
      }
    })
}
