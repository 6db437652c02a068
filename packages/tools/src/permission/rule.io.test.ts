import { homedir } from 'node:os'
import { expect, test } from 'vitest'
import { judge, read } from './permission.test-kit.ts'
import { ruleProblem } from './rule.ts'

test.each([
  'run',
  'read',
  '*',
  'github_*',
  'lookup-order',
  'run(git diff *)',
  'run(*)',
  'run(echo \\*)',
  'run(f (x))',
  'write(src/)',
  'write(app/(group)/page.tsx)',
  'read(~)',
  'read(~/.ssh/**)',
  'read(\\~/x)',
  'read(a..b/...)',
  'read({a,b}/{c,{d,e}}.ts)',
  'fetch(*)',
  'fetch(localhost)',
  'fetch([::1])',
  'fetch(10.0.0.1)',
  'my_tool(anything ../at all)',
])('%s is a rule', (text) => {
  expect(ruleProblem(text)).toBeUndefined()
})

test.each([
  ['', 'is empty'],
  ['two words', 'can never match'],
  ['run, read', 'can never match'],
  ['(x)', 'can never match'],
  [' run', 'can never match'],
  ['x'.repeat(65), 'can never match'],
  ['run()', "has an empty pattern: write 'run' if you mean all of it"],
  ['run(a', 'has parentheses that do not pair up'],
  ['run(a))', 'has parentheses that do not pair up'],
  ['run(a)(b)', 'has parentheses that do not pair up'],
  ['run(a) ', 'has parentheses that do not pair up'],
  ['run(a\\)', 'ends with a \\'],
  ['run( a)', 'has white space at an end of its pattern'],
  ['run(a )', 'has white space at an end of its pattern'],
  ['run(grep \\d)', "has a \\ before 'd', where it means nothing"],
  ['my_tool(\\d)', "has a \\ before 'd'"],
  [`run(${'x'.repeat(5000)})`, 'is longer than 4096 characters'],
  ['fetch(https://x/y)', 'has no host in it: give the host alone'],
  ['fetch(example.com:80)', 'give the host alone'],
  ['fetch(user@example.com)', 'give the host alone'],
  ['Fetch(https://x/y)', 'give the host alone'],
  ['fetch(api.*.com)', 'a * may only stand for the front of a name'],
  ['fetch(*.0.0.1)', 'has a * in an address'],
  ['read(../x)', "has '..' in it"],
  ['write(a/../b)', "has '..' in it"],
  ['read(/a/..)', "has '..' in it"],
  ['read({a,..}/b)', "has '..' in it"],
  ['read(!src/**)', 'begins with a !'],
  ['read(@(a|b))', 'has a group such as @(a|b)'],
  ['read(~root/x)', "begins with a ~ that is not '~/'"],
  ['read([a)', 'has a [ without a ]'],
  ['read([])', 'has nothing between [ and ]'],
  ['read({a)', 'has { without }'],
  ['read(a}b{c)', 'has { without }'],
  ['read({a})', 'has braces without a comma'],
  [`read(${'{a,b}'.repeat(200)})`, 'spells more than 64 alternatives'],
  [`read(${'{a,'.repeat(300)}b${'}'.repeat(300)})`, 'spells more than 64 alternatives'],
  [undefined, 'a rule is text'],
  [['run'], 'a rule is text'],
])('%j is none', (text, problem) => {
  expect(ruleProblem(text)).toContain(problem)
})

test('~ is the home folder', () => {
  const rules = {
    allow: ['read(~/.config/**)'],
    deny: ['read(~/.config/secret)'],
    otherwise: 'deny',
  } as const
  expect(judge(rules, [read(`${homedir()}/.config/a`)]).decision).toBe('allow')
  expect(judge(rules, [read(`${homedir()}/.config/secret`)]).rule).toBe('deny read(~/.config/secret)')
  expect(judge(rules, [read(`${homedir().toUpperCase()}/.CONFIG/Secret`)]).rule).toBe(
    'deny read(~/.config/secret)',
  )
  expect(judge(rules, [read('~/.config/a')]).decision).toBe('deny')
})
