import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { RunEvent, Usage } from '../protocol/index.ts'
import { countSpend, nothingSpent, totalCost } from '../protocol/index.ts'
import type { ScriptRound, ScriptStep } from '../testing/index.ts'
import { fakeClock, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { callEcho, collect, connectionReset, echo, failOnUnhandledRejections, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import { estimateRequest } from './context-size.ts'

failOnUnhandledRejections()

/** A dollar per million tokens, so that tokens are micro-dollars. */
const prices = { scripted: { input: 1, output: 1 }, cheap: { input: 0.1, output: 0.1 } }

const using = (inputTokens: number, outputTokens: number, ...steps: ScriptStep[]): ScriptRound => [
  ...steps,
  { usage: { inputTokens, outputTokens } },
]
const callFor = (value: string): ScriptStep => (callEcho(value) as readonly ScriptStep[])[0] as ScriptStep
/** Calls `echo` in every round. */
const calling = (usage: Partial<Usage> = { inputTokens: 600, outputTokens: 400 }) =>
  scriptedModel((_, index) => [callFor(String(index)), { usage }])
/** Small enough that a request is only stopped by what was spent before. */
const settings = { maxOutputTokens: 10 }

describe('the cost of a run', () => {
  test('is counted in the events and in the result', async () => {
    const model = scriptedModel([using(600, 400, callFor('x')), using(1000, 500, { text: 'Done.' })])
    const run = agent({ model, tools: [echo], prices }).stream('go')
    const ends = of(await collect(run), 'round-end')
    expect(ends.map(({ cost }) => cost)).toEqual([
      { usd: 0.001, prices: 'custom' },
      { usd: 0.0015, prices: 'custom' },
    ])
    const { cost, context } = await run.result
    expect(cost).toEqual({ usd: 0.0025, knownUsd: 0.0025 })
    expect(context).toMatchObject({ tokens: 1500 })
    const { system = 0, tools = 0, history = 0, results = 0 } = context ?? {}
    expect(system + tools + history + results).toBe(1500)
  })

  test('is unknown, not zero, if a price is not known', async () => {
    const { cost } = await agent({ model: scriptedModel([using(600, 400, { text: 'Hi.' })]) }).run('go')
    expect(cost).toEqual({ knownUsd: 0, unknown: 1 })
  })

  test('includes requests that failed after the provider had answered, by an estimate', async () => {
    const model = scriptedModel([
      [{ text: 'a'.repeat(4000) }, { error: connectionReset }],
      using(100, 100, { text: 'Done.' }),
    ])
    const { cost } = await agent({ model, prices, retry: { baseMs: 0 } }).run('go')
    expect(cost).toEqual({ usd: 0.001201, knownUsd: 0.001201, estimatedUsd: 0.001001 })
  })

  test('does not include requests that the provider did not answer', async () => {
    const model = scriptedModel([[{ error: connectionReset }], using(100, 100, { text: 'Done.' })])
    const { cost } = await agent({ model, prices, retry: { baseMs: 0 } }).run('go')
    expect(cost).toEqual({ usd: 0.0002, knownUsd: 0.0002 })
  })

  test('includes an empty answer, which is paid and then generated again', async () => {
    const model = scriptedModel([using(300, 0), using(100, 100, { text: 'Done.' })])
    const { cost } = await agent({ model, prices, retry: { baseMs: 0 } }).run('go')
    expect(cost.usd).toBe(0.0005)
  })

  test('includes what was generated when the run was canceled', async () => {
    const model = scriptedModel([[{ text: 'a'.repeat(400) }, { hang: true }]])
    const run = agent({ model, prices }).stream('go')
    for await (const event of run) if (event.type === 'text') run.cancel()
    const { cost } = await run.result
    // 'go' and the first delta of 12 characters.
    expect(cost).toEqual({ usd: 0.000004, knownUsd: 0.000004, estimatedUsd: 0.000004 })
  })

  test('includes sub-agents and what tools report, each once and by tool', async () => {
    const clerk = agent({
      name: 'clerk',
      model: scriptedModel([using(600, 400, callFor('x')), using(500, 500, { text: 'Settled.' })]),
      tools: [echo],
      prices,
    })
    const lookup = tool({
      name: 'lookup',
      description: 'Looks it up for money',
      input: z.object({}),
      run(_, { spend }) {
        spend({ usd: 0.01 })
        spend({ usd: 0.005 })
        return 'found'
      },
    })
    const boss = agent({
      name: 'boss',
      model: scriptedModel([
        using(100, 100, { call: 'clerk', input: { prompt: 'go' } }, { call: 'lookup', input: {} }),
        using(100, 100, { text: 'Done.' }),
      ]),
      tools: [clerk.asTool({ description: 'Does it' }), lookup],
      prices,
    })
    const run = boss.stream('go')
    const events = await collect(run)
    const { cost } = await run.result
    expect(cost).toEqual({ usd: 0.0174, knownUsd: 0.0174, tools: { clerk: 0.002, lookup: 0.015 } })
    const spent = nothingSpent()
    for (const event of events) countSpend(spent, event)
    expect(totalCost(spent)).toEqual(cost)
    expect(spent).toMatchObject({ rounds: 4, toolCalls: 3 })
  })

  test('includes the request of a sub-agent that is canceled with its parent', async () => {
    const model = scriptedModel([[{ text: 'a'.repeat(400) }, { hang: true }]])
    const clerk = agent({ name: 'clerk', model, prices })
    const boss = agent({
      model: scriptedModel([using(100, 100, { call: 'clerk', input: { prompt: 'go' } })]),
      tools: [clerk.asTool({ description: 'Does it' })],
      prices,
    })
    const run = boss.stream('go')
    for await (const event of run)
      if (event.type === 'tool-progress' && event.event?.type === 'text') run.cancel()
    const { cost } = await run.result
    expect(cost.tools).toEqual({ clerk: 0.000004 })
  })
})

describe('a budget of a run', () => {
  test.each([
    // Each round takes 1,000 tokens. After the second, 500 are left, and the input alone takes 1,000.
    ['usd', 0.0025, 2],
    ['tokens', 2500, 2],
    ['rounds', 3, 3],
  ] as const)('%s: the run ends with what there is', async (kind, limit, rounds) => {
    const model = calling()
    const result = await agent({ model, tools: [echo], prices, settings, budget: { [kind]: limit } }).run(
      'go',
    )
    expect(result.outcome).toBe('budget')
    expect(result.rounds).toBe(rounds)
    expect(model.requests).toHaveLength(rounds)
    expect(result.limit).toMatchObject({ scope: 'run', kind, limit })
    expect(result.approvals).toEqual([])
  })

  test('nothing is sent if the input alone would exceed it', async () => {
    const model = calling()
    const result = await agent({ model, prices, budget: { tokens: 100 } }).run('a'.repeat(4000))
    expect(result).toMatchObject({ outcome: 'budget', rounds: 0, limit: { spent: 0, limit: 100 } })
    expect(model.requests).toHaveLength(0)
  })

  test('toolCalls: further calls are not run, and the run ends after them', async () => {
    const three = scriptedModel([
      [callFor('a'), callFor('b'), callFor('c')].map((call, index) => ({ ...call, id: `call_${index}` })),
    ])
    const run = agent({ model: three, tools: [echo], budget: { toolCalls: 2 } }).stream('go')
    const results = of(await collect(run), 'tool-result')
    expect(results.map(({ status }) => status).toSorted()).toEqual(['blocked', 'ok', 'ok'])
    expect(await run.result).toMatchObject({ outcome: 'budget', limit: { kind: 'toolCalls', limit: 2 } })
  })

  test('toolCalls: a model may still answer when no more calls are left', async () => {
    const model = scriptedModel([callEcho('a'), 'Done.'])
    const result = await agent({ model, tools: [echo], budget: { toolCalls: 1 } }).run('go')
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })

  test('ms: the request in progress is interrupted', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ text: 'Working' }, { hang: true }]], { clock })
    const result = await clock.until(agent({ model, clock, budget: { ms: 20 } }).run('go'))
    expect(result).toMatchObject({ outcome: 'budget', text: 'Working', limit: { kind: 'ms', limit: 20 } })
  })

  test('options of a run replace single limits', async () => {
    const model = calling()
    const budgeted = agent({ model, tools: [echo], budget: { rounds: 1, tokens: 5000 } })
    expect(await budgeted.run('go', { budget: { rounds: 3 } })).toMatchObject({
      outcome: 'budget',
      rounds: 3,
    })
    expect(await budgeted.run('go', { budget: { rounds: 99 } })).toMatchObject({ limit: { kind: 'tokens' } })
  })

  test('sub-agents spend it too, also several at once', async () => {
    /** Reports what was really sent. */
    const honest = (steps: (index: number) => ScriptStep[]) =>
      scriptedModel((request, index) => [
        ...steps(index),
        { usage: { inputTokens: estimateRequest(request), outputTokens: 10 } },
      ])
    const clerk = agent({
      name: 'clerk',
      system: 'a'.repeat(4000),
      model: honest((index) => [callFor(String(index))]),
      tools: [echo],
      prices,
      settings,
    })
    const boss = agent({
      model: honest((index) =>
        [1, 2, 3].map((n) => ({ call: 'clerk', input: { prompt: 'go' }, id: `call_${index}_${n}` })),
      ),
      tools: [clerk.asTool({ description: 'Does it' })],
      prices,
      settings,
      budget: { usd: 0.01 },
    })
    const { outcome, cost, limit } = await boss.run('go')
    expect(outcome).toBe('budget')
    expect(limit).toMatchObject({ scope: 'run', kind: 'usd', limit: 0.01 })
    expect(cost.usd).toBeLessThanOrEqual(0.01)
    expect(cost.usd).toBeGreaterThan(0.007)
  })

  test('a budget in dollars needs a price, and says how to give one', async () => {
    const model = calling()
    await expect(agent({ model, budget: { usd: 1 } }).run('go')).rejects.toThrow(
      "the price of the model 'scripted' is not known: pass it as prices: { 'scripted': { input, output } }",
    )
    expect(model.requests).toHaveLength(0)
  })

  test('a budget per day needs a store', () => {
    const budgeted = agent({ model: calling(), budget: { agentPerDay: { tokens: 1 } } })
    expect(() => budgeted.stream('go')).toThrow('a budget per day needs a store')
  })

  test.each([
    [{ usd: -1 }, "the agent option 'budget.usd' must be a number of at least 0, not -1"],
    [{ dollars: 1 }, "the agent option 'budget.dollars' does not exist"],
    [{ thread: { rounds: '1' } }, "the agent option 'budget.thread.rounds' must be a number"],
    [{ onLimit: 'stop' }, "the agent option 'budget.onLimit' must be 'end', 'ask' or { model, from }"],
    [{ onLimit: { model: 'gpt' } }, "the agent option 'budget.onLimit.model' must be a Model"],
  ])('%j is rejected', (budget, message) => {
    expect(() => agent({ model: calling(), budget: budget as never })).toThrow(message)
  })
})

