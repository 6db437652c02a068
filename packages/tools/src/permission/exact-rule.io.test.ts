import fc from 'fast-check'
import type { Access } from 'millrace'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { decide, fetch, read, run, write } from './permission.test-kit.ts'
import { ruleProblem } from './rule.ts'

const rulesFor = (access: readonly Access[] | undefined, name = 'shell') => decide({}, access, { name }).rules

describe('rules to remember', () => {
  test('cover exactly what was asked', () => {
    expect(rulesFor([run('npm test')])).toEqual(['run(npm test)'])
    expect(rulesFor([run('a'), write('b'), run('a'), fetch('c.org')])).toEqual([
      'run(a)',
      'write(b)',
      'fetch(c.org)',
    ])
    expect(decide({ allow: ['run(a)'] }, [run('a'), run('b')]).rules).toEqual(['run(b)'])
    expect(rulesFor(undefined, 'lookup_order')).toEqual(['lookup_order'])
    expect(decide({ ask: ['shell'] }, []).rules).toEqual(['shell'])
  })

  test('name the whole line if a command alone is not clear', () => {
    expect(rulesFor([run('echo $X > *', { opaque: true })])).toEqual(['run(echo $X > \\*)'])
    const line = 'cat a.py | python3 -'
    const fed = (line: string) => run('python3 -', { opaque: true, form: 'python3', varies: true, line })
    expect(rulesFor([fed(line)])).toEqual([`run(${line})`])
    const granted = [`run(${line})`]
    expect(decide({}, [fed(line)], { granted }).decision).toBe('allow')
    expect(decide({}, [fed('cat b.py | python3 -')], { granted }).decision).toBe('ask')
    expect(decide({}, [run('python3 -', { opaque: true, form: 'python3' })], { granted }).decision).toBe(
      'ask',
    )
  })

  test('escape special characters with \\', () => {
    expect(rulesFor([run('echo * (a) \\')])).toEqual(['run(echo \\* \\(a\\) \\\\)'])
    expect(rulesFor([run('ls a?')])).toEqual(['run(ls a?)'])
    expect(rulesFor([read('app/[id]/{x}.ts')])).toEqual(['read(app/\\[id\\]/\\{x\\}.ts)'])
    expect(rulesFor([read('~/x')])).toEqual(['read(\\~/x)'])
    expect(rulesFor([read('!x')])).toEqual(['read(\\!x)'])
  })

  test.each([
    ['a file that is known only at run time', [write('$X', { opaque: true })]],
    ['a command that does something else in another folder', [run('make', { varies: true })]],
    ['such a command next to another', [run('ls'), run('make', { varies: true })]],
    ['a path that may be denied', [read('../x')]],
    ['the root folder, since its rule would match everything', [read('/')]],
    ['a command longer than a rule can be', [run(`echo ${'x'.repeat(5000)}`)]],
    ['an empty command', [run('')]],
    ['an invalid host', [fetch('a b')]],
  ])('do not exist for %s', (_, access) => {
    expect(decide({}, access)).not.toHaveProperty('rules')
  })

  test('do not exist if the call would still need approval', () => {
    expect(decide({ ask: ['pay(x)'] }, undefined, { name: 'pay' })).not.toHaveProperty('rules')
  })

  test('do not exist for a tool named like a kind of access', () => {
    expect(rulesFor(undefined, 'read')).toBeUndefined()
  })

  test('allow the same access from then on, and nothing else', () => {
    const text = fc.string({
      unit: fc.constantFrom(...'ab/.*?[]{}()!~\\ ,-+@|\'"$', '\n'),
      minLength: 1,
      maxLength: 12,
    })
    const access = fc.oneof(
      text.map((command) => run(command)),
      text.map((path) => read(path.replaceAll(/\/+/g, '/'))),
    )
    fc.assert(
      fc.property(access, access, (one, other) => {
        const { decision, rules: granted = [] } = decide({}, [one])
        expect(decision).toBe('ask')
        fc.pre(granted.length > 0)
        expect(granted.map(ruleProblem)).toEqual([undefined])
        expect(decide({}, [one], { granted }).decision).toBe('allow')
        const same = decide({}, [other]).rules?.join() === granted.join()
        const tidy = (access: Access) =>
          access.kind === 'read'
            ? access.path.split('/').filter((name) => !['', '.'].includes(name))
            : undefined
        const alike = one.kind === 'read' && String(tidy(one)) === String(tidy(other))
        if (!same && !alike) expect(decide({}, [other], { granted }).decision).toBe('ask')
      }),
      { numRuns: sized(2000) },
    )
  })
})
