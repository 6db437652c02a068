import { expect, test } from 'vitest'
import { splitCode } from './code-spans.ts'

test('backtick spans are split from the text around them', () => {
  expect(splitCode('Run `ls` and `wc -l`?')).toEqual(['Run ', 'ls', ' and ', 'wc -l', '?'])
  expect(splitCode('Refund ORD-42?')).toEqual(['Refund ORD-42?'])
})

test.each(['Run `echo `id``?', 'Run `a', 'a`b`c', '``'])('%s is shown literally', (text) => {
  expect(splitCode(text)).toEqual([text])
})
