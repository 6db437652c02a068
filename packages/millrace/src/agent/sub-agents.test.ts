import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Model, RunEvent } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { pending, tool } from '../tools/index.ts'
import {
  callOf,
  collect,
  done,
  echo,
  failOnUnhandledRejections,
  of,
  pairs,
  rawModel,
  refund,
  refundModel,
  refunds,
  streamOf,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('an agent as a tool', () => {
  const clerk = (model = refundModel(500)) => agent({ name: 'clerk', model, tools: [echo, refund] })
  const boss = (
    inner: ReturnType<typeof clerk>,
    model = scriptedModel(script.tool('clerk', { prompt: 'refund me' }, 'The clerk did it.')),
  ) => agent({ name: 'boss', model, tools: [inner.asTool({ description: 'Does refunds' })] })

  test("its events are the progress of the call, its answer is the call's result", async () => {
    refunds.length = 0
    const run = boss(clerk(refundModel(50))).stream('go')
    const events = await collect(run)
    const inner = of(events, 'tool-progress').map(({ callId, event }) => {
      expect(callId).toBe('call_1')
      return event as RunEvent
    })
    expect(inner[0]).toMatchObject({ type: 'run-start', agent: 'clerk', input: [{ content: 'refund me' }] })
    expect(of(inner, 'tool-result').map((event) => event.name)).toEqual(['echo', 'refund'])
    expect(inner.at(-1)).toMatchObject({ type: 'run-end', outcome: 'completed' })
    expect(pairs(await run.result)).toEqual([['call_1', 'All settled.']])
    expect(refunds).toHaveLength(1)
  })

  test('a failure inside is reported to the parent', async () => {
    const run = boss(clerk(scriptedModel(script.failing({ code: 'auth', message: 'bad key' })))).stream('go')
    expect(pairs(await run.result)).toEqual([['call_1', 'The tool failed: bad key']])
  })

  test('canceling the parent cancels it', async () => {
    const run = boss(clerk(scriptedModel(script.hanging('Working')))).stream('go')
    for await (const event of run) if (event.type === 'tool-progress' && event.event?.type === 'text') break
    run.cancel()
    expect(await run.result).toMatchObject({ outcome: 'canceled' })
  })

  test('a decision reaches a call inside it, also with only the events', async () => {
    refunds.length = 0
    const inner = clerk()
    const first = boss(inner).stream('go')
    const events = await collect(first)
    expect(events.at(-1)).toMatchObject({ outcome: 'suspended' })
    expect((await first.result).approvals).toMatchObject([
      { callId: 'call_1/call_2', name: 'refund', input: { amount: 500 } },
    ])

    const outer = boss(inner, scriptedModel(['The clerk did it.']))
    const second = outer.resume(JSON.parse(JSON.stringify(events)), {
      decisions: [{ callId: 'call_1/call_2', approved: true }],
    })
    const more = await collect(second)
    expect(refunds).toHaveLength(1)
    expect(refunds[0]?.key).toMatch(/:call_2$/)
    expect(of(more, 'tool-start')).toMatchObject([{ callId: 'call_1', attempt: 2 }])
    expect(pairs(await second.result)).toEqual([['call_1', 'All settled.']])
  })

  test('pending() without requests fails the tool', async () => {
    const idle = tool({
      name: 'idle',
      description: 'Waits for nothing',
      input: z.object({}),
      run: () => pending([]),
    })
    const run = agent({ model: scriptedModel(script.tool('idle', {}, 'Done.')), tools: [idle] }).stream('go')
    expect(pairs(await run.result)[0]?.[1]).toMatch(/nothing to wait for/)
  })

  test('interrupted anywhere, it resumes where it was and repeats nothing', async () => {
    const answering = (answer: string, ask: Parameters<typeof scriptedModel>[0] & readonly unknown[]) =>
      scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? answer : (ask[0] as never)))
    const make = () =>
      boss(
        clerk(answering('All settled.', [[{ call: 'refund', input: { amount: 5 } }]])),
        answering('Done.', [[{ call: 'clerk', input: { prompt: 'x' } }]]),
      )
    const whole = await collect(make().stream('go'))
    for (let length = 1; length < whole.length; length++) {
      refunds.length = 0
      const log = whole.slice(0, length)
      const startedBefore = log.some(
        (event) => event.type === 'tool-progress' && event.event?.type === 'tool-start',
      )
      const result = await make().resume(log).result
      expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
      expect(pairs(result)).toHaveLength(1)
      expect(refunds).toHaveLength(startedBefore ? 0 : 1)
    }
  })
})

describe('a sub-agent', () => {
  const boss = (
    inner: Model,
    more: object = {},
    outer: readonly ScriptRound[] = script.tool('clerk', { prompt: 'x' }, 'Done.'),
  ) =>
    agent({
      model: scriptedModel(outer),
      tools: [
        agent({ name: 'clerk', model: inner, tools: [echo], ...more }).asTool({ description: 'Helps' }),
      ],
    })

  test.each<[string, readonly ScriptRound[], object]>([
    ['max-rounds', [[{ text: 'Half' }, { call: 'echo', input: { value: 'x' } }]], { maxRounds: 0 }],
    ['truncated', [[{ text: 'Half' }, { finish: 'length' }]], {}],
  ])('that ends as %s is an error for its parent, with the partial answer', async (outcome, rounds, more) => {
    const run = boss(scriptedModel(rounds), more).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([
      {
        status: 'failed',
        isError: true,
        output: [
          { text: `The tool failed: the agent 'clerk' did not finish (${outcome}); partial answer: Half` },
        ],
      },
    ])
  })

  test("emits its own end before the call's result when its parent is canceled", async () => {
    const run = boss(scriptedModel(script.hanging('Working'))).stream('go')
    for await (const event of run) if (event.type === 'tool-progress' && event.event?.type === 'text') break
    run.cancel('enough')
    const events = await collect(run)
    const at = (find: (event: RunEvent) => boolean) => events.findIndex(find)
    const innerEnd = at((event) => event.type === 'tool-progress' && event.event?.type === 'run-end')
    expect(events[innerEnd]).toMatchObject({ event: { outcome: 'canceled' } })
    expect(innerEnd).toBeGreaterThan(0)
    expect(at(({ type }) => type === 'tool-result')).toBeGreaterThan(innerEnd)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'canceled' })
  })

  test("has its parent's context and stops with its parent's signal", async () => {
    const contexts: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({}),
      run: (_, { context }: { context: { user: string } }) => void contexts.push(context),
    })
    const inner = rawModel((index, signal) =>
      index === 0
        ? streamOf(callOf('a', {}, 'look'), { ...done, finish: 'tool-calls' })
        : scriptedModel(script.hanging('x')).stream({ messages: [], tools: [], settings: {} }, { signal }),
    )
    const clerk = agent({ name: 'clerk', model: inner, tools: [look] })
    const caller = agent({
      model: scriptedModel(script.tool('clerk', { prompt: 'x' }, 'Done.')),
      tools: [clerk.asTool({ description: 'Helps' })],
    })
    const request = new AbortController()
    const context = { user: 'ada' }
    const run = caller.stream('go', { context, signal: request.signal })
    for await (const event of run) if (event.type === 'tool-progress' && event.event?.type === 'text') break
    expect(contexts).toEqual([context])
    expect(contexts[0]).toBe(context)
    request.abort()
    await run.result
    expect(inner.signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })
})
