import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import type { Telemetry } from 'millrace'
import { agent, memoryStore, millrace } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { eventsOf, heldTool, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { measured, treeOf } from './otel.test-kit.ts'
import { otel } from './otel.ts'

// Nothing is passed to otel() here: it uses the registered providers, if any.

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
  trace.disable()
  metrics.disable()
  context.disable()
})

/** The official SDK, not registered yet. */
function sdk() {
  const seen = measured()
  return {
    ...seen,
    register() {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
      trace.setGlobalTracerProvider(seen.tracerProvider)
      metrics.setGlobalMeterProvider(seen.meterProvider)
    },
  }
}

const desk = (telemetry: Telemetry) =>
  agent({ name: 'desk', model: scriptedModel(() => 'Hello.', { id: 'gpt' }), telemetry })

test('with nothing registered everything works, and nothing is recorded', async () => {
  const unused = sdk()
  const telemetry = otel({ content: true })
  const store = memoryStore()
  const tool = heldTool('slow')
  tool.startedTimes(1).then(() => tool.runs[0]?.release())
  const model = scriptedModel([...script.tool('slow', {}, 'Done.')])
  const app = millrace({ agents: agent({ model, tools: [tool.tool] }), store, telemetry })
  open.push(store, app)
  const thread = app.thread('t')
  await thread.send('go')
  const entries = await untilIdle(thread)
  expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
  // There is no trace to continue, and none is made up.
  for (const event of [...eventsOf(entries, 'input'), ...eventsOf(entries, 'run-start')])
    expect(event).not.toHaveProperty('trace')
  expect((await desk(telemetry).run('hello')).outcome).toBe('completed')
  expect(unused.spanLog).toEqual([])
  expect(await unused.metrics()).toEqual([])
})

test.each(['traces', 'metrics'])('if only %s are registered, only those are recorded', async (only) => {
  const seen = sdk()
  if (only === 'traces') trace.setGlobalTracerProvider(seen.tracerProvider)
  else metrics.setGlobalMeterProvider(seen.meterProvider)
  const helper = desk(otel()).asTool({ name: 'helper', description: 'Helps' })
  const model = scriptedModel([...script.tool('helper', { prompt: 'Go.' }, 'Done.')])
  await agent({ name: 'boss', model, tools: [helper], telemetry: otel() }).run('go')
  expect(treeOf(seen.spans()).length).toBe(only === 'traces' ? 6 : 0)
  expect((await seen.points('millrace.runs')).length).toBe(only === 'metrics' ? 2 : 0)
})

test('providers registered after otel() and a first run record later runs', async () => {
  const telemetry = otel()
  const one = desk(telemetry)
  await one.run('hello')
  const late = sdk()
  late.register()
  await one.run('hello')
  expect(treeOf(late.spans())).toEqual(['invoke_agent desk', '  chat gpt'])
  expect(await late.points('millrace.runs')).toMatchObject([{ value: 1 }])
  expect(await late.points('gen_ai.client.inference.duration')).toMatchObject([{ value: { count: 1 } }])
})

test('an app opened before the registration is measured as soon as something happens', async () => {
  const store = memoryStore()
  const app = millrace({ agents: desk(otel()), store, telemetry: otel() })
  open.push(store, app)
  const late = sdk()
  late.register()
  await app.thread('t').send('hello')
  await untilIdle(app.thread('t'))
  expect(await late.points('millrace.threads.running')).toMatchObject([{ value: expect.any(Number) }])
  expect(await late.points('millrace.flush.size')).toMatchObject([{ value: { count: expect.any(Number) } }])
})

test('providers passed as options take precedence over registered ones', async () => {
  const [registered, passed] = [sdk(), measured()]
  registered.register()
  await desk(passed.telemetry).run('hello')
  expect(treeOf(passed.spans())).toEqual(['invoke_agent desk', '  chat gpt'])
  expect(registered.spanLog).toEqual([])
  expect(await registered.metrics()).toEqual([])
})
