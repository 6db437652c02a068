import { expect, test } from 'vitest'
import { readReply } from './reply.ts'

test.each([
  ['y', { type: 'approve' }],
  [' YES ', { type: 'approve' }],
  ['n', { type: 'decline' }],
  ['no  too dear\nfor us ', { type: 'decline', reason: 'too dear\nfor us' }],
  ['e', { type: 'edit' }],
  ['e {"id": "ORD-1"}', { type: 'approve', input: { id: 'ORD-1' } }],
])('%j is clear', (text, reply) => {
  expect(readReply(text)).toEqual(reply)
})

test.each(['', 'yes please, and another thing', 'yy', 'maybe', 'e [1]', 'e {"id":', 'e 3'])(
  '%j decides nothing',
  (text) => {
    expect(readReply(text)).toEqual({ type: 'unclear', message: expect.stringMatching(/./) })
  },
)
