import { homedir } from 'node:os'
import { expect, test } from 'vitest'
import { decide, read } from './permission.test-kit.ts'
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
])('%s is a valid rule', (text) => {
  expect(ruleProblem(text)).toBeUndefined()
})

test.each([
  ['', 'is empty'],
  ['two words', 'can never match'],
  ['run, read', 'can never match'],
  ['(x)', 'can never match'],
  [' run', 'can never match'],
  ['x'.repeat(65), 'can never match'],
  ['run()', "has an empty pattern: write 'run' to match everything"],
  ['run(a', 'has unbalanced parentheses'],
  ['run(a))', 'has unbalanced parentheses'],
  ['run(a)(b)', 'has unbalanced parentheses'],
  ['run(a) ', 'has unbalanced parentheses'],
  ['run(a\\)', 'ends with a \\'],
  ['run( a)', 'has leading or trailing white space'],
  ['run(a )', 'has leading or trailing white space'],
  ['run(grep \\d)', "has a \\ before 'd', which has no effect"],
  ['my_tool(\\d)', "has a \\ before 'd'"],
  [`run(${'x'.repeat(5000)})`, 'is longer than 4096 characters'],
  ['fetch(https://x/y)', 'has no valid host: write only the host'],
  ['fetch(example.com:80)', 'write only the host'],
  ['fetch(user@example.com)', 'write only the host'],
  ['Fetch(https://x/y)', 'write only the host'],
  ['fetch(api.*.com)', '* works only at the start of a host name'],
  ['fetch(*.0.0.1)', 'has a * in an IP address'],
  ['read(../x)', "contains '..'"],
  ['write(a/../b)', "contains '..'"],
  ['read(/a/..)', "contains '..'"],
  ['read({a,..}/b)', "contains '..'"],
  ['read(!src/**)', 'starts with !'],
  ['read(@(a|b))', 'uses a group such as @(a|b)'],
  ['read(~root/x)', "starts with ~ but not with '~/'"],
  ['read([a)', 'has [ without ]'],
  ['read([])', 'has an empty set []'],
  ['read({a)', 'has unbalanced braces'],
  ['read(a}b{c)', 'has unbalanced braces'],
  ['read({a})', 'has braces without a comma'],
  [`read(${'{a,b}'.repeat(200)})`, 'expands to more than 64 alternatives'],
  [`read(${'{a,'.repeat(300)}b${'}'.repeat(300)})`, 'expands to more than 64 alternatives'],
  [undefined, 'a rule must be a string'],
  [['run'], 'a rule must be a string'],
])('%j is not a rule', (text, problem) => {
  expect(ruleProblem(text)).toContain(problem)
})

test('~ is the home folder', () => {
  const rules = {
    allow: ['read(~/.config/**)'],
    deny: ['read(~/.config/secret)'],
    otherwise: 'deny',
  } as const
  expect(decide(rules, [read(`${homedir()}/.config/a`)]).decision).toBe('allow')
  expect(decide(rules, [read(`${homedir()}/.config/secret`)]).rule).toBe('deny read(~/.config/secret)')
  expect(decide(rules, [read(`${homedir().toUpperCase()}/.CONFIG/Secret`)]).rule).toBe(
    'deny read(~/.config/secret)',
  )
  expect(decide(rules, [read('~/.config/a')]).decision).toBe('deny')
})
