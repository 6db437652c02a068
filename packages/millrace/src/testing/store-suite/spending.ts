import assert from 'node:assert/strict'
import type {
  Paid,
  RoundEndEvent,
  RunEndEvent,
  RunEvent,
  SpendingOptions,
  SpendingRow,
  ToolProgressEvent,
  ToolResultEvent,
} from '../../protocol/index.ts'
import type { Lease } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, leaseMs, rejectsWith, textDelta, userInput } from './context.ts'

const hourMs = 3_600_000

const zero: SpendingRow = {
  usd: 0,
  estimatedUsd: 0,
  simulatedUsd: 0,
  unknown: 0,
  runs: 0,
  rounds: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  ms: 0,
}

export function roundEnd(usd: number, more: Partial<RoundEndEvent> = {}): RoundEndEvent {
  const usage = { inputTokens: 100, outputTokens: 10 }
  const cost = { usd, prices: 'custom' }
  return { type: 'round-end', round: 1, model: 'm', finish: 'stop', usage, cost, ...more }
}

/** The end of a request whose price is not known. */
function unpriced(paid: Paid): RoundEndEvent {
  return { type: 'round-end', round: 1, model: 'm', finish: 'stop', ...paid }
}

export function toolResult(name: string, usd?: number): ToolResultEvent {
  return {
    type: 'tool-result',
    callId: 'c',
    name,
    output: [],
    status: 'ok',
    isError: false,
    ms: 5,
    overlapMs: 0,
    ...(usd !== undefined && { cost: { usd, prices: 'reported' } }),
  }
}

function runEnd(ms: number): RunEndEvent {
  const usage = {
    inputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  }
  return { type: 'run-end', outcome: 'completed', usage, ms } as RunEndEvent
}

function progress(name: string, agent: string, event: RunEvent): ToolProgressEvent {
  return { type: 'tool-progress', callId: 'c', name, agent, event }
}

/** A thread that a worker owns. */
export async function ownedBy(
  store: SuiteStore,
  id: string,
  { agent = 'a', user }: { readonly agent?: string; readonly user?: string | undefined } = {},
): Promise<Lease> {
  assert.equal(await store.create({ id, agent, ...(user !== undefined && { user }) }), true)
  await store.signal(id, undefined, userInput('hello'))
  return claimed(store, id, `worker of ${id}`)
}

/** Rows without the sums that are zero. */
async function spendingOf(store: SuiteStore, options: SpendingOptions) {
  const rows = await store.spending(options)
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== 0)))
}

async function usdOf(store: SuiteStore, options: Partial<SpendingOptions> = {}): Promise<number> {
  const [row] = await store.spending({ by: [], ...options })
  return row?.usd ?? Number.NaN
}

