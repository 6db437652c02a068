import { describe, expect, test } from 'vitest'
import type { Budget } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { SpendingRow } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'

import { untilIdle } from '../threads/threads.test-kit.ts'
import type { Served } from './server.test-kit.ts'
import { byToken, served } from './server.test-kit.ts'

/** Each answer takes 1000 tokens in and 500 out, and costs 0.003 dollars. */
function priced(name: string, more: object = {}) {
  const model = scriptedModel(
    () => [{ text: 'Hello.' }, { usage: { inputTokens: 1000, outputTokens: 500 } }],
    { id: 'pricey' },
  )
  return agent({ name, model, prices: { pricey: { input: 1, output: 4 } }, ...more })
}

const auth = (request: Request) => {
  const caller = byToken(request)
  return caller && { ...caller, ...identities[caller.user] }
}
const identities: Readonly<Record<string, object>> = {
  operator: { canSee: () => true, canInspect: true },
  support: { canSee: () => true },
  eve: { canInspect: true },
}

async function spend({ app }: Served, user: string | undefined, agent: string, answers = 1) {
  const thread = app.thread(crypto.randomUUID(), { user, agent })
  for (let count = 0; count < answers; count++) {
    await thread.send('Hi')
    await untilIdle(thread)
  }
  return thread
}

async function read({ ask }: Served, query: string, as?: string) {
  const response = await ask('GET', `/spending${query}`, { as })
  const body = (await response.json()) as { spending?: SpendingRow[]; error?: { message: string } }
  return { status: response.status, ...body }
}

async function twoUsers(options = {}) {
  const desk = served({ desk: priced('desk'), shop: priced('shop') }, options)
  await spend(desk, 'ada', 'desk', 2)
  await spend(desk, 'bob', 'shop')
  return desk
}

describe('GET /spending', () => {
  test('returns one row with the total, or one for each combination of keys', async () => {
    const desk = await twoUsers()
    expect(await read(desk, '')).toEqual({
      status: 200,
      spending: [
        {
          usd: 0.009,
          estimatedUsd: 0,
          simulatedUsd: 0,
          unknown: 0,
          runs: 3,
          rounds: 3,
          toolCalls: 0,
          inputTokens: 3000,
          outputTokens: 1500,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          ms: expect.any(Number),
        },
      ],
    })
    const { spending } = await read(desk, '?by=user,agent')
    expect(spending?.map(({ user, agent, usd }) => [user, agent, usd])).toEqual([
      ['ada', 'desk', 0.006],
      ['bob', 'shop', 0.003],
    ])
  })

  test('can be limited to an agent, a user and days', async () => {
    const desk = await twoUsers()
    const usd = async (query: string) => (await read(desk, query)).spending?.map((row) => row.usd)
    expect(await usd('?by=agent&agent=shop')).toEqual([0.003])
    expect(await usd('?by=agent&user=ada')).toEqual([0.006])
    const [{ day } = {}] = (await read(desk, '?by=day')).spending ?? []
    expect(day).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(await usd(`?by=day&from=${day}&to=${day}`)).toEqual([0.009])
    expect(await usd('?by=day&from=2999-01-01')).toEqual([])
  })

  test('still has what a deleted thread has spent', async () => {
    const desk = served(priced('desk'))
    const thread = await spend(desk, 'ada', 'desk')
    await thread.delete()
    expect((await read(desk, '?by=user')).spending).toMatchObject([{ user: 'ada', usd: 0.003 }])
  })

  test.each([
    ['?by=week', "the query parameter 'by' must be one or more of day, agent, user, model and tool"],
    ['?from=yesterday', "the query parameter 'from' must be a day such as 2026-11-18"],
    ['?to=2026-02-30', "'to' must be a date such as '2026-11-18'"],
    ['?agent=', "the query parameter 'agent' must be text"],
  ])('rejects %s', async (query, message) => {
    const { status, error } = await read(served(priced('desk')), query)
    expect({ status, message: error?.message }).toEqual({
      status: 400,
      message: expect.stringContaining(message),
    })
  })
})

describe('with users', () => {
  test('a user only sees what they have spent themselves', async () => {
    const desk = await twoUsers({ auth })
    expect((await read(desk, '?by=user', 'ada')).spending).toMatchObject([{ user: 'ada', usd: 0.006 }])
    expect((await read(desk, '', 'bob')).spending).toMatchObject([{ usd: 0.003 }])
    expect((await read(desk, '?user=ada', 'ada')).spending).toMatchObject([{ usd: 0.006 }])
    expect(await read(desk, '?user=bob', 'ada')).toMatchObject({ status: 403 })
    expect(await read(desk, '')).toMatchObject({ status: 401 })
  })

  test('everything is visible to a user who may see and inspect all threads', async () => {
    const desk = await twoUsers({ auth })
    const users = async (as: string) => (await read(desk, '?by=user', as)).spending?.map(({ user }) => user)
    expect(await users('operator')).toEqual(['ada', 'bob'])
    expect((await read(desk, '?user=bob', 'operator')).spending).toMatchObject([{ usd: 0.003 }])
    expect(await users('support')).toEqual([])
    expect(await users('eve')).toEqual([])
  })
})

