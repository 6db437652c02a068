import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { RunEvent, ToolProgressEvent, ToolResultEvent } from '../protocol/index.ts'
import { countSpend, nothingSpent } from '../protocol/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import type { Tool, ToolContext } from './index.ts'
import { nestedRunOf, tool, toolRuntime } from './index.ts'

type Spend = ToolContext['spend']

const paid = (run: (context: ToolContext) => unknown, more: { timeoutMs?: number } = {}): Tool =>
  tool({
    name: 'paid',
    description: 'Costs money',
    input: z.object({}),
    run: (_, context) => run(context),
    ...more,
  })

/** Calls the tool. `result` resolves to its only result. */
function call(given: Tool) {
  const clock = fakeClock()
  const events: RunEvent[] = []
  const runtime = toolRuntime<unknown>({
    emit: (event) => events.push(event),
    commit: undefined,
    clock,
    runId: 'run_1',
    originId: 'run_1',
    context: undefined,
    concurrency: 8,
    timeoutMs: 300_000,
    maxResultChars: 50_000,
    maxOutputChars: 50_000,
    metadata: { current: () => ({}), update: () => {} },
    repeats: undefined,
    policies: undefined,
    runSignal: undefined,
    beforeCall: undefined,
    afterCall: undefined,
    onFailure: () => {},
  })
  runtime.submit({
    call: { type: 'tool-call', callId: 'c1', name: given.name, input: {} },
    tools: new Map([[given.name, given]]),
    attempt: 1,
  })
  const results = () => events.filter((event): event is ToolResultEvent => event.type === 'tool-result')
  return {
    runtime,
    events,
    results,
    async result() {
      await clock.until(runtime.settled())
      return results()[0]
    },
  }
}

test('what a call spends adds up in its result', async () => {
  const { result } = call(
    paid(async ({ spend }) => {
      spend({ usd: 0.1 })
      await Promise.resolve()
      spend({ usd: 0.2 })
      return 'bought'
    }),
  )
  expect(await result()).toMatchObject({ status: 'ok', cost: { usd: 0.3, prices: 'reported' } })
})

test('a call that reports nothing has no cost, and one that reports 0 has a cost of 0', async () => {
  expect(await call(paid(() => 'free')).result()).not.toHaveProperty('cost')
  expect(await call(paid(({ spend }) => spend({ usd: 0 }))).result()).toMatchObject({ cost: { usd: 0 } })
})

test('a call that fails, times out or is canceled has cost what it reported', async () => {
  const failing = call(
    paid(({ spend }) => {
      spend({ usd: 1 })
      throw new Error('sold out')
    }),
  )
  expect(await failing.result()).toMatchObject({ status: 'failed', cost: { usd: 1 } })

  let spendLater: Spend | undefined
  const hanging = (timeoutMs?: number) =>
    paid(
      ({ spend }) => {
        spend({ usd: 2 })
        spendLater = spend
        return new Promise(() => {})
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    )
  const slow = call(hanging(1000))
  expect(await slow.result()).toMatchObject({ status: 'timeout', cost: { usd: 2 } })
  // The result is final.
  spendLater?.({ usd: 5 })
  expect(slow.results()).toMatchObject([{ cost: { usd: 2 } }])

  const canceled = call(hanging())
  await expect.poll(() => canceled.events.length).toBe(1)
  canceled.runtime.cancel('enough')
  expect(canceled.results()).toMatchObject([{ status: 'canceled', cost: { usd: 2 } }])
})

test.each([
  [{ usd: -1 }],
  [{ usd: Number.NaN }],
  [{ usd: Number.POSITIVE_INFINITY }],
  [{ usd: '1' }],
  [1],
  [undefined],
])('spend(%j) is rejected', async (cost) => {
  const thrown: unknown[] = []
  const { result } = call(
    paid(({ spend }) => {
      try {
        spend(cost as never)
      } catch (error) {
        thrown.push(error)
      }
    }),
  )
  expect(await result()).not.toHaveProperty('cost')
  expect(thrown).toMatchObject([
    { code: 'invalid_input', message: expect.stringContaining('context.spend() takes { usd }') },
  ])
})

test('an event of a sub-agent that cost something names the tool and the agent', async () => {
  const { events, result } = call(
    paid((context) => {
      const { relay } = nestedRunOf(context)
      relay?.({ type: 'text', text: 'Hi' }, 'clerk')
      relay?.(
        {
          type: 'tool-result',
          callId: 'x',
          name: 'pay',
          output: [],
          status: 'ok',
          isError: false,
          ms: 1,
          overlapMs: 0,
        },
        'clerk',
      )
      relay?.({
        type: 'tool-result',
        callId: 'y',
        name: 'pay',
        output: [],
        status: 'ok',
        isError: false,
        ms: 1,
        overlapMs: 0,
      })
    }),
  )
  await result()
  const progress = events.filter((event): event is ToolProgressEvent => event.type === 'tool-progress')
  expect(progress.map(({ name, agent }) => [name, agent])).toEqual([
    [undefined, undefined],
    ['paid', 'clerk'],
    ['paid', undefined],
  ])
})

test('what the tools of nested sub-agents spend is counted once in the run', async () => {
  const buy = tool({
    name: 'buy',
    description: 'Buys something',
    input: z.object({}),
    run: (_, { spend }) => spend({ usd: 0.25 }),
  })
  const clerk = agent({
    name: 'clerk',
    model: scriptedModel(script.tool('buy', {}, 'Bought.')),
    tools: [buy],
  })
  const chief = agent({
    name: 'chief',
    model: scriptedModel(script.tool('ask_clerk', { prompt: 'buy' }, 'Done.')),
    tools: [clerk.asTool({ name: 'ask_clerk', description: 'Buys' })],
  })
  const boss = agent({
    name: 'boss',
    model: scriptedModel(script.tool('ask_chief', { prompt: 'buy' }, 'Done.')),
    tools: [chief.asTool({ name: 'ask_chief', description: 'Buys' })],
  })
  const spent = nothingSpent()
  const agents: (string | undefined)[] = []
  for await (const event of boss.stream('go')) {
    countSpend(spent, event)
    if (event.type === 'tool-progress' && event.name) agents.push(event.agent)
  }
  expect(spent).toMatchObject({ nanos: 250_000_000, tools: { ask_chief: 250_000_000 } })
  expect(new Set(agents)).toEqual(new Set(['chief']))
})
