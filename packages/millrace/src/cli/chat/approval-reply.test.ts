import { expect, test } from 'vitest'
import { readReply, replyHelp } from './approval-reply.ts'

const once = {}
const budget = { budget: { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 } } as const
const remembering = { remember: { rules: ['run(npm test)'], for: ['thread', 'always'] } } as const

test.each([
  ['y', { type: 'approve' }],
  [' YES ', { type: 'approve' }],
  ['n', { type: 'deny' }],
  ['no  too expensive\nfor us ', { type: 'deny', reason: 'too expensive\nfor us' }],
  ['e', { type: 'edit' }],
  ['e {"id": "ORD-1"}', { type: 'approve', input: { id: 'ORD-1' } }],
])('%j is clear', (text, reply) => {
  expect(readReply(text, once)).toEqual(reply)
})

test.each(['', 'yes please, and another thing', 'yy', 't', 'always', 'maybe', 'e [1]', 'e {"id":', 'e 3'])(
  '%j decides nothing',
  (text) => {
    expect(readReply(text, once)).toEqual({ type: 'unclear', message: expect.stringMatching(/./) })
  },
)

test.each([
  ['t', { type: 'approve', remember: 'thread' }],
  ['Always', { type: 'approve', remember: 'always' }],
  ['y', { type: 'approve' }],
  ['t, please', { type: 'unclear', message: expect.stringContaining('[t] allow in this thread') }],
])('%j is clear if approvals can be remembered', (text, reply) => {
  expect(readReply(text, remembering)).toEqual(reply)
})

test('always is only offered if the agent stores such rules', () => {
  const thread = { remember: { rules: ['run(npm test)'], for: ['thread'] } } as const
  expect(replyHelp(thread)).not.toContain('always')
  expect(readReply('a', thread)).toMatchObject({ type: 'unclear' })
})

test('a budget is answered with yes, no or another amount', () => {
  expect(replyHelp(budget)).toBe('[y] yes · [n] no · [e] change the amount')
  expect(readReply('y', budget)).toEqual({ type: 'approve' })
  expect(readReply('n', budget)).toEqual({ type: 'deny' })
  expect(readReply('e {"usd": 5}', budget)).toEqual({ type: 'approve', input: { usd: 5 } })
  expect(readReply('hm', budget)).toEqual({
    type: 'unclear',
    message: expect.stringContaining('the agent asks to spend more'),
  })
})
