import { SpanStatusCode } from '@opentelemetry/api'
import type { Telemetry } from 'millrace'
import { agent, memoryStore, millrace } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { lookout } from '../../millrace/src/agent/lookout.test-kit.ts'
import { heldTool, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import type { Measured } from './otel.test-kit.ts'
import { measured, only, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** Nothing that somebody did not want any more is an error. */
async function isNoError(seen: Measured) {
  const spans = seen.spans()
  expect(spans.map(({ status }) => status.code)).toEqual(spans.map(() => SpanStatusCode.UNSET))
  for (const { attributes } of spans) expect(attributes).not.toHaveProperty('error.type')
  for (const { name, points } of await seen.metrics())
    for (const { attributes } of points) expect({ name, ...attributes }).not.toHaveProperty('error.type')
  const runs = await seen.points('millrace.runs')
  expect(runs.map(({ attributes }) => attributes['millrace.run.outcome'])).toEqual(['cancelled'])
}

test('cancelled in the middle of a word: the call and the run are over, and are no errors', async () => {
  const seen = measured()
  const model = scriptedModel(script.hanging('As I was'), { id: 'gpt' })
  const run = agent({ name: 'desk', model, telemetry: seen.telemetry }).stream('go on')
  for await (const event of run) if (event.type === 'text') run.cancel('enough')
  expect((await run.result).outcome).toBe('cancelled')
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(['invoke_agent desk', '  chat gpt'])
  expect(seen.course.slice(2)).toEqual(['- chat gpt', '- invoke_agent desk'])
  expect(only(spans, 'chat gpt').attributes).toMatchObject({
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    // What the conventions call an answer that the model did not come to the end of.
    'gen_ai.response.finish_reasons': ['error'],
  })
  // The run itself has no answer at all.
  expect(only(spans, 'invoke_agent desk').attributes).not.toHaveProperty('gen_ai.response.finish_reasons')
  await isNoError(seen)
  expect(await seen.points('gen_ai.client.inference.duration')).toMatchObject([{ value: { count: 1 } }])
})

test('cancelled in the middle of a tool: its span is over before the run, and says so', async () => {
  const seen = measured()
  const slow = heldTool('slow')
  const model = scriptedModel([[{ call: 'slow' }]], { id: 'gpt' })
  const run = agent({ name: 'desk', model, tools: [slow.tool], telemetry: seen.telemetry }).stream('go')
  await slow.startedTimes(1)
  run.cancel()
  await run.result
  expect(treeOf(seen.spans())).toEqual(['invoke_agent desk', '  chat gpt', '  execute_tool slow'])
  expect(seen.course.slice(-2)).toEqual(['- execute_tool slow', '- invoke_agent desk'])
  expect(only(seen.spans(), 'execute_tool slow').attributes).toMatchObject({
    'millrace.tool.status': 'cancelled',
  })
  await isNoError(seen)
})

test('cancelled by another onlooker when a call begins: no span is left open', async () => {
  const seen = measured()
  const slow = heldTool('slow')
  const { telemetry: other } = lookout()
  const canceller: Telemetry = {
    begin: (beginning) => ({
      ...other.begin(beginning),
      event: ({ type }) => type === 'tool-start' && run.cancel('not that'),
    }),
  }
  const model = scriptedModel([[{ call: 'slow' }]], { id: 'gpt' })
  const telemetry = [canceller, seen.telemetry]
  const run = agent({ name: 'desk', model, tools: [slow.tool], telemetry }).stream('go')
  await run.result
  const begun = seen.course.filter((line) => line.startsWith('+'))
  const ended = seen.course.filter((line) => line.startsWith('-'))
  expect(ended.map((line) => line.slice(2)).toSorted()).toEqual(begun.map((line) => line.slice(2)).toSorted())
  await isNoError(seen)
})

test('a thread that is stopped is told as cancelled', async () => {
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
  await isNoError(seen)
})

test('a run that took too long was not cancelled but failed', async () => {
  const seen = measured()
  const model = scriptedModel(script.hanging('Well'), { id: 'gpt' })
  await agent({ name: 'desk', model, runMs: 1, telemetry: seen.telemetry }).stream('go').result
  const run = only(seen.spans(), 'invoke_agent desk')
  expect(run.attributes).toMatchObject({ 'millrace.run.outcome': 'failed', 'error.type': 'timeout' })
  expect(run.status.code).toBe(SpanStatusCode.ERROR)
})
