import { expect, test } from 'vitest'
import { piecesOf } from './marked.tsx'

test.each([
  ['The hub in Lyon', 'lyon', ['The hub in ', 'Lyon', '']],
  ['The hub in Lyon', 'LYON hub', ['The ', 'hub', ' in ', 'Lyon', '']],
  ['orders, order', 'order orders', ['', 'orders', ', ', 'order', '']],
  ['What (exactly)?', '(exactly)?', ['What ', '(exactly)?', '']],
  ['as it is', '  ', ['as it is']],
])('in %o the words of %o are marked', (text, search, pieces) => {
  expect(piecesOf(text, search)).toEqual(pieces)
})
