import fc from 'fast-check'
import picomatch from 'picomatch'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { parsePath, pathPattern } from './path-pattern.ts'
import { wildcard } from './wildcard.ts'

const matches = (pattern: string, path: string) => pathPattern(pattern)(parsePath(path))

describe('a glob', () => {
  test.each([
    ['a/?.ts', 'a/b.ts', true],
    ['a/?.ts', 'a/😀.ts', true],
    ['a/?.ts', 'a/bc.ts', false],
    ['a?b', 'a/b', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[^a-c]x', 'dx', true],
    ['[a-]x', '-x', true],
    ['app/\\[id\\]/**', 'app/[id]/page.tsx', true],
    ['app/[id]/**', 'app/[id]/page.tsx', false],
    ['{src,test}/**/*.{ts,tsx}', 'test/a/b.tsx', true],
    ['{src,test}/**/*.{ts,tsx}', 'docs/a/b.tsx', false],
    ['{src/a,b}/c', 'src/a/c', true],
    ['app/(group)/x', 'app/(group)/x', true],
    ['**/x/**/y', 'a/x/b/x/c/y', true],
    ['**/x/**/y', 'a/y', false],
    ['a**b', 'a/b', false],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['/', '/etc/passwd', true],
    ['/**', 'etc', false],
  ])('%s: %s is %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
  })

  test('agrees with picomatch', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', 'c'), minLength: 1, maxLength: 4 })
    const sign = fc.constantFrom('a', 'b', '.', '*', '?', '[ab]', '[^a]', '{a,bc}', 'c')
    const part = fc.oneof(
      { weight: 1, arbitrary: fc.constant('**') },
      { weight: 4, arbitrary: fc.array(sign, { minLength: 1, maxLength: 4 }).map((signs) => signs.join('')) },
    )
    const isName = (text: string) => !/^\.+$/.test(text)
    fc.assert(
      fc.property(
        fc.array(part.filter(isName), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
        fc.array(name.filter(isName), { minLength: 1, maxLength: 4 }).map((names) => names.join('/')),
        (pattern, path) => {
          // picomatch differs here: it matches `a` with `a/**`, but not with `*/**`.
          fc.pre(!/\*\*[^/]|[^/]\*\*|\*\/\*\*$/.test(pattern))
          // Seven pairs expand to more alternatives than a rule may have.
          fc.pre(pattern.split('{').length <= 7)
          expect(matches(pattern, path)).toBe(picomatch(pattern, { dot: true, nonegate: true })(path))
        },
      ),
      { numRuns: sized(1000) },
    )
  })

  test('that would hang a regular expression is matched quickly', () => {
    expect(matches(`${'*a'.repeat(500)}b`, 'a'.repeat(4000))).toBe(false)
    expect(matches(`${'**/a/'.repeat(200)}b`, 'a/'.repeat(2000))).toBe(false)
    expect(wildcard(`${'*a'.repeat(500)}b`)('a'.repeat(100_000))).toBe(false)
  })
})
