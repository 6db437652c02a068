import { expect, test } from 'vitest'
import { codeSpan, splitCode } from './code-spans.ts'

test('code spans are split from the text around them', () => {
  expect(splitCode('Run `ls` and `wc -l`?')).toEqual(['Run ', 'ls', ' and ', 'wc -l', '?'])
  expect(splitCode('Refund ORD-42?')).toEqual(['Refund ORD-42?'])
})

test.each(['ls', 'echo `id`', '`id`', 'a ``b`` `', '`'])(
  '%s is a code span, whatever backticks it has',
  (code) => {
    expect(splitCode(`Run ${codeSpan(code)} and ${codeSpan('ls')}?`)).toEqual([
      'Run ',
      code,
      ' and ',
      'ls',
      '?',
    ])
  },
)

test.each(['Run `echo `id``?', 'Run `a', 'a`b`c', '``', 'Run `a` b` c`?', 'Run ``a`?'])(
  '%s is shown literally',
  (text) => {
    expect(splitCode(text)).toEqual([text])
  },
)
