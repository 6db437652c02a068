import type { Fault } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { SpanStatusCode } from '@opentelemetry/api'
import { agent, tool } from 'millrace'
import { openaiChat } from 'millrace/openai'
import { scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { measured, named, only, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const retry = { attempts: 3, baseMs: 1, maxDelayMs: 2 }

/** A run whose provider fails over real HTTP. */
async function runWithFaults(faults: readonly Fault[]) {
  const sim = await providerSimulator(['Hello to you, my dear friend, today.'], { faults, deltaChars: 4 })
  const seen = measured()
  open.push(sim)
  const model = openaiChat('gpt', { baseURL: sim.baseURL, apiKey: 'sk-test', provider: 'openai' })
  const result = await agent({ name: 'desk', model, retry, telemetry: seen.telemetry }).stream('hello').result
  return { seen, result, spans: seen.spans(), server: { 'server.port': Number(new URL(sim.url).port) } }
}

test('a provider that fails until retries are exhausted: a span for each attempt, and a failed run', async () => {
  const { seen, result, spans, server } = await runWithFaults([{ kind: 'status', status: 500 }])
  expect(result.outcome).toBe('failed')
  expect(treeOf(spans)).toEqual(['invoke_agent desk', '  chat gpt', '  chat gpt', '  chat gpt'])
  const code = String(result.error?.code)
  for (const [index, { attributes, status }] of named(spans, 'chat gpt').entries()) {
    expect(attributes).toMatchObject({
      ...server,
      'error.type': code,
      'http.response.status_code': 500,
      'gen_ai.response.finish_reasons': ['error'],
      'millrace.round': 1,
      ...(index > 0 && { 'millrace.attempt': index + 1 }),
    })
    expect(status).toEqual({ code: SpanStatusCode.ERROR })
  }
  const run = only(spans, 'invoke_agent desk')
  expect(run.attributes).toMatchObject({ 'millrace.run.outcome': 'failed', 'error.type': code })
  expect(run.status).toEqual({ code: SpanStatusCode.ERROR })

  const failed = { 'error.type': code }
  expect(await seen.points('millrace.retries')).toEqual([
    {
      attributes: {
        ...failed,
        'gen_ai.agent.name': 'desk',
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt',
        'server.address': '127.0.0.1',
        ...server,
      },
      value: 2,
    },
  ])
  expect(await seen.points('millrace.runs')).toEqual([
    { attributes: { 'gen_ai.agent.name': 'desk', 'millrace.run.outcome': 'failed' }, value: 1 },
  ])
  expect(await seen.points('gen_ai.client.inference.duration')).toMatchObject([
    { attributes: { ...failed, ...server, 'gen_ai.request.model': 'gpt' }, value: { count: 3 } },
  ])
  expect(await seen.points('gen_ai.invoke_agent.duration')).toMatchObject([
    { attributes: { ...failed, 'gen_ai.agent.name': 'desk' }, value: { count: 1 } },
  ])
  expect(await seen.points('millrace.retractions')).toEqual([])
})

test('a stream that breaks: the round is retracted and generated again, and the run succeeds', async () => {
  const { seen, result, spans } = await runWithFaults([{ kind: 'end', at: { event: 3 }, request: 0 }])
  expect(result.outcome).toBe('completed')
  expect(treeOf(spans)).toEqual(['invoke_agent desk', '  chat gpt', '  chat gpt'])
  const [broken, whole] = named(spans, 'chat gpt')
  expect(broken?.attributes).toMatchObject({ 'error.type': 'stream_error' })
  expect(broken?.attributes['gen_ai.response.time_to_first_chunk']).toBeTypeOf('number')
  expect(whole?.attributes).toMatchObject({
    'gen_ai.response.finish_reasons': ['stop'],
    'millrace.attempt': 2,
  })
  expect(whole?.attributes).not.toHaveProperty('error.type')
  const run = only(spans, 'invoke_agent desk')
  expect(run.status).toEqual({ code: SpanStatusCode.UNSET })
  expect(run.attributes).not.toHaveProperty('error.type')
  expect(run.events).toMatchObject([{ name: 'millrace.round.retract', attributes: { 'millrace.round': 1 } }])
  expect(await seen.points('millrace.retractions')).toEqual([
    { attributes: { 'gen_ai.agent.name': 'desk' }, value: 1 },
  ])
  expect(await seen.points('millrace.retries')).toMatchObject([
    { attributes: { 'error.type': 'stream_error' }, value: 1 },
  ])
  expect(await seen.points('gen_ai.client.inference.time_to_first_chunk')).toMatchObject([
    { attributes: { 'gen_ai.request.model': 'gpt' }, value: { count: 1 } },
    { attributes: { 'gen_ai.response.model': 'gpt' }, value: { count: 1 } },
  ])
})

test('a fallback to the next model: a span for each model', async () => {
  const seen = measured()
  const first = scriptedModel([[{ error: { code: 'auth', message: 'who are you?', status: 401 } }]], {
    id: 'first',
  })
  const second = scriptedModel(['Here I am.'], { id: 'second' })
  const desk = agent({ name: 'desk', model: [first, second], retry, telemetry: seen.telemetry })
  expect((await desk.run('hello')).outcome).toBe('completed')
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(['invoke_agent desk', '  chat first', '  chat second'])
  expect(only(spans, 'chat first').attributes).toMatchObject({
    'error.type': 'auth',
    'http.response.status_code': 401,
  })
  // The run has the name of the preferred model.
  expect(only(spans, 'invoke_agent desk').attributes['gen_ai.request.model']).toBe('first')
  // The retry counts for the model that failed.
  expect(await seen.points('millrace.retries')).toMatchObject([
    { attributes: { 'gen_ai.request.model': 'first', 'error.type': 'auth' }, value: 1 },
  ])
})

test('a tool that fails does not fail the run, unless configured to', async () => {
  const broken = tool({
    name: 'broken',
    description: 'Fails',
    input: z.object({}),
    run: () => {
      throw new Error('no')
    },
  })
  for (const onToolError of ['continue', 'fail'] as const) {
    const seen = measured()
    const model = scriptedModel([[{ call: 'broken' }], 'Never mind.'])
    const desk = agent({ name: 'desk', model, tools: [broken], onToolError, telemetry: seen.telemetry })
    await desk.stream('go').result
    const spans = seen.spans()
    expect(only(spans, 'execute_tool broken')).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'failed', 'millrace.tool.status': 'failed' },
    })
    const run = only(spans, 'invoke_agent desk')
    expect(run.attributes['error.type']).toBe(onToolError === 'fail' ? 'tool_failed' : undefined)
    expect(await seen.points('gen_ai.execute_tool.duration')).toMatchObject([
      { attributes: { 'gen_ai.tool.name': 'broken', 'error.type': 'failed' }, value: { count: 1 } },
    ])
  }
})

test('runs that stop at a limit have their outcome, and are not failures', async () => {
  const seen = measured()
  const { telemetry } = seen
  const again = tool({ name: 'again', description: 'Again', input: z.object({}), run: () => 'more' })
  const calling = scriptedModel(() => [{ call: 'again', input: {} }])
  await agent({ name: 'looping', model: calling, tools: [again], maxRounds: 1, telemetry }).run('go')
  const cutOff = scriptedModel([[{ text: 'And so it' }, { finish: 'length' }]])
  await agent({ name: 'long', model: cutOff, telemetry }).run('go')
  const spans = seen.spans()
  const endings = ['looping', 'long'].map((name) => {
    const { attributes, status } = only(spans, `invoke_agent ${name}`)
    return [attributes['millrace.run.outcome'], attributes['error.type'], status.code]
  })
  expect(endings).toEqual([
    ['max-rounds', undefined, SpanStatusCode.UNSET],
    ['truncated', undefined, SpanStatusCode.UNSET],
  ])
})
