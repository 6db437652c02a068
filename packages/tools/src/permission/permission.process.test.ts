import type { PermissionMemory } from 'millrace'
import { describe, expect, test } from 'vitest'
import { run } from './permission.test-kit.ts'
import { permission } from './permission.ts'

describe('a memory', () => {
  const remembering = (rules: PermissionMemory['rules']) => ({ rules, add: async () => {} })
  const call = (command: string) => ({ name: 'shell', input: {}, access: [run(command)] })

  test('allows what people have always allowed', async () => {
    const policy = permission({ ask: ['run(ls)'], memory: remembering(() => ['run(ls)']) })
    expect(await policy.decide(call('ls'), [])).toMatchObject({
      decision: 'allow',
      rule: 'always allowed: run(ls)',
    })
    expect(await policy.decide(call('rm'), [])).toMatchObject({ decision: 'ask', rule: 'otherwise ask' })
  })

  test('and grants of a thread can allow a call together', async () => {
    const policy = permission({ memory: remembering(async () => ['run(b)']) })
    const decision = await policy.decide({ ...call(''), access: [run('a'), run('b')] }, ['run(a)'])
    expect(decision).toMatchObject({
      decision: 'allow',
      rule: 'allowed in this thread: run(a) and always allowed: run(b)',
    })
  })

  test('is not read if it cannot change the decision', () => {
    const memory = remembering(() => {
      throw new Error('was read')
    })
    const policy = permission({ allow: ['run(ls)'], deny: ['run(rm *)'], memory })
    expect(policy.decide(call('ls'), [])).toMatchObject({ decision: 'allow' })
    expect(policy.decide(call('rm x'), [])).toMatchObject({ decision: 'deny' })
    expect(permission({ mode: 'read-only', memory }).decide(call('rm'), [])).toMatchObject({
      decision: 'deny',
    })
    expect(policy.memory).toBe(memory)
  })

  test('that fails makes the decision fail, so that nothing is allowed by accident', async () => {
    const policy = permission({
      memory: remembering(() => {
        throw new Error('broken')
      }),
    })
    await expect(policy.decide(call('ls'), [])).rejects.toThrow('broken')
  })
})

describe('options', () => {
  test.each([
    [{ alow: [] }, "permission(): the option 'alow' does not exist: did you mean 'allow'?"],
    [{ allow: 'read' }, "'allow' must be an array of rules, not a string"],
    [{ deny: ['run()'] }, "'deny' cannot be used: the rule 'run()' has an empty pattern"],
    [{ otherwise: 'maybe' }, "'otherwise' must be 'allow' or 'ask' or 'deny'"],
    [{ mode: 'safe' }, "'mode' must be 'read-only'"],
    [{ memory: 'file.json' }, "'memory' must be a memory, such as permissionFile(path)"],
  ])('%j is rejected', (options, message) => {
    expect(() => permission(options as never)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(message) }),
    )
  })

  test('must be one object', () => {
    expect(() => permission(['read'] as never)).toThrow(
      'permission() takes one object of options, not an array',
    )
  })
})
