import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { storyteller } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Caller, Protocol } from './index.ts'
import { byToken, served } from './server.test-kit.ts'

/** Answers with what `use` returns for the caller. */
function protocolWith(use: (caller: Caller) => Promise<unknown>): Protocol {
  return {
    name: 'test',
    mount: () => ({
      routes: [
        { method: 'POST', path: '/use', handle: async ({ caller }) => Response.json(await use(caller)) },
      ],
    }),
  }
}

async function used(use: (caller: Caller) => Promise<unknown>) {
  const given = served(storyteller(), { auth: byToken, protocols: [protocolWith(use)] })
  const useAs = async (as: string) => (await given.ask('POST', '/use', { as })).json()
  return { ...given, useAs }
}

describe('a caller', () => {
  test('finds inputs by their keys, in threads that it can see, those created last first', async () => {
    const { app, useAs } = await used(async (caller) =>
      (await caller.findInputs('key')).map(({ info, input }) => [info.id, input]),
    )
    expect(await useAs('ann')).toEqual([])
    for (const id of ['one', 'two', 'three']) {
      const thread = app.thread(id, { user: id === 'two' ? 'bob' : 'ann' })
      await thread.create()
      await thread.send('Hello', { key: 'another' })
    }
    for (const id of ['three', 'two', 'one']) await app.thread(id).send('Hello again', { key: 'key' })
    const [one] = (await useAs('ann')).slice(-1)
    expect(await useAs('ann')).toEqual([['three', expect.any(Number)], one])
    expect(await app.thread('one').inputOf('key')).toBe(one[1])
    expect(await useAs('bob')).toEqual([['two', expect.any(Number)]])
    await app.thread('three').delete()
    expect(await useAs('ann')).toEqual([one])
    const messages = [{ role: 'user', content: 'Hello' }] as const
    for (let nth = 0; nth < 21; nth++)
      await app.thread(`copy${nth}`, { user: 'ann' }).create({ messages, keys: ['key'] })
    const found = await useAs('ann')
    expect(found).toHaveLength(20)
    expect(found[0]).toEqual(['copy20', 1])
  })

  test('owns its forks', async () => {
    const { app, ask, useAs } = await used(async (caller) => {
      const found = await caller.getThread('one')
      return (await caller.forkThread(found, 1, { id: 'fork' })).info
    })
    await app.thread('one', { user: 'ann' }).send('Hello')
    expect((await ask('POST', '/use', { as: 'bob' })).status).toBe(404)
    expect(await useAs('ann')).toMatchObject({
      id: 'fork',
      user: 'ann',
      forkedFrom: { id: 'one', seq: 1 },
    })
    expect((await ask('POST', '/use', { as: 'ann' })).status).toBe(409)
  })

  test('knows how many requests it has left', async () => {
    const { useAs } = await used(async (caller) => {
      const before = caller.requests
      caller.rateLimit()
      return [before, caller.requests]
    })
    const [before, after] = await useAs('ann')
    expect(before.limit).toBe(200)
    expect(before.remaining).toBe(199)
    // The bucket fills with 50 requests a second.
    expect(before.resetMs).toBeGreaterThan(0)
    expect(before.resetMs).toBeLessThanOrEqual(20)
    expect(after.remaining).toBe(198)
  })
})

test("a failure keeps the time to wait, and the provider's status where a client needs it", async () => {
  const failures = [
    ['rate_limit', 429],
    ['overloaded', 529],
    ['context_overflow', 400],
    ['auth', 403],
  ] as const
  const read = protocolWith(async (caller) => {
    const { thread } = await caller.createThread({})
    await thread.send('Hello')
    for await (const { event } of thread.follow({ until: 'idle' }))
      if (event.type === 'run-end') return event.error
    return undefined
  })
  for (const [code, status] of failures) {
    const error = { code, status, retryAfterMs: 1500, retryable: false, message: 'key sk-1' }
    const model = scriptedModel(() => [{ error }])
    const { ask } = served(agent({ model }), { auth: byToken, protocols: [read] })
    const found = await (await ask('POST', '/use', { as: 'ann' })).json()
    expect(found).toEqual({
      ...{ op: expect.any(String), code, retryable: false, retryAfterMs: 1500 },
      message: expect.not.stringContaining('sk-1'),
      ...(code !== 'auth' && { status }),
    })
  }
})
