import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SpanStatusCode } from '@opentelemetry/api'
import type { RunEvent, ThreadStore } from 'millrace'
import { agent, memoryStore, millrace, tool } from 'millrace'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { idOf, linksOf, measured, named, only, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const refund = tool({
  name: 'refund',
  description: 'Refunds an amount',
  input: z.object({ amount: z.number() }),
  approve: true,
  run: ({ amount }) => `refunded ${amount}`,
})

const usage = { inputTokens: 10, outputTokens: 1 }

const desk = (telemetry?: ReturnType<typeof measured>['telemetry']) =>
  agent({
    name: 'desk',
    model: scriptedModel(
      (_, index) =>
        index === 0
          ? [{ call: 'refund', input: { amount: 500 }, id: 'c1' }, { usage }]
          : [{ text: 'All settled.' }, { usage }],
      { id: 'gpt' },
    ),
    tools: [refund],
    telemetry,
  })

async function eventsIn(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

/** Expects a suspended run and one that resumes it. */
function expectResumed(seen: ReturnType<typeof measured>, rounds: readonly (readonly string[])[]) {
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(rounds.flat())
  const [first, second] = named(spans, 'invoke_agent desk')
  if (!first || !second) throw new Error('expected two runs')
  expect(first.attributes).toMatchObject({ 'millrace.run.outcome': 'suspended' })
  expect(first.status.code).toBe(SpanStatusCode.UNSET)
  expect(first.links).toEqual([])
  expect(second.attributes).toMatchObject({
    'millrace.run.outcome': 'completed',
    'millrace.run.resumes': first.attributes['millrace.run.id'],
  })
  expect(second.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([
    [first.spanContext().traceId, idOf(first)],
  ])
  // Each reports only its own rounds and tokens, or those of the first would count twice.
  for (const { attributes } of [first, second])
    expect(attributes).toMatchObject({
      'millrace.run.rounds': 1,
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 1,
    })
  return { first, second, spans }
}

const bothRuns = [
  ['invoke_agent desk', '  chat gpt'],
  ['invoke_agent desk', '  execute_tool refund', '  chat gpt'],
]

test('a resumed run links to the suspended one, and runs the approved call', async () => {
  const seen = measured()
  const first = desk(seen.telemetry).stream('refund me')
  await first.result
  await first.resume({ callId: 'c1', approved: true }).result
  const { second, spans } = expectResumed(seen, bothRuns)
  const call = only(spans, 'execute_tool refund')
  expect(call.parentSpanContext?.spanId).toBe(idOf(second))
  expect(call.attributes).toMatchObject({
    'gen_ai.tool.call.id': 'c1',
    'millrace.tool.status': 'ok',
    // The model was not generating at that time.
    'millrace.tool.overlap': 0,
  })
  expect(await seen.points('millrace.runs')).toEqual([
    { attributes: { 'gen_ai.agent.name': 'desk', 'millrace.run.outcome': 'suspended' }, value: 1 },
    { attributes: { 'gen_ai.agent.name': 'desk', 'millrace.run.outcome': 'completed' }, value: 1 },
  ])
  expect(await seen.points('millrace.takeovers')).toEqual([])
})

test.each([
  ['as the model wrote it', undefined, { amount: 500 }],
  ['as the person changed it', { amount: 20 }, { amount: 20 }],
])('the span of the call has the approved input, %s', async (_, input, shown) => {
  const seen = measured({ content: true })
  const first = desk(seen.telemetry).stream('refund me')
  await first.result
  await first.resume({ callId: 'c1', approved: true, ...(input && { input }) }).result
  expect(only(seen.spans(), 'execute_tool refund').attributes).toMatchObject({
    'gen_ai.tool.call.arguments': JSON.stringify(shown),
    'gen_ai.tool.call.result': `refunded ${shown.amount}`,
  })
})

test('another process can link to the run from its saved events', async () => {
  const seen = measured()
  const saved = JSON.stringify(await eventsIn(desk(seen.telemetry).stream('refund me')))
  const model = scriptedModel([[{ text: 'All settled.' }, { usage }]], { id: 'gpt' })
  const other = agent({ name: 'desk', model, tools: [refund], telemetry: seen.telemetry })
  const decisions = [{ callId: 'c1', approved: true }]
  await other.resume(JSON.parse(saved), { decisions }).result
  expectResumed(seen, bothRuns)
})

test('a run that resumes an untraced one has no link', async () => {
  const seen = measured()
  const events = await eventsIn(desk().stream('refund me'))
  const model = scriptedModel(['All settled.'], { id: 'gpt' })
  const other = agent({ name: 'desk', model, tools: [refund], telemetry: seen.telemetry })
  await other.resume(events, { decisions: [{ callId: 'c1', approved: true }] }).result
  const run = only(seen.spans(), 'invoke_agent desk')
  expect(run.links).toEqual([])
  expect(run.attributes).toHaveProperty('millrace.run.resumes')
})

test('a denied call is an empty span, and not a failure', async () => {
  const seen = measured()
  const first = desk(seen.telemetry).stream('refund me')
  await first.result
  await first.resume({ callId: 'c1', approved: false }).result
  const { spans } = expectResumed(seen, bothRuns)
  const call = only(spans, 'execute_tool refund')
  expect(call.status.code).toBe(SpanStatusCode.UNSET)
  expect(call.attributes).toMatchObject({ 'millrace.tool.status': 'denied' })
  expect(call.attributes).not.toHaveProperty('millrace.tool.attempt')
  expect(await seen.points('gen_ai.execute_tool.duration')).toEqual([])
})

test('a sub-agent that needs approval: its call waits with the run, and both resume together', async () => {
  const seen = measured()
  const clerk = agent({
    name: 'clerk',
    model: scriptedModel([[{ call: 'refund', input: { amount: 500 }, id: 'deep' }], 'Paid.'], {
      id: 'small',
    }),
    tools: [refund],
  })
  const model = scriptedModel([[{ call: 'clerk', input: { prompt: 'pay' }, id: 'c1' }], 'Done.'], {
    id: 'big',
  })
  const chief = agent({
    name: 'chief',
    model,
    tools: [clerk.asTool({ description: 'Pays' })],
    telemetry: seen.telemetry,
  })
  const first = chief.stream('pay')
  const { approvals } = await first.result
  expect(approvals).toMatchObject([{ callId: 'c1/deep' }])
  const waiting = only(seen.spans(), 'execute_tool clerk')
  expect(waiting.attributes).toMatchObject({ 'millrace.tool.status': 'waiting' })
  expect(waiting.status.code).toBe(SpanStatusCode.UNSET)

  await first.resume({ callId: 'c1/deep', approved: true }).result
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual([
    'invoke_agent chief',
    '  chat big',
    '  execute_tool clerk',
    '    invoke_agent clerk',
    '      chat small',
    'invoke_agent chief',
    '  execute_tool clerk',
    '    invoke_agent clerk',
    '      execute_tool refund',
    '      chat small',
    '  chat big',
  ])
  for (const name of ['invoke_agent chief', 'invoke_agent clerk']) {
    const [before, after] = named(spans, name)
    expect(before?.links).toEqual([])
    expect(after?.links.map(({ context }) => context.spanId)).toEqual([before && idOf(before)])
  }
})

const stores: Record<string, () => Promise<ThreadStore>> = {
  'a store in memory': async () => memoryStore(),
  SQLite: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-otel-'))
    open.push({ close: () => rm(dir, { recursive: true, force: true }) })
    return sqliteStore(join(dir, 'threads.db'))
  },
}

describe.each(Object.entries(stores))('in %s', (_, openStore) => {
  test('a suspended thread resumes after the decision, linked to the previous run', async () => {
    const seen = measured()
    const store = await openStore()
    open.push(store)
    const app = millrace({ agents: desk(), store, telemetry: seen.telemetry })
    open.push(app)
    const thread = app.thread('t')
    await thread.send('refund me')
    await untilIdle(thread)
    await thread.approve('c1', { approved: true })
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-end').map(({ outcome }) => outcome)).toEqual(['suspended', 'completed'])
    const { first, second, spans } = expectResumed(seen, bothRuns)
    for (const { attributes } of spans) expect(attributes['gen_ai.conversation.id']).toBe('t')
    expect(eventsOf(entries, 'run-start').map(({ trace }) => trace?.split('-')[2])).toEqual([
      idOf(first),
      idOf(second),
    ])
    expect(linksOf(second, spans)).toEqual(['invoke_agent desk'])
  })
})
