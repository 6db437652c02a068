import type { ProviderSimulatorOptions } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { context, createTraceState, metrics, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import type { RunOptions, Telemetry } from 'millrace'
import { agent, memoryExchanges, millrace } from 'millrace'
import { openaiChat } from 'millrace/openai'
import { scriptedModel } from 'millrace/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { adapters, wires } from '../../millrace/src/models/every-model.test-kit.ts'
import { idOf, measured } from './otel.test-kit.ts'
import { otel } from './otel.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function simulated(options: ProviderSimulatorOptions = {}) {
  const sim = await providerSimulator(() => 'Yes.', options)
  open.push(sim)
  return sim
}

/** The headers passed to a model. */
async function headersSent(telemetry: Telemetry, options: RunOptions = {}) {
  const model = scriptedModel(['Yes.'], { id: 'gpt' })
  await agent({ name: 'desk', model, telemetry }).run('Well?', options)
  return model.requests[0]?.settings.headers
}

/** OpenTelemetry as an application sets it up, with these propagators. */
function registered(propagators: string) {
  vi.stubEnv('OTEL_PROPAGATORS', propagators)
  const exporter = new InMemorySpanExporter()
  const sdk = new NodeSDK({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
    autoDetectResources: false,
  })
  sdk.start()
  open.push({
    async close() {
      vi.unstubAllEnvs()
      await sdk.shutdown()
      for (const api of [trace, metrics, propagation, context]) api.disable()
    },
  })
  return () => exporter.getFinishedSpans().find(({ name }) => name === 'chat gpt')
}

describe('headers: true', () => {
  test.each(Object.entries({ ...wires, ...adapters }))(
    'sends the span of each attempt to the provider: %s',
    async (_, make) => {
      const sim = await simulated({ faults: [{ kind: 'status', status: 503, request: 0 }] })
      const seen = measured({ headers: true })
      const desk = agent({ model: make(sim), retry: { baseMs: 0 }, telemetry: seen.telemetry })
      await desk.run('Well?')
      const chats = seen.spans().filter(({ name }) => name.startsWith('chat '))
      expect(chats).toHaveLength(2)
      expect(new Set(chats.map(idOf)).size).toBe(2)
      expect(sim.requests.map(({ headers }) => headers.traceparent)).toEqual(
        chats.map((span) => `00-${span.spanContext().traceId}-${idOf(span)}-01`),
      )
    },
  )

  test.each(Object.entries({ ...wires, ...adapters }))('is off by default: %s', async (_, make) => {
    const sim = await simulated()
    await agent({ model: make(sim), telemetry: measured().telemetry }).run('Well?')
    expect(sim.requests).toHaveLength(1)
    expect(Object.keys(sim.requests[0]?.headers ?? {})).not.toContain('traceparent')
  })

  test('does not override headers of the caller, in upper or lower case', async () => {
    const sim = await simulated()
    const { telemetry } = measured({ headers: true })
    const model = openaiChat('gpt', { baseURL: sim.baseURL, apiKey: 'sk-test' })
    for (const name of ['traceparent', 'Traceparent'])
      await agent({ model, telemetry, settings: { headers: { [name]: 'mine' } } }).run('Well?')
    expect(sim.requests.map(({ headers }) => headers.traceparent)).toEqual(['mine', 'mine'])
    const own = { Traceparent: 'mine' }
    expect(await headersSent(telemetry, { settings: { headers: own } })).toEqual(own)
  })

  test('passes on the trace state', async () => {
    const { telemetry, tracerProvider } = measured({ headers: true })
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    open.push({ close: async () => context.disable() })
    const parent = tracerProvider.getTracer('test').startSpan('parent').spanContext()
    const traceState = createTraceState('vendor=7')
    const sent = await context.with(trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceState }), () =>
      headersSent(telemetry),
    )
    expect(sent).toEqual({
      traceparent: expect.stringContaining(`00-${parent.traceId}-`),
      tracestate: 'vendor=7',
    })
  })

  test('sends the headers of the registered propagators, but never baggage', async () => {
    const chat = registered('tracecontext,baggage,b3')
    const baggage = propagation.createBaggage({ user: { value: 'ada' } })
    const sent = await context.with(propagation.setBaggage(context.active(), baggage), () =>
      headersSent(otel({ headers: true })),
    )
    const { traceId = '', spanId = '' } = chat()?.spanContext() ?? {}
    expect(sent).toEqual({ traceparent: `00-${traceId}-${spanId}-01`, b3: `${traceId}-${spanId}-1` })
  })

  test('sends only the headers of the registered propagator', async () => {
    const chat = registered('b3multi')
    const sent = await headersSent(otel({ headers: true }))
    const { traceId, spanId } = chat()?.spanContext() ?? {}
    expect(sent).toEqual({ 'x-b3-traceid': traceId, 'x-b3-spanid': spanId, 'x-b3-sampled': '1' })
  })

  test('sends nothing if nothing is traced', async () => {
    expect(await headersSent(otel({ headers: true }))).toBeUndefined()
  })

  test('appears in recorded exchanges, unlike the API key', async () => {
    const sim = await simulated()
    const seen = measured({ headers: true })
    const model = openaiChat('gpt', { baseURL: sim.baseURL, apiKey: 'Qq7kEYthatNobodyMaySee9zz' })
    const app = millrace({
      agents: agent({ name: 'desk', model }),
      exchanges: memoryExchanges(),
      telemetry: seen.telemetry,
    })
    open.push(app)
    const thread = app.thread('t1')
    await thread.send('Well?')
    let run = ''
    for await (const { event } of thread.follow()) {
      if (event.type === 'run-start') run = event.runId
      if (event.type === 'run-end') break
    }
    const exchanges = await thread.exchanges({ run })
    expect(exchanges).toHaveLength(1)
    expect(exchanges[0]?.wire).toMatchObject([
      {
        status: 200,
        headers: { authorization: '[key]', traceparent: sim.requests[0]?.headers.traceparent },
      },
    ])
    expect(sim.requests[0]?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(JSON.stringify(exchanges)).not.toContain('Qq7kEY')
  })
})

test('a propagator that throws affects neither the request nor its span', async () => {
  const failing = () => {
    throw new Error('broken')
  }
  propagation.setGlobalPropagator({ inject: failing, extract: failing, fields: () => [] })
  open.push({ close: async () => void propagation.disable() })
  const seen = measured({ headers: true })
  expect(await headersSent(seen.telemetry)).toBeUndefined()
  expect(seen.spans().map(({ name }) => name)).toEqual(['invoke_agent desk', 'chat gpt'])
})
