import fc from 'fast-check'
import type { Access } from 'millrace'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { fetch, judge, read, run, write } from './permission.test-kit.ts'
import { ruleProblem } from './rule.ts'

const rulesFor = (access: readonly Access[] | undefined, name = 'shell') => judge({}, access, { name }).rules

describe('what may be remembered', () => {
  test('is just what was asked about', () => {
    expect(rulesFor([run('npm test')])).toEqual(['run(npm test)'])
    expect(rulesFor([run('a'), write('b'), run('a'), fetch('c.org')])).toEqual([
      'run(a)',
      'write(b)',
      'fetch(c.org)',
    ])
    expect(judge({ allow: ['run(a)'] }, [run('a'), run('b')]).rules).toEqual(['run(b)'])
    expect(rulesFor(undefined, 'lookup_order')).toEqual(['lookup_order'])
    expect(judge({ ask: ['shell'] }, []).rules).toEqual(['shell'])
  })

  test('is a line as a whole where its words do not say all', () => {
    expect(rulesFor([run('echo $X > *', { opaque: true })])).toEqual(['run(echo $X > \\*)'])
    const line = 'cat a.py | python3 -'
    const fed = (line: string) => run('python3 -', { opaque: true, form: 'python3', varies: true, line })
    expect(rulesFor([fed(line)])).toEqual([`run(${line})`])
    const granted = [`run(${line})`]
    expect(judge({}, [fed(line)], { granted }).decision).toBe('allow')
    expect(judge({}, [fed('cat b.py | python3 -')], { granted }).decision).toBe('ask')
    expect(judge({}, [run('python3 -', { opaque: true, form: 'python3' })], { granted }).decision).toBe('ask')
  })

  test('has a \\ before what would mean something else', () => {
    expect(rulesFor([run('echo * (a) \\')])).toEqual(['run(echo \\* \\(a\\) \\\\)'])
    expect(rulesFor([run('ls a?')])).toEqual(['run(ls a?)'])
    expect(rulesFor([read('app/[id]/{x}.ts')])).toEqual(['read(app/\\[id\\]/\\{x\\}.ts)'])
    expect(rulesFor([read('~/x')])).toEqual(['read(\\~/x)'])
    expect(rulesFor([read('!x')])).toEqual(['read(\\!x)'])
  })

  test.each([
    ['a file that is known only when it runs', [write('$X', { opaque: true })]],
    ['what does something else in another folder', [run('make', { varies: true })]],
    ['that beside something else', [run('ls'), run('make', { varies: true })]],
    ['what may be what is denied', [read('../x')]],
    ['the root of all, which as a rule is everything', [read('/')]],
    ['more than a rule can hold', [run(`echo ${'x'.repeat(5000)}`)]],
    ['nothing at all', [run('')]],
    ['what is no host', [fetch('a b')]],
  ])('is nothing for %s', (_, access) => {
    expect(judge({}, access)).not.toHaveProperty('rules')
  })

  test('is nothing where it would be asked about all the same', () => {
    expect(judge({ ask: ['pay(x)'] }, undefined, { name: 'pay' })).not.toHaveProperty('rules')
  })

  test('is nothing for a tool that has the name of a kind', () => {
    expect(rulesFor(undefined, 'read')).toBeUndefined()
  })

  test('lets that pass from then on, and nothing else', () => {
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
        const { decision, rules: granted = [] } = judge({}, [one])
        expect(decision).toBe('ask')
        fc.pre(granted.length > 0)
        expect(granted.map(ruleProblem)).toEqual([undefined])
        expect(judge({}, [one], { granted }).decision).toBe('allow')
        const same = judge({}, [other]).rules?.join() === granted.join()
        const tidy = (access: Access) =>
          access.kind === 'read'
            ? access.path.split('/').filter((name) => !['', '.'].includes(name))
            : undefined
        const alike = one.kind === 'read' && String(tidy(one)) === String(tidy(other))
        if (!same && !alike) expect(judge({}, [other], { granted }).decision).toBe('ask')
      }),
      { numRuns: sized(2000) },
    )
  })
})
