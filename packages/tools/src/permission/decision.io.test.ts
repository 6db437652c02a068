import { describe, expect, test } from 'vitest'
import { decide, fetch, read, run, write } from './permission.test-kit.ts'

describe('the reason', () => {
  const reason = (...args: Parameters<typeof decide>) => decide(...args).reason

  test('asks a person about what would be done', () => {
    expect(reason({}, [run('git push origin main')])).toBe('Run `git push origin main`?')
    expect(reason({ allow: ['run'] }, [run('cat'), write('a'), read('b')])).toBe('Write `a` and read `b`?')
    expect(
      reason(
        {},
        [1, 2, 3, 4, 5].map((n) => fetch(`h${n}.org`)),
      ),
    ).toBe('Fetch from `h1.org`, `h2.org`, `h3.org`, `h4.org` and `h5.org`?')
    expect(reason({}, undefined, { name: 'pay' })).toBe('Use pay?')
    expect(reason({}, [run('$X', { opaque: true })])).toBe(
      'Run `$X` (what it does is known only when it runs)?',
    )
  })

  test('mentions implied files only if they decide', () => {
    const removes = [run('rm a'), write('a', { implied: true })]
    expect(decide({ allow: ['run'] }, removes).reason).toBe('running `rm a` is allowed')
    expect(decide({}, removes)).toMatchObject({ reason: 'Run `rm a`?', rules: ['run(rm a)'] })
    expect(decide({ allow: ['run'], ask: ['write'] }, removes)).toMatchObject({
      reason: 'Write `a`?',
      rules: ['write(a)'],
    })
    expect(reason({ allow: ['run'], deny: ['write(a)'] }, removes)).toMatch(
      /^writing `a` is not allowed here \(rule: write\(a\)\)/,
    )
  })

  test('tells the model what is not allowed, and not to look for a way around it', () => {
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
      /^using pay is not allowed here \(read-only, and the tool does not declare what it accesses\)/,
    )
  })

  test('is one line of limited length that shows invisible characters', () => {
    expect(reason({}, [run("echo 'a\nb\u202e\x1b[2K'")])).toBe("Run `echo 'a\\nb\\u{202e}\\u001b[2K'`?")
    expect(reason({}, [run('`a` ``b')])).toBe('Run ``` `a` ``b ```?')
    const long = reason({}, [run(`echo ${'x'.repeat(10_000)} end`)])
    expect(long.length).toBeLessThan(400)
    expect(long).toMatch(/ … x+ end`\?$/)
  })
})