export const spendingCases: Cases = {
  'what is spent is added up by day, agent, user, model and tool': async ({ store, other }) => {
    const ada = await ownedBy(store, 't', { user: 'ada' })
    const bob = await ownedBy(store, 'u', { user: 'bob', agent: 'b' })
    const userless = await ownedBy(store, 'v')
    const usage = { inputTokens: 1000, outputTokens: 20, cacheReadTokens: 600, cacheWriteTokens: 50 }
    await store.append([
      { lease: ada, events: [textDelta('hi'), roundEnd(0.5, { usage }), toolResult('search', 0.25)] },
      { lease: bob, events: [roundEnd(1, { model: 'large' }), runEnd(300)] },
      { lease: userless, events: [toolResult('search')] },
    ])
    await other.append([{ lease: ada, events: [roundEnd(0.5), runEnd(1500)] }])
    const day = '2023-11-14'
    assert.deepEqual(await spendingOf(other, { by: ['day', 'agent', 'user', 'model', 'tool'] }), [
      { day, agent: 'a', tool: 'search', toolCalls: 1 },
      { day, agent: 'a', user: 'ada', runs: 1, ms: 1500 },
      { day, agent: 'a', user: 'ada', tool: 'search', usd: 0.25, toolCalls: 1 },
      {
        ...{ day, agent: 'a', user: 'ada', model: 'm', usd: 1, rounds: 2 },
        ...{ inputTokens: 1100, outputTokens: 30, cacheReadTokens: 600, cacheWriteTokens: 50 },
      },
      { day, agent: 'b', user: 'bob', runs: 1, ms: 300 },
      { day, agent: 'b', user: 'bob', model: 'large', usd: 1, rounds: 1, inputTokens: 100, outputTokens: 10 },
    ])
    assert.deepEqual(
      (await store.spending({ by: ['user'] })).map(({ user, usd, toolCalls }) => [user, usd, toolCalls]),
      [
        [undefined, 0, 1],
        ['ada', 1.25, 1],
        ['bob', 1, 0],
      ],
    )
    assert.deepEqual(
      (await store.spending({ by: ['tool', 'agent'] })).map(({ tool, agent, usd }) => [tool, agent, usd]),
      [
        [undefined, 'a', 1],
        [undefined, 'b', 1],
        ['search', 'a', 0.25],
      ],
    )
    const total = await store.spending({ by: [] })
    assert.deepEqual(total, [
      {
        ...{ ...zero, usd: 2.25, runs: 2, rounds: 3, toolCalls: 2, ms: 1800 },
        ...{ inputTokens: 1200, outputTokens: 40, cacheReadTokens: 600, cacheWriteTokens: 50 },
      },
    ])
  },

  'without any spending, the total is a row of zeros, and groups are no rows': async ({ store }) => {
    const lease = await ownedBy(store, 't')
    await store.append([{ lease, events: [textDelta('hi'), { type: 'round-start', round: 1 } as RunEvent] }])
    assert.deepEqual(await store.spending({ by: [] }), [zero])
    assert.deepEqual(await store.spending({ by: ['day'] }), [])
  },

  'a cost that is estimated, simulated or unknown is marked': async ({ store }) => {
    const lease = await ownedBy(store, 't')
    const estimate = { inputTokens: 7, outputTokens: 3 }
    await store.append([
      {
        lease,
        events: [
          unpriced({ estimate, cost: { usd: 1, prices: 'custom' } }),
          roundEnd(2, { cost: { usd: 2, prices: 'simulated' } }),
          unpriced({ usage: { inputTokens: 30 } }),
          { type: 'round-retry', failed: { model: 'm', estimate } } as RunEvent,
        ],
      },
    ])
    assert.deepEqual(await spendingOf(store, { by: [] }), [
      {
        ...{ usd: 3, estimatedUsd: 1, simulatedUsd: 2, unknown: 2, rounds: 3 },
        ...{ inputTokens: 144, outputTokens: 16 },
      },
    ])
  },

  'a batch is counted once, and a fenced one not at all': async ({ store, other, advance }) => {
    const lease = await ownedBy(store, 't', { user: 'ada' })
    const batch = { lease, number: 1, events: [roundEnd(1)] }
    const empty = { lease, events: [] }
    for (const one of [store, other, store]) await one.append([batch])
    await store.append([empty])
    assert.equal(await usdOf(other), 1)
    await store.append([{ lease, number: 2, events: [roundEnd(1)] }])
    assert.equal(await usdOf(other), 2)
    await rejectsWith('store_error', store.append([{ lease, number: 4, events: [roundEnd(1)] }]))
    advance(leaseMs)
    const next = await claimed(other, 't', 'another worker')
    assert.deepEqual(await store.append([{ lease, number: 3, events: [roundEnd(1)] }]), ['fenced'])
    assert.equal(await usdOf(other), 2)
    await other.append([{ lease: next, events: [roundEnd(1)] }])
    assert.equal(await usdOf(store), 3)
    assert.equal(await usdOf(store, { user: 'ada' }), 3)
  },

  'what a sub-agent spends counts for its thread, the tool that called it, and itself once': async ({
    store,
  }) => {
    const lease = await ownedBy(store, 't', { agent: 'a', user: 'ada' })
    const inner = progress('dig', 'digger', roundEnd(1, { model: 'small' }))
    await store.append([
      {
        lease,
        events: [
          roundEnd(1),
          progress('ask', 'expert', roundEnd(2, { model: 'large' })),
          progress('ask', 'expert', toolResult('search', 3)),
          progress('ask', 'expert', inner),
          progress('ask', 'a', inner),
          progress('ask', 'digger', inner),
          toolResult('ask'),
        ],
      },
    ])
    assert.deepEqual(
      (await store.spending({ by: ['agent', 'user', 'tool', 'model'] })).map(
        ({ agent, user, tool, model, usd, rounds, toolCalls }) => [
          agent,
          user,
          tool,
          model,
          usd,
          rounds,
          toolCalls,
        ],
      ),
      [
        ['a', 'ada', undefined, 'm', 1, 1, 0],
        ['a', 'ada', 'ask', undefined, 3, 0, 2],
        ['a', 'ada', 'ask', 'large', 2, 1, 0],
        ['a', 'ada', 'ask', 'small', 3, 3, 0],
      ],
    )
    const totals = [
      { scope: 'agent', name: 'a', spent: 9 },
      { scope: 'user', name: 'ada', spent: 9 },
      { scope: 'agent', name: 'expert', spent: 6 },
      { scope: 'agent', name: 'digger', spent: 3 },
      { scope: 'agent', name: 'ask', spent: 0 },
    ] as const
    for (const { scope, name, spent } of totals) {
      const day = { scope, name, limits: { usd: 0 } }
      assert.deepEqual(await store.hold(lease, { id: 'h', least: {}, most: {}, limits: [day] }), {
        type: 'reached',
        limit: { scope, kind: 'usd', limit: 0, spent },
      })
    }
  },

  'a day ends at midnight in UTC': async ({ store, other, advance, now }) => {
    const lease = await ownedBy(store, 't', { user: 'ada' })
    const midnight = Date.parse('2023-11-15')
    advance(midnight - now() - 1)
    await store.append([{ lease, events: [roundEnd(1)] }])
    advance(1)
    await store.append([{ lease, events: [roundEnd(2)] }])
    advance(24 * hourMs)
    await other.append([{ lease, events: [roundEnd(4)] }])
    const days = async (options: Partial<SpendingOptions>) =>
      (await other.spending({ by: ['day'], ...options })).map(({ day, usd }) => [day, usd])
    const all = [
      ['2023-11-14', 1],
      ['2023-11-15', 2],
      ['2023-11-16', 4],
    ]
    assert.deepEqual(await days({}), all)
    assert.deepEqual(await days({ from: '2023-11-15' }), all.slice(1))
    assert.deepEqual(await days({ to: '2023-11-15' }), all.slice(0, 2))
    assert.deepEqual(await days({ from: '2023-11-15', to: '2023-11-15' }), all.slice(1, 2))
    assert.deepEqual(await days({ from: '2024-01-01' }), [])
    assert.equal(await usdOf(store, { from: '2023-11-15' }), 6)
  },

  'a user and an agent select their spending': async ({ store }) => {
    const leases = [
      await ownedBy(store, 't', { user: 'ada' }),
      await ownedBy(store, 'u', { user: 'bob' }),
      await ownedBy(store, 'v', { user: 'ada', agent: 'b' }),
      await ownedBy(store, 'w'),
    ]
    await store.append(leases.map((lease, index) => ({ lease, events: [roundEnd(2 ** index)] })))
    assert.equal(await usdOf(store), 15)
    assert.equal(await usdOf(store, { user: 'ada' }), 5)
    assert.equal(await usdOf(store, { agent: 'a' }), 11)
    assert.equal(await usdOf(store, { user: 'ada', agent: 'b' }), 4)
    assert.equal(await usdOf(store, { user: 'eve' }), 0)
  },

  'a copy, a fork and a signal spend nothing, and a deletion returns nothing': async ({ store, now }) => {
    const lease = await ownedBy(store, 't', { user: 'ada' })
    await store.append([{ lease, events: [roundEnd(1), toolResult('search', 1)] }])
    const entries = [{ seq: 1, at: now(), event: roundEnd(1) }]
    await store.create({ id: 'copy', agent: 'a', user: 'ada' }, { entries })
    const events = [roundEnd(1)]
    await store.fork('t', 2, { id: 'fork', agent: 'a', user: 'ada' }, { events })
    await store.signal('t', undefined, roundEnd(1) as never)
    const before = await store.spending({ by: ['day', 'agent', 'user', 'model', 'tool'] })
    assert.equal(await usdOf(store), 2)
    assert.equal(await store.delete('t'), true)
    assert.deepEqual(await store.spending({ by: ['day', 'agent', 'user', 'model', 'tool'] }), before)
    const fork = await claimed(store, 'fork', 'worker')
    await store.append([{ lease: fork, events: [roundEnd(1)] }])
    assert.equal(await usdOf(store, { user: 'ada' }), 3)
  },

  'any text can name what has spent, and rows are in the order of code units': async ({ store }) => {
    const names = ['', '"', '""', '"a"', 'A', 'a', 'a\0', 'null', 'é', '\ud83d', '😀', '\uffff']
    for (const [index, name] of names.entries()) {
      const lease = await ownedBy(store, `t${index}`, { agent: name || 'none', user: name })
      const inner = progress(name, name, roundEnd(1, { model: name }))
      await store.append([{ lease, events: [inner, roundEnd(2), toolResult(name, 4)] }])
      const limits = [{ scope: 'user', name, limits: { usd: 1 } } as const]
      const hold = await store.hold(lease, { id: name, least: {}, most: {}, limits })
      assert.deepEqual(hold, {
        type: 'reached',
        limit: { scope: 'user', kind: 'usd', limit: 1, spent: 7 },
      })
    }
    const sorted = [...names].sort()
    const by = async (key: 'user' | 'model' | 'tool') =>
      (await store.spending({ by: [key] })).map((row) => [row[key], row.usd])
    assert.deepEqual(
      await by('user'),
      sorted.map((name) => [name, 7]),
    )
    const modeled = [
      [undefined, 4 * names.length],
      ...[...names, 'm'].sort().map((name) => [name, name === 'm' ? 2 * names.length : 1]),
    ]
    assert.deepEqual(await by('model'), modeled)
    assert.deepEqual(await by('tool'), [[undefined, 2 * names.length], ...sorted.map((name) => [name, 5])])
    for (const user of names) assert.equal(await usdOf(store, { user }), 7, JSON.stringify(user))
  },

  'amounts of money are exact, however many are added': async ({ store, other }) => {
    const leases = [await ownedBy(store, 't'), await ownedBy(store, 'u')]
    for (let batch = 0; batch < 10; batch++)
      await (batch % 2 ? store : other).append(
        leases.map((lease) => ({ lease, events: [roundEnd(0.1), roundEnd(0.000000001)] })),
      )
    assert.equal(await usdOf(store), 2.00000002)
  },

  'numbers that make no sense do not keep a log from being written': async ({ store }) => {
    const lease = await ownedBy(store, 't')
    const odd = [Number.NaN, Infinity, 1e300, 0.4].map((amount) =>
      roundEnd(amount, { usage: { inputTokens: 1, cacheReadTokens: amount } }),
    )
    const [written] = await store.append([{ lease, events: [...odd, runEnd(1.6)] }])
    assert.equal(written?.length, 5)
    const [total] = await store.spending({ by: [] })
    assert.deepEqual([total?.rounds, total?.ms, total?.inputTokens], [4, 2, 4])
  },

  'options that make no sense are rejected': async ({ store }) => {
    const wrong = [
      undefined,
      { by: 'day' },
      { by: ['month'] },
      { by: [undefined] },
      { by: [], from: '18.11.2026' },
      { by: [], from: '2026-02-30' },
      { by: [], to: 20261118 },
      { by: [], to: '2026-11-18T00:00Z' },
      { by: [], from: '2026-11-18', to: '2026-11-17' },
      { by: [], user: 5 },
      { by: [], users: 'ada' },
    ]
    for (const options of wrong) await rejectsWith('invalid_input', store.spending(options as never))
  },

  'sums over 10,000 runs are read without their logs, in order': async ({ store, other }) => {
    const users = ['ada', 'bob', 'eve', 'dan', 'zoe']
    const leases: Lease[] = []
    for (let index = 0; index < 50; index++)
      leases.push(await ownedBy(store, `t${index}`, { agent: `agent-${index % 2}`, user: users[index % 5] }))
    const runs = [1, 2].flatMap(() => [roundEnd(0.001), toolResult('search'), runEnd(10)])
    for (let batch = 0; batch < 100; batch++) {
      const results = await store.append(leases.map((lease) => ({ lease, events: runs })))
      assert.ok(results.every((result) => result.length === 6))
    }
    for (const { threadId } of leases) await store.delete(threadId)
    assert.deepEqual(
      (await other.spending({ by: ['user', 'agent'] })).map(({ user, agent, ...row }) => [user, agent, row]),
      [...users].sort().flatMap((user) =>
        ['agent-0', 'agent-1'].map((agent) => [
          user,
          agent,
          {
            ...{ ...zero, usd: 1, runs: 1000, rounds: 1000, toolCalls: 1000, ms: 10_000 },
            ...{ inputTokens: 100_000, outputTokens: 10_000 },
          },
        ]),
      ),
    )
    const [total] = await other.spending({ by: [] })
    assert.deepEqual([total?.runs, total?.usd], [10_000, 10])
  },
}
