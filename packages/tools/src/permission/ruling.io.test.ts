import { describe, expect, test } from 'vitest'
import { fetch, judge, read, run, write } from './permission.test-kit.ts'

describe('the reason', () => {
  const reason = (...args: Parameters<typeof judge>) => judge(...args).reason

  test('tells a person what would be done', () => {
    expect(reason({}, [run('git push origin main')])).toBe('it would run `git push origin main`')
    expect(reason({ allow: ['run'] }, [run('cat'), write('a'), read('b')])).toBe(
      'it would write `a` and read `b`',
    )
    expect(
      reason(
        {},
        [1, 2, 3, 4, 5].map((n) => fetch(`h${n}.org`)),
      ),
    ).toBe(
      'it would fetch from `h1.org`, fetch from `h2.org`, fetch from `h3.org`, fetch from `h4.org` and fetch from `h5.org`',
    )
    expect(reason({}, undefined, { name: 'pay' })).toBe('it would use pay')
    expect(reason({}, [run('$X', { opaque: true })])).toBe(
      'it would run `$X` (what that comes to is known only when it runs)',
    )
  })

  test('speaks of the files that come with a command only if they are the matter', () => {
    const removes = [run('rm a'), write('a', { implied: true })]
    expect(judge({ allow: ['run'] }, removes).reason).toBe('it may run `rm a`')
    expect(judge({}, removes)).toMatchObject({ reason: 'it would run `rm a`', rules: ['run(rm a)'] })
    expect(judge({ allow: ['run'], ask: ['write'] }, removes)).toMatchObject({
      reason: 'it would write `a`',
      rules: ['write(a)'],
    })
    expect(reason({ allow: ['run'], deny: ['write(a)'] }, removes)).toMatch(
      /^writing `a` is not allowed here \(rule: write\(a\)\)/,
    )
  })

  test('tells a model what is not allowed, and not to look for a way round', () => {
    expect(reason({ deny: ['run(rm *)'] }, [run('ls'), run('rm -rf ~')])).toBe(
      'running `rm -rf ~` is not allowed here (rule: run(rm *)). Do not try to get around this: use what is allowed, or tell the user what you need and why',
    )
    expect(reason({ otherwise: 'deny' }, [read('a'), fetch('b.org')])).toMatch(
      /^reading `a` and fetching from `b.org` are not allowed here \(no rule allows it\)/,
    )
    expect(reason({ mode: 'read-only' }, [write('a')])).toMatch(
      /^writing `a` is not allowed here \(read-only: nothing may be changed\)/,
    )
    expect(reason({ mode: 'read-only' }, undefined, { name: 'pay' })).toMatch(
      /^using pay is not allowed here \(read-only, and it does not say what it touches\)/,
    )
  })

  test('is one line of bounded length that shows what would otherwise be hidden', () => {
    expect(reason({}, [run("echo 'a\nb\u202e\x1b[2K'")])).toBe(
      "it would run `echo 'a\\nb\\u{202e}\\u001b[2K'`",
    )
    const long = reason({}, [run(`echo ${'x'.repeat(10_000)} end`)])
    expect(long.length).toBeLessThan(400)
    expect(long).toMatch(/ … x+ end`$/)
  })
})
