import { SpanStatusCode } from '@opentelemetry/api'
import type { Telemetry } from 'millrace'
import { agent, memoryStore, millrace } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { recordingTelemetry } from '../../millrace/src/agent/recording-telemetry.test-kit.ts'
import { heldTool, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import type { Measured } from './otel.test-kit.ts'
import { measured, only, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** Cancellation must not be reported as an error. */
async function expectNoErrors(seen: Measured) {
  const spans = seen.spans()
  expect(spans.map(({ status }) => status.code)).toEqual(spans.map(() => SpanStatusCode.UNSET))
  for (const { attributes } of spans) expect(attributes).not.toHaveProperty('error.type')
  for (const { name, points } of await seen.metrics())
    for (const { attributes } of points) expect({ name, ...attributes }).not.toHaveProperty('error.type')
  const runs = await seen.points('millrace.runs')
  expect(runs.map(({ attributes }) => attributes['millrace.run.outcome'])).toEqual(['canceled'])
}

test('canceled during a model call: the call and the run end without an error', async () => {
  const seen = measured()
  const model = scriptedModel(script.hanging('As I was'), { id: 'gpt' })
  const run = agent({ name: 'desk', model, telemetry: seen.telemetry }).stream('continue')
  for await (const event of run) if (event.type === 'text') run.cancel('enough')
  expect((await run.result).outcome).toBe('canceled')
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(['invoke_agent desk', '  chat gpt'])
  expect(seen.spanLog.slice(2)).toEqual(['- chat gpt', '- invoke_agent desk'])
  expect(only(spans, 'chat gpt').attributes).toMatchObject({
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    // The conventions' name for an incomplete answer.
    'gen_ai.response.finish_reasons': ['error'],
  })
  // The run itself has no answer.
  expect(only(spans, 'invoke_agent desk').attributes).not.toHaveProperty('gen_ai.response.finish_reasons')
  await expectNoErrors(seen)
  expect(await seen.points('gen_ai.client.inference.duration')).toMatchObject([{ value: { count: 1 } }])
})

test('canceled during a tool call: its span ends before the run, as canceled', async () => {
  const seen = measured()
  const slow = heldTool('slow')
  const model = scriptedModel([[{ call: 'slow' }]], { id: 'gpt' })
  const run = agent({ name: 'desk', model, tools: [slow.tool], telemetry: seen.telemetry }).stream('go')
  await slow.startedTimes(1)
  run.cancel()
  await run.result
  expect(treeOf(seen.spans())).toEqual(['invoke_agent desk', '  chat gpt', '  execute_tool slow'])
  expect(seen.spanLog.slice(-2)).toEqual(['- execute_tool slow', '- invoke_agent desk'])
  expect(only(seen.spans(), 'execute_tool slow').attributes).toMatchObject({
    'millrace.tool.status': 'canceled',
  })
  await expectNoErrors(seen)
})

test('canceled by other telemetry when a call starts: no span is left open', async () => {
  const seen = measured()
  const slow = heldTool('slow')
  const { telemetry: other } = recordingTelemetry()
  const canceling: Telemetry = {
    startRun: (run) => ({
      ...other.startRun(run),
      event: ({ type }) => type === 'tool-start' && running.cancel('not that'),
    }),
  }
  const model = scriptedModel([[{ call: 'slow' }]], { id: 'gpt' })
  const telemetry = [canceling, seen.telemetry]
  const running = agent({ name: 'desk', model, tools: [slow.tool], telemetry }).stream('go')
  await running.result
  const started = seen.spanLog.filter((line) => line.startsWith('+'))
  const ended = seen.spanLog.filter((line) => line.startsWith('-'))
  expect(ended.map((line) => line.slice(2)).toSorted()).toEqual(
    started.map((line) => line.slice(2)).toSorted(),
  )
  await expectNoErrors(seen)
})

test('a run of a stopped thread is canceled', async () => {
  const seen = measured()
  const store = memoryStore()
  open.push(store)
  const slow = heldTool('slow')
  const model = scriptedModel([[{ call: 'slow' }]], { id: 'gpt' })
  const app = millrace({
    agents: agent({ name: 'desk', model, tools: [slow.tool] }),
    store,
    telemetry: seen.telemetry,
  })
  open.push(app)
  const thread = app.thread('t')
  await thread.send('go')
  await slow.startedTimes(1)
  await thread.stop()
  await untilIdle(thread)
  expect(treeOf(seen.spans())).toEqual(['invoke_agent desk', '  chat gpt', '  execute_tool slow'])
  await expectNoErrors(seen)
})

test('a run that times out failed and was not canceled', async () => {
  const seen = measured()
  const model = scriptedModel(script.hanging('Well'), { id: 'gpt' })
  await agent({ name: 'desk', model, runMs: 1, telemetry: seen.telemetry }).stream('go').result
  const run = only(seen.spans(), 'invoke_agent desk')
  expect(run.attributes).toMatchObject({ 'millrace.run.outcome': 'failed', 'error.type': 'timeout' })
  expect(run.status.code).toBe(SpanStatusCode.ERROR)
})