describe('GET /threads/:id', () => {
  async function threadOf(desk: Served, id: string) {
    return (await (await desk.ask('GET', `/threads/${id}`)).json()) as Record<string, unknown>
  }

  test('has the cost of a thread and how full its context is', async () => {
    const desk = served(priced('desk'))
    const { id } = await spend(desk, undefined, 'desk', 2)
    expect(await threadOf(desk, id)).toMatchObject({
      cost: { usd: 0.006, knownUsd: 0.006 },
      context: { tokens: expect.any(Number), history: expect.any(Number), tools: 0 },
    })
  })

  test('does not call an unknown cost zero', async () => {
    const desk = served(priced('desk', { prices: {} }))
    const { id } = await spend(desk, undefined, 'desk')
    expect((await threadOf(desk, id)).cost).toEqual({ knownUsd: 0, unknown: 1 })
  })

  test('says which limit has ended a run', async () => {
    const desk = served(priced('desk', { budget: { thread: { usd: 0.003 } } }))
    const { id } = await spend(desk, undefined, 'desk', 2)
    expect((await threadOf(desk, id)).run).toMatchObject({
      outcome: 'budget',
      limit: { scope: 'thread', kind: 'usd', limit: 0.003, spent: 0.003 },
    })
  })

  test('asks for more, and continues when it is allowed', async () => {
    const desk = served(priced('desk', { budget: { thread: { usd: 0.003 }, onLimit: 'ask' } }))
    const thread = await spend(desk, undefined, 'desk', 2)
    const { approvals } = await threadOf(desk, thread.id)
    const [{ callId, budget }] = approvals as [{ callId: string; budget: object }]
    expect(budget).toEqual({ scope: 'thread', kind: 'usd', limit: 0.003, spent: 0.003 })
    const body = { approved: true, input: { usd: 0.01 } }
    expect((await desk.ask('POST', `/threads/${thread.id}/approvals/${callId}`, { body })).status).toBe(202)
    await untilIdle(thread)
    expect(await threadOf(desk, thread.id)).toMatchObject({
      run: { outcome: 'completed' },
      cost: { usd: 0.006 },
    })
  })
})

test('the budget of an app replaces limits of its agents', async () => {
  const desk = served(priced('desk', { budget: { rounds: 5, usd: 10 } }), {}, { budget: { rounds: 0 } })
  const thread = await spend(desk, undefined, 'desk')
  expect((await thread.state()).run).toMatchObject({ outcome: 'budget', limit: { kind: 'rounds', limit: 0 } })
  expect(() => served(priced('desk'), {}, { budget: { usd: -1 } })).toThrow("'budget.usd' must be a number")
})

describe('a limit that a person is asked to raise', () => {
  /** A thread of ada's that waits for the decision. */
  async function asking(budget: Budget) {
    const desk = served(priced('desk', { budget: { ...budget, onLimit: 'ask' } }), { auth })
    const thread = desk.app.thread(crypto.randomUUID(), { user: 'ada' })
    await thread.send('Hi')
    await expect.poll(async () => (await thread.info()).status).toBe('waiting')
    const approve = (as: string, approved = true) =>
      desk.ask('POST', `/threads/${thread.id}/approvals/budget_1`, { as, body: { approved } })
    return { thread, approve }
  }

  test.each([{ userPerDay: { rounds: 0 } }, { agentPerDay: { tokens: 0 } }])(
    'per day, by those who may inspect threads: %j',
    async (budget) => {
      const { thread, approve } = await asking(budget)
      const refused = await approve('ada')
      expect(refused.status).toBe(403)
      expect(await refused.text()).toContain('may raise a budget per day')
      expect((await thread.info()).status).toBe('waiting')
      expect((await approve('operator')).status).toBe(202)
      await expect.poll(async () => (await thread.state()).run?.outcome).toBe('completed')
    },
  )

  test('per day can be denied by its user, and that of a run raised', async () => {
    const daily = await asking({ userPerDay: { rounds: 0 } })
    expect((await daily.approve('ada', false)).status).toBe(202)
    await expect.poll(async () => (await daily.thread.state()).run?.outcome).toBe('budget')
    const run = await asking({ rounds: 0 })
    expect((await run.approve('ada')).status).toBe(202)
    await expect.poll(async () => (await run.thread.state()).run?.outcome).toBe('completed')
  })
})
