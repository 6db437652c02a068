import { describe, expect, test } from 'vitest'
import type { PermissionOptions } from './permission.ts'
import { permission } from './permission.ts'
import { ruleProblem } from './rule.ts'

const [one, other] = ['A'.repeat(22), `_-${'b'.repeat(20)}`]

const decide = async (
  rules: PermissionOptions,
  granted: string[] = [],
  fingerprint: string | undefined = one,
) => permission(rules).decide({ name: 'pay', input: {}, access: undefined, fingerprint }, granted)

describe('a tool with a fingerprint', () => {
  test('is remembered with its fingerprint', async () => {
    expect(await decide({})).toMatchObject({ decision: 'ask', rules: [`pay#${one}`] })
    expect(await decide({}, [`pay#${one}`])).toMatchObject({ decision: 'allow' })
    expect(await decide({}, [`pay#${other}`])).toMatchObject({ decision: 'ask', rules: [`pay#${one}`] })
  })

  test.each(['pay', 'p*', '*'])('is not allowed by a grant for %s', async (rule) => {
    expect(await decide({}, [rule])).toMatchObject({ decision: 'ask', reason: 'Use pay?' })
    expect(await decide({ memory: { rules: () => [rule], add: async () => {} } })).toMatchObject({
      decision: 'ask',
    })
  })

  test('is allowed by the developer by name or by fingerprint', async () => {
    expect(await decide({ allow: ['pay'] })).toMatchObject({ decision: 'allow' })
    expect(await decide({ allow: ['p*'] })).toMatchObject({ decision: 'allow' })
    expect(await decide({ allow: [`pay#${one}`] })).toMatchObject({ decision: 'allow' })
    expect(await decide({ allow: [`pay#${other}`] })).toMatchObject({ decision: 'ask' })
    const readOnly = { mode: 'read-only', otherwise: 'allow' } as const
    expect(await decide({ ...readOnly, allow: [`pay#${one}`] })).toMatchObject({ decision: 'allow' })
    expect(await decide({ ...readOnly, allow: [`pay#${other}`] })).toMatchObject({ decision: 'deny' })
  })

  test('is denied and asked about whatever its fingerprint', async () => {
    expect(await decide({ allow: ['pay'], deny: [`pay#${other}`] })).toMatchObject({ decision: 'deny' })
    expect(await decide({ allow: ['pay'], ask: [`pay#${other}`] })).toMatchObject({ decision: 'ask' })
  })
})

test('a tool without a fingerprint is not allowed by a rule with one', async () => {
  const own = { name: 'pay', input: {}, access: undefined }
  expect(await permission().decide(own, [`pay#${one}`])).toMatchObject({ decision: 'ask', rules: ['pay'] })
  expect(await permission().decide(own, ['pay'])).toMatchObject({ decision: 'allow' })
})

test('a rule has a complete fingerprint or none', () => {
  expect(ruleProblem(`pay#${one}`)).toBeUndefined()
  for (const text of ['pay#', 'pay#abc', `pay#${one}x`, `#${one}`])
    expect(ruleProblem(text)).toContain('can never match')
})
