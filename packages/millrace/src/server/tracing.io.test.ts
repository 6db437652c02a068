import { otel } from '@millrace/otel'
import type { Context } from '@opentelemetry/api'
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entriesOf, storyteller } from '../protocols/protocols.test-kit.ts'
import { served } from './server.test-kit.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

/**
 * Sends a message with these headers in a new thread. Returns the logged input and the span of the
 * run.
 */
async function answered(
  headers: Record<string, string>,
  { traced = true, within = ROOT_CONTEXT }: { traced?: boolean; within?: Context } = {},
) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const { ask } = served(storyteller(), {}, traced ? { telemetry: otel({ tracerProvider }) } : {})
  await ask('POST', '/threads', { body: { id: 'one' } })
  const sent = await context.with(within, () =>
    ask('POST', '/threads/one/messages', { body: { message: 'Hi' }, headers }),
  )
  const [input] = await entriesOf((await ask('GET', '/threads/one/events?until=idle')).body)
  const run = exporter.getFinishedSpans().find(({ name }) => name === 'invoke_agent storyteller')
  return { status: sent.status, input: input?.event, run }
}

describe('a message with a trace context', () => {
  test('makes the run a part of that trace', async () => {
    const { status, input, run } = await answered({ traceparent })
    expect(status).toBe(202)
    expect(input).toMatchObject({ type: 'input', trace: traceparent })
    expect(run?.spanContext().traceId).toBe(traceId)
    expect(run?.parentSpanContext?.spanId).toBe(spanId)
  })

  test('makes the run a child of the active span of the request, if there is one', async () => {
    const ours = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }
    const within = trace.setSpanContext(ROOT_CONTEXT, ours)
    const { input, run } = await answered({ traceparent }, { within })
    expect(input).toMatchObject({ trace: `00-${ours.traceId}-${ours.spanId}-01` })
    expect(run?.parentSpanContext?.spanId).toBe(ours.spanId)
  })

  test('of a future version is read as far as it is known', async () => {
    const later = `cc${traceparent.slice(2)}`
    for (const header of [later, `${later}-what-the-future-brings`, `${later}-`]) {
      const { input, run } = await answered({ traceparent: header })
      expect(input).toMatchObject({ type: 'input', trace: later })
      expect(run?.parentSpanContext?.spanId).toBe(spanId)
    }
  })

  test.each([
    'x',
    `${traceparent}-more`,
    `cc${traceparent.slice(2)}more`,
    `ff${traceparent.slice(2)}-more`,
    traceparent.toUpperCase(),
    `${traceparent}, ${traceparent}`,
    `ff${traceparent.slice(2)}`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
  ])('that is malformed is ignored: %s', async (malformed) => {
    const { status, input, run } = await answered({ traceparent: malformed })
    expect(status).toBe(202)
    expect(input).not.toHaveProperty('trace')
    expect(run).toBeDefined()
    expect(run?.parentSpanContext).toBeUndefined()
  })

  test('is ignored without telemetry', async () => {
    const { status, input } = await answered({ traceparent }, { traced: false })
    expect(status).toBe(202)
    expect(input).not.toHaveProperty('trace')
  })
})
