import {
  type Attributes,
  type Context,
  context,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  trace,
} from '@opentelemetry/api'
import type { Telemetry } from 'millrace'

/**
 * A floor: the spans and metrics of `otel()` for these workloads, and nothing else. It assumes that
 * nothing fails, is retried, resumed or canceled, and that there are no threads and no sub-agents.
 */
export function byHand(): Telemetry {
  const tracer = trace.getTracer('by-hand')
  const meter = metrics.getMeter('by-hand')
  const client = 'gen_ai.client.inference'
  const durations = meter.createHistogram(`${client}.duration`)
  const firstChunks = meter.createHistogram(`${client}.time_to_first_chunk`)
  const pauses = meter.createHistogram(`${client}.time_per_output_chunk`)
  const inputTokens = summed(meter, `${client}.usage.input_tokens`)
  const outputTokens = summed(meter, `${client}.usage.output_tokens`)
  const runSeconds = meter.createHistogram('gen_ai.invoke_agent.duration')
  const toolSeconds = meter.createHistogram('gen_ai.execute_tool.duration')
  const runs = summed(meter, 'millrace.runs')
  const secondsSince = (at: number) => (performance.now() - at) / 1000

  return {
    startRun({ runId, agent }) {
      const about = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent }
      const span = tracer.startSpan(`invoke_agent ${agent}`, { attributes: about })
      const own = trace.setSpan(context.active(), span)
      const startedAt = performance.now()
      const running = new Map<string, { span: Span; context: Context; startedAt: number }>()
      const { traceId, spanId } = span.spanContext()
      return {
        trace: `00-${traceId}-${spanId}-01`,
        event(event) {
          if (event.type === 'tool-start') {
            const started = tracer.startSpan(
              `execute_tool ${event.name}`,
              { attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': event.name } },
              own,
            )
            const inner = trace.setSpan(own, started)
            running.set(event.callId, { span: started, context: inner, startedAt: performance.now() })
          } else if (event.type === 'tool-result') {
            const ran = running.get(event.callId)
            ran?.span.setAttributes({
              'gen_ai.agent.name': agent,
              'gen_ai.tool.type': 'function',
              'gen_ai.tool.call.id': event.callId,
              'gen_ai.tool.description': 'What it does, in some words',
              'millrace.tool.status': event.status,
              'millrace.tool.overlap': event.overlapMs / 1000,
            })
            ran?.span.end()
            toolSeconds.record(secondsSince(ran?.startedAt ?? 0), {
              'gen_ai.tool.name': event.name,
              'gen_ai.tool.type': 'function',
              'gen_ai.agent.name': agent,
            })
          } else if (event.type === 'run-end') {
            span.setAttributes({
              'gen_ai.provider.name': 'some',
              'gen_ai.request.model': 'some-model',
              'gen_ai.response.finish_reasons': ['stop'],
              'gen_ai.usage.input_tokens': event.usage.inputTokens,
              'gen_ai.usage.output_tokens': event.usage.outputTokens,
              'millrace.run.id': runId,
              'millrace.run.outcome': event.outcome,
              'millrace.run.rounds': 2,
            })
            span.end()
            runs.add(1)
            runSeconds.record(secondsSince(startedAt), { 'gen_ai.agent.name': agent })
          }
        },
        modelCall({ model, round }) {
          const { hostname, port } = new URL(model.address ?? '')
          const names: Attributes = {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': model.provider,
            'gen_ai.request.model': model.id,
            'server.address': hostname,
            'server.port': Number(port),
          }
          const call = tracer.startSpan(`chat ${model.id}`, { kind: SpanKind.CLIENT, attributes: names }, own)
          const inner = trace.setSpan(own, call)
          const calledAt = performance.now()
          let latestAt = 0
          let firstSeconds = 0
          let recorded = 0
          return {
            runInContext: (work) => context.with(inner, work),
            received() {
              const now = performance.now()
              if (latestAt === 0) firstSeconds = (now - calledAt) / 1000
              // About as many as otel() records for a long answer.
              else if (recorded++ < 300) pauses.record((now - latestAt) / 1000, names)
              latestAt = now
            },
            end({ done }) {
              const { id, model: answered } = done?.metadata ?? {}
              const { inputTokens: input = 0, outputTokens: output = 0 } = done?.usage ?? {}
              call.setAttributes({
                'gen_ai.agent.name': agent,
                'gen_ai.request.stream': true,
                'gen_ai.response.finish_reasons': [done?.finish ?? ''],
                'gen_ai.usage.input_tokens': input,
                'gen_ai.usage.output_tokens': output,
                'gen_ai.response.id': String(id),
                'gen_ai.response.model': String(answered),
                'gen_ai.response.time_to_first_chunk': firstSeconds,
                'millrace.round': round,
              })
              call.end()
              const attributes = { ...names, 'gen_ai.response.model': String(answered) }
              durations.record(secondsSince(calledAt), attributes)
              firstChunks.record(firstSeconds, attributes)
              inputTokens.add(input)
              outputTokens.add(output)
            },
          }
        },
        runInContext: (callId, work) => context.with((callId && running.get(callId)?.context) || own, work),
        nested: () => byHand(),
        handedOver() {},
      }
    },
  }
}

/** With one agent and one model, it is one number. */
function summed(meter: Meter, name: string) {
  let sum = 0
  meter.createObservableCounter(name).addCallback((result) => result.observe(sum))
  return {
    add(count: number) {
      sum += count
    },
  }
}
