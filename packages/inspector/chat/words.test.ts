import { expect, test } from 'vitest'
import { callTitle, countedNames, humanize, isCode, rulesText } from './words.ts'

test.each([
  ['look_up_order', 'Look up order'],
  ['lookUpOrder', 'Look up order'],
  ['github.list-issues', 'Github list issues'],
  ['readURL', 'ReadURL'],
  ['__', '__'],
])('the name %s reads %s', (name, words) => {
  expect(humanize(name)).toBe(words)
})

test('the tools of several calls are counted', () => {
  expect(countedNames(['look_up', 'pay', 'look_up'])).toEqual(['Look up ×2', 'Pay'])
})

test('the title of a call has its first short argument, or the beginning of its first text', () => {
  expect(callTitle('look_up_order', { note: 'a\nb', deep: {}, id: 'ORD-45', amount: 3 })).toBe(
    'Look up order ORD-45',
  )
  expect(callTitle('set', { to: 0 })).toBe('Set 0')
  expect(callTitle('list_orders', {})).toBe('List orders')
  expect(callTitle('list_orders', undefined)).toBe('List orders')
  expect(callTitle('write', { text: 'x'.repeat(60) })).toBe(`Write ${'x'.repeat(48)}…`)
  expect(callTitle('shell', { command: 'cd a\nls' })).toBe('Shell cd a⏎ls')
  expect(callTitle('shell', { command: ' ', deep: {} })).toBe('Shell')
})

test('code is recognized by its key or its line breaks', () => {
  expect(isCode('command', 'ls')).toBe(true)
  expect(isCode('body', 'a\nb')).toBe(true)
  expect(isCode('body', 'a')).toBe(false)
  expect(isCode('code', 200)).toBe(false)
})

test('rules are said in words', () => {
  expect(rulesText(['run(git *)'], 'always')).toBe('Always allow running `git *`.')
  expect(rulesText(['fetch(a (`b`))', 'pay#0123abcd', 'mail(*@a)'], 'thread')).toBe(
    'Allow fetching from ``a (`b`)``, calling `pay`, and calling `mail` with `*@a` in this thread without asking again.',
  )
})
