import type { Agent, Telemetry } from 'millrace'
import { agent, memoryStore, millrace, tool } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import { scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { idOf, measured, only, treeOf, useContextManager } from './otel.test-kit.ts'

useContextManager()

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/**
 * A barrier: resolves once it has been called `of` times, which proves that the callers run
 * concurrently.
 */
function barrier(of: number) {
  const all = Promise.withResolvers<void>()
  let count = 0
  return () => {
    if (++count === of) all.resolve()
    return all.promise
  }
}

/** An agent that delegates to all of these agents at once. */
function delegate(name: string, to: readonly Agent[], telemetry?: Telemetry): Agent {
  const calls = to.map((one) => ({ call: one.name, input: { prompt: 'do it' }, id: `${name}_${one.name}` }))
  return agent({
    name,
    model: scriptedModel([calls, 'Done.'], { id: `model of ${name}` }),
    tools: to.map((one) => one.asTool({ description: 'Does it' })),
    telemetry,
  })
}

/**
 * A chief with two teams of a lead and a worker, all running at once, the workers with two tools
 * each.
 */
function office(telemetry?: Telemetry) {
  const arrive = barrier(4)
  const teams = ['red', 'blue'].map((team) => {
    const tools = ['dig', 'fill'].map((work) =>
      tool({
        name: `${team}_${work}`,
        description: work,
        input: z.object({}),
        run: async () => {
          await arrive()
          return 'done'
        },
      }),
    )
    const worker = agent({
      name: `${team}_worker`,
      model: scriptedModel([tools.map(({ name }) => ({ call: name })), 'Done.'], {
        id: `model of ${team}_worker`,
      }),
      tools,
    })
    return delegate(`${team}_lead`, [worker])
  })
  return delegate('chief', teams, telemetry)
}

const teamTree = (team: string, depth: string) =>
  [
    `execute_tool ${team}_lead`,
    `  invoke_agent ${team}_lead`,
    `    chat model of ${team}_lead`,
    `    execute_tool ${team}_worker`,
    `      invoke_agent ${team}_worker`,
    `        chat model of ${team}_worker`,
    `        execute_tool ${team}_dig`,
    `        execute_tool ${team}_fill`,
    `        chat model of ${team}_worker`,
    `    chat model of ${team}_lead`,
  ].map((line) => depth + line)

const officeTree = [
  'invoke_agent chief',
  '  chat model of chief',
  ...teamTree('red', '  '),
  ...teamTree('blue', '  '),
  '  chat model of chief',
]

test('two levels of concurrent sub-agents: each run is below the call that started it', async () => {
  const seen = measured()
  const { outcome } = await office(seen.telemetry).run('go', { conversation: 'talk-1' })
  expect(outcome).toBe('completed')
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(officeTree)
  for (const { attributes } of spans) expect(attributes['gen_ai.conversation.id']).toBe('talk-1')
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
  const runs = await seen.points('millrace.runs')
  expect(runs.map(({ attributes, value }) => [attributes['gen_ai.agent.name'], value]).toSorted()).toEqual(
    ['blue_lead', 'blue_worker', 'chief', 'red_lead', 'red_worker'].map((name) => [name, 1]),
  )
})

test('the metric of costs has the cost of the outermost run, each part once', async () => {
  const seen = measured()
  const priced = (answer: ScriptRound, id: string) =>
    scriptedModel([answer, [{ text: 'Done.' }, { usage: { inputTokens: 1000, outputTokens: 50 } }]], {
      id,
      price: { input: 1, output: 4 },
    })
  const asking = (to: Agent, usd: number): ScriptRound => [
    { call: to.name, input: { prompt: 'do it' } },
    { usage: { inputTokens: usd * 1_000_000, outputTokens: 0 } },
  ]
  const search = tool({
    name: 'search',
    description: 'Searches',
    input: z.object({}),
    run(_, { spend }) {
      spend({ usd: 0.5 })
      return 'found'
    },
  })
  const worker = agent({ name: 'worker', model: priced([{ call: 'search' }], 'small'), tools: [search] })
  const lead = agent({
    name: 'lead',
    model: priced(asking(worker, 2), 'large'),
    tools: [worker.asTool({ description: 'Works' })],
  })
  const chief = agent({
    name: 'chief',
    model: priced(asking(lead, 3), 'large'),
    tools: [lead.asTool({ description: 'Leads' })],
    telemetry: seen.telemetry,
  })
  const { cost } = await chief.run('go')
  expect(cost.knownUsd).toBeGreaterThan(5.5)
  const points = await seen.points('millrace.cost')
  const total = points.reduce((sum, { value }) => sum + Number(value), 0)
  expect(total).toBeCloseTo(cost.knownUsd, 9)
  const spans = seen.spans().filter(({ name }) => name.startsWith('invoke_agent'))
  const ofRuns = spans.map(({ attributes: a }) =>
    Number(a['millrace.cost.usd'] ?? a['millrace.cost.known_usd']),
  )
  expect(ofRuns.reduce((sum, usd) => sum + usd, 0)).toBeCloseTo(cost.knownUsd, 9)
})

test('sub-agents in a thread have the id of the thread', async () => {
  const seen = measured()
  const store = memoryStore()
  const app = millrace({ agents: office(), store, telemetry: seen.telemetry })
  open.push(store, app)
  await app.thread('t').send('go')
  await untilIdle(app.thread('t'))
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(officeTree)
  for (const { attributes } of spans) expect(attributes['gen_ai.conversation.id']).toBe('t')
})

test('a sub-agent uses its own telemetry only if its parent has none', async () => {
  const [outer, inner] = [measured(), measured()]
  const worker = () =>
    agent({
      name: 'worker',
      model: scriptedModel(['Done.'], { id: 'small' }),
      telemetry: inner.telemetry,
    })
  await delegate('chief', [worker()], outer.telemetry).run('go')
  expect(inner.spans()).toEqual([])
  expect(treeOf(outer.spans())).toEqual([
    'invoke_agent chief',
    '  chat model of chief',
    '  execute_tool worker',
    '    invoke_agent worker',
    '      chat small',
    '  chat model of chief',
  ])

  await delegate('chief', [worker()]).run('go')
  expect(outer.spans()).toHaveLength(6)
  expect(treeOf(inner.spans())).toEqual(['invoke_agent worker', '  chat small'])
})

test('a sub-agent with its own telemetry is below the active span', async () => {
  const seen = measured()
  const worker = agent({
    name: 'worker',
    model: scriptedModel(['Done.'], { id: 'small' }),
    telemetry: seen.telemetry,
  })
  const tracer = seen.tracerProvider.getTracer('mine')
  await tracer.startActiveSpan('request', async (span) => {
    await delegate('chief', [worker]).run('go')
    span.end()
  })
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(['request', '  invoke_agent worker', '    chat small'])
  expect(only(spans, 'invoke_agent worker').parentSpanContext?.spanId).toBe(idOf(only(spans, 'request')))
})

test('a sub-agent that needs approval while its parent runs: the call ends there, and restarts after the decision', async () => {
  const seen = measured()
  const held = Promise.withResolvers<void>()
  const input = z.object({})
  const wire = tool({ name: 'wire', description: 'Pays', input, approve: true, run: async () => 'paid' })
  const wait = tool({ name: 'wait', description: 'Waits', input, run: () => held.promise.then(() => 'over') })
  const payer = agent({ name: 'payer', model: scriptedModel([[{ call: 'wire' }], 'Paid.']), tools: [wire] })
  const chief = agent({
    name: 'chief',
    model: scriptedModel([[{ call: 'payer', input: { prompt: 'pay' } }, { call: 'wait' }], 'Done.']),
    tools: [payer.asTool({ description: 'Pays' }), wait],
  })
  const app = millrace({ agents: chief, telemetry: seen.telemetry })
  open.push(app)
  const thread = app.thread()
  const until = await thread.send('Pay.')
  for await (const { event } of thread.follow({ until })) {
    if (event.type === 'approval-request') await thread.approve(event.callId, { approved: true })
    if (event.type === 'tool-result' && event.name === 'payer') held.resolve()
  }
  expect(
    treeOf(seen.spans(), ({ name, attributes }) => [name, attributes['millrace.tool.status']].join(' ')),
  ).toEqual([
    'invoke_agent chief ',
    '  chat scripted ',
    '  execute_tool payer waiting',
    '    invoke_agent payer ',
    '      chat scripted ',
    '  execute_tool wait ok',
    '  execute_tool payer ok',
    '    invoke_agent payer ',
    '      execute_tool wire ok',
    '      chat scripted ',
    '  chat scripted ',
  ])
})
