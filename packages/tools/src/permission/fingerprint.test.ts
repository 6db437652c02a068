import { describe, expect, test } from 'vitest'
import type { PermissionOptions } from './permission.ts'
import { permission } from './permission.ts'
import { ruleProblem } from './rule.ts'

const [one, other] = ['A'.repeat(22), `_-${'b'.repeat(20)}`]

const judge = async (
  rules: PermissionOptions,
  granted: string[] = [],
  fingerprint: string | undefined = one,
) => permission(rules).judge({ name: 'pay', input: {}, access: undefined, fingerprint }, granted)

describe('a tool that others describe', () => {
  test('is remembered as it is described', async () => {
    expect(await judge({})).toMatchObject({ decision: 'ask', rules: [`pay#${one}`] })
    expect(await judge({}, [`pay#${one}`])).toMatchObject({ decision: 'allow' })
    expect(await judge({}, [`pay#${other}`])).toMatchObject({ decision: 'ask', rules: [`pay#${one}`] })
  })

  test.each(['pay', 'p*', '*'])('is not what a person has allowed as %s', async (rule) => {
    expect(await judge({}, [rule])).toMatchObject({ decision: 'ask', reason: 'it would use pay' })
    expect(await judge({ memory: { rules: () => [rule], add: async () => {} } })).toMatchObject({
      decision: 'ask',
    })
  })

  test('is what the developer allows by its name, or by one description of it', async () => {
    expect(await judge({ allow: ['pay'] })).toMatchObject({ decision: 'allow' })
    expect(await judge({ allow: ['p*'] })).toMatchObject({ decision: 'allow' })
    expect(await judge({ allow: [`pay#${one}`] })).toMatchObject({ decision: 'allow' })
    expect(await judge({ allow: [`pay#${other}`] })).toMatchObject({ decision: 'ask' })
    const readOnly = { mode: 'read-only', otherwise: 'allow' } as const
    expect(await judge({ ...readOnly, allow: [`pay#${one}`] })).toMatchObject({ decision: 'allow' })
    expect(await judge({ ...readOnly, allow: [`pay#${other}`] })).toMatchObject({ decision: 'deny' })
  })

  test('is denied and asked about however it is described', async () => {
    expect(await judge({ allow: ['pay'], deny: [`pay#${other}`] })).toMatchObject({ decision: 'deny' })
    expect(await judge({ allow: ['pay'], ask: [`pay#${other}`] })).toMatchObject({ decision: 'ask' })
  })
})

test('a tool of our own is not what was allowed for one description', async () => {
  const own = { name: 'pay', input: {}, access: undefined }
  expect(await permission().judge(own, [`pay#${one}`])).toMatchObject({ decision: 'ask', rules: ['pay'] })
  expect(await permission().judge(own, ['pay'])).toMatchObject({ decision: 'allow' })
})

test('a rule has a whole fingerprint or none', () => {
  expect(ruleProblem(`pay#${one}`)).toBeUndefined()
  for (const text of ['pay#', 'pay#abc', `pay#${one}x`, `#${one}`])
    expect(ruleProblem(text)).toContain('can never match')
})
