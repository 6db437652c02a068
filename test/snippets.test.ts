import { describe, expect, test } from 'vitest'
import {
  blockFaults,
  diagnosticsInDocs,
  fileOf,
  programsOf,
  tidy,
  withoutStrippingWarning,
} from './snippets.ts'

const lines = (...text: string[]) => text.join('\n')

describe('programs', () => {
  test('a ts block is a program with its line', () => {
    const source = lines('# Title', '', '```ts', 'const a = 1', '', 'use(a)', '```', '', '```sh', 'ls', '```')
    expect(programsOf('README.md', source)).toEqual([
      { doc: 'README.md', line: 3, code: 'const a = 1\n\nuse(a)\n' },
    ])
  })

  test('a tsx block is a program for a browser', () => {
    const [program] = programsOf('a.md', lines('```tsx', 'use(<a />)', '```', '```text', 'shown', '```'))
    expect(program).toEqual({ doc: 'a.md', line: 1, code: 'use(<a />)\n', isPage: true })
    expect(program && fileOf(program)).toBe('a-1.tsx')
  })

  test('fragments and other languages are not programs', () => {
    const source = lines('```ts fragment', 'interface A {}', '```', '```json', '{}', '```')
    expect(programsOf('README.md', source)).toEqual([])
  })

  test('a block inside a list loses its indent, and a longer fence may contain a shorter one', () => {
    const inList = lines('- item', '', '  ```ts', '  if (a) {', '    b()', '  }', '  ```')
    expect(programsOf('a.md', inList)[0]?.code).toBe('if (a) {\n  b()\n}\n')
    const nested = lines('````text', '```ts', 'hidden', '```', '````', '```ts', 'shown', '```')
    expect(programsOf('a.md', nested).map(({ code }) => code)).toEqual(['shown\n'])
  })

  test('a block that is never closed is an error', () => {
    expect(() => programsOf('a.md', lines('text', '```ts', 'a()'))).toThrow('line 2')
  })
})

describe('expected output', () => {
  const program = ['```ts', 'a()', '```']
  const output = ['```text', 'one  ', 'two', '', '```']
  const expectedOf = (...text: string[]) => programsOf('a.md', lines(...text))[0]?.expected

  test('a text block directly after a program is its expected output', () => {
    expect(expectedOf(...program, ...output)).toBe('one\ntwo')
    expect(expectedOf(...program, '', '', ...output)).toBe('one\ntwo')
  })

  test('one line of prose may introduce it, but not more prose, a heading or another block', () => {
    expect(expectedOf(...program, '', 'It prints:', '', ...output)).toBe('one\ntwo')
    expect(expectedOf(...program, 'First.', 'Second.', ...output)).toBeUndefined()
    expect(expectedOf(...program, '', '## Else', '', ...output)).toBeUndefined()
    expect(expectedOf(...program, '```sh', 'ls', '```', ...output)).toBeUndefined()
  })

  test('an empty text block says that the program prints nothing', () => {
    expect(expectedOf(...program, '```text', '```')).toBe('')
  })

  test('trailing whitespace is not compared', () => {
    expect(tidy('one \r\n  two\t\n\n')).toBe('one\n  two')
  })
})

describe('blocks that do not run', () => {
  const faults = (info: string, ...code: string[]) =>
    blockFaults('a.md', lines(`\`\`\`${info}`, ...code, '```'))

  test('a fragment is complete TypeScript', () => {
    expect(
      faults('ts fragment', 'interface A { readonly b: string }', 'declare function c(a: A): void'),
    ).toEqual([])
    expect(faults('ts fragment', 'interface A { readonly b: ')).toEqual([
      expect.stringMatching(/^a\.md:1: ./),
    ])
  })

  test('JSON is one value, or one on each line', () => {
    expect(faults('json', '{', '  "a": 1', '}')).toEqual([])
    expect(faults('json', '{"seq":1}', '', '{"seq":2}')).toEqual([])
    expect(faults('json', '{ a: 1 }')).toEqual([expect.stringMatching(/^a\.md:1: ./)])
    expect(faults('json', '{"seq":1}', '…')).toHaveLength(1)
  })

  test('a program must be marked as ts', () => {
    for (const info of ['js', 'typescript', 'jsx', 'ts nocheck', 'TS'])
      expect(faults(info, 'a()')).toHaveLength(1)
    expect(faults('', 'a()')).toHaveLength(1)
    for (const info of ['sh', 'text', 'http', 'sql']) expect(faults(info, 'a()')).toEqual([])
  })
})

describe('compiler output', () => {
  const program = { doc: 'docs/guide/START.md', line: 10, code: '' }

  test('a file is named after its document and line', () => {
    expect(fileOf(program)).toBe('docs.guide.START-10.ts')
    expect(fileOf({ doc: 'README.md', line: 3 })).toBe('README-3.ts')
  })

  test('a diagnostic is mapped to the line of the document, with its explanation', () => {
    const output = lines(
      'docs.guide.START-10.ts(2,5): error TS2322: Type A is not B.',
      '  Because.',
      '../../dist/index.d.ts(1,1): error TS2307: No.',
      '',
    )
    expect(diagnosticsInDocs(output, [program])).toEqual([
      'docs/guide/START.md:12:5: error TS2322: Type A is not B.\n  Because.',
      '../../dist/index.d.ts(1,1): error TS2307: No.',
    ])
  })
})

test("only Node's warning about type stripping is removed from stderr", () => {
  const warning =
    '(node:7) ExperimentalWarning: Type Stripping is an experimental feature and might change at any time\n' +
    '(Use `node --trace-warnings ...` to show where the warning was created)\n'
  expect(withoutStrippingWarning(warning)).toBe('')
  expect(withoutStrippingWarning(`${warning}oops\n`)).toBe('oops\n')
  expect(withoutStrippingWarning('(node:7) Warning: else\n')).toBe('(node:7) Warning: else\n')
})