describe('another model from a share of the limit on', () => {
  test('it answers, and the run ends at the limit', async () => {
    const cheap = scriptedModel((_, index) => using(500, 500, callFor(`cheap ${index}`)), { id: 'cheap' })
    const model = calling({ inputTokens: 600, outputTokens: 400 })
    const run = agent({
      model,
      tools: [echo],
      prices,
      settings,
      maxRounds: 100,
      budget: { usd: 0.005, onLimit: { model: cheap, from: 0.5 } },
    }).stream('go')
    const events = await collect(run)
    const starts = of(events, 'round-start')
    expect(starts.slice(0, 4).map((start) => start.model)).toEqual(['scripted', 'scripted', 'cheap', 'cheap'])
    expect(starts[2]?.limit).toMatchObject({ scope: 'run', kind: 'usd', limit: 0.005 })
    const { outcome, cost } = await run.result
    expect(outcome).toBe('budget')
    expect(cost.usd).toBeLessThanOrEqual(0.0051)
  })
})

describe('a person is asked', () => {
  const asking = (model = calling()) =>
    agent({ model, tools: [echo], prices, settings, budget: { tokens: 1500, onLimit: 'ask' } })

  test('the run is suspended, and continues if more is allowed', async () => {
    const run = asking().stream('go')
    const first = await run.result
    expect(first.outcome).toBe('suspended')
    expect(first.approvals).toEqual([
      {
        type: 'approval-request',
        callId: 'budget_1',
        name: 'budget',
        input: { tokens: 1500 },
        reason: expect.stringContaining('1,500 tokens'),
        budget: { scope: 'run', kind: 'tokens', limit: 1500, spent: 1000 },
      },
    ])
    const second = await run.resume({ callId: 'budget_1', approved: true }).result
    // 3,000 are allowed, 2,000 spent, and the next request takes 1,000 and a little more.
    expect(second).toMatchObject({ outcome: 'suspended', rounds: 2, approvals: [{ callId: 'budget_2' }] })
    expect(second.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  test('another amount can be allowed', async () => {
    const run = asking().stream('go')
    await run.result
    const resumed = run.resume({ callId: 'budget_1', approved: true, input: { tokens: 3000 } })
    expect(await resumed.result).toMatchObject({ outcome: 'suspended', rounds: 4 })
  })

  test.each([[{ tokens: 0 }], [{ tokens: 'many' }], [{ usd: 1 }], [{}]])(
    '%j is not an amount',
    async (input) => {
      const run = asking().stream('go')
      await run.result
      expect(() => run.resume({ callId: 'budget_1', approved: true, input })).toThrow(
        "the changed input for 'budget_1' must be { tokens } with a number above 0",
      )
    },
  )

  test('the run ends if it is denied', async () => {
    const run = asking().stream('go')
    await run.result
    const denied = await run.resume({ callId: 'budget_1', approved: false }).result
    expect(denied).toMatchObject({ outcome: 'budget', rounds: 1, limit: { kind: 'tokens', limit: 1500 } })
  })

  test('inside a sub-agent, the parent waits for the decision', async () => {
    const model = scriptedModel((_, index) =>
      index < 3 ? using(600, 400, callFor(String(index))) : using(1, 1, { text: 'Settled.' }),
    )
    const clerk = asking(model).asTool({ name: 'clerk', description: 'Does it' })
    const boss = agent({
      model: scriptedModel([[{ call: 'clerk', input: { prompt: 'go' } }], 'Done.']),
      tools: [clerk],
    })
    const run = boss.stream('go')
    const { outcome, approvals } = await run.result
    expect(outcome).toBe('suspended')
    expect(approvals).toMatchObject([{ callId: 'call_1/budget_1', name: 'budget', input: { tokens: 1500 } }])
    const resumed = run.resume({ callId: 'call_1/budget_1', approved: true, input: { tokens: 9000 } })
    const events: RunEvent[] = await collect(resumed)
    expect(of(events, 'tool-result')).toMatchObject([{ name: 'clerk', status: 'ok' }])
    expect(await resumed.result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })
})
