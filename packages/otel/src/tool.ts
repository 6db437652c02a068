import type { Attributes, Context, Span } from '@opentelemetry/api'
import { SpanKind, trace } from '@opentelemetry/api'
import type { JsonObject, ToolCallEvent, ToolResultEvent, ToolSpec } from 'millrace'
import type { CallStatus, ToolStartEvent } from 'millrace/internal'
import { textOfResult } from 'millrace/internal'
import { fail } from './call.ts'
import { resultOf } from './content.ts'
import { withError } from './instruments.ts'
import type { Kit } from './kit.ts'

/** The run whose calls these are. */
export interface ToolsOwner {
  readonly context: Context
  readonly agent: string
  readonly attributes: Attributes
}

/** Creates a span for each tool call of a run. */
export interface ToolSpans {
  /** The model has written a call. */
  called(call: ToolCallEvent): void
  /** The tools offered to the model. */
  offered(specs: readonly ToolSpec[]): void
  started(start: ToolStartEvent): void
  ended(result: ToolResultEvent): void
  /**
   * A person is asked. If the request comes from inside a call, the call has stopped, and restarts
   * after the decision.
   */
  asked(requestId: string): void
  /** The trace context of a call; undefined if it is not running. */
  contextOf(callId: string): Context | undefined
  /**
   * The run has ended, and with it all open spans: it waits for a person, or another process
   * continues it.
   */
  close(status: string): void
}

interface Running {
  readonly span: Span
  readonly context: Context
  readonly name: string
  readonly attempt: number
  readonly startedAt: number
}

interface ToolDescription {
  readonly callId: string
  readonly name: string
  readonly status: string
  readonly attempt: number | undefined
}

/** Statuses that are not failures: the call succeeded, or was not wanted. */
const successStatuses: ReadonlySet<CallStatus> = new Set(['ok', 'canceled', 'denied', 'blocked'])

export function toolSpans(kit: Kit, owner: ToolsOwner): ToolSpans {
  const { content, tracer } = kit
  const running = new Map<string, Running>()
  /** The arguments the model wrote, if content is recorded; text if they are not valid JSON. */
  const inputs = new Map<string, JsonObject | string>()
  let specs: readonly ToolSpec[] = []

  function startSpan(name: string, input: JsonObject | string | undefined): Span {
    const span = tracer.startSpan(
      `execute_tool ${name}`,
      {
        kind: SpanKind.INTERNAL,
        attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
      },
      owner.context,
    )
    if (input !== undefined) put(span, name, 'gen_ai.tool.call.arguments', () => input)
    return span
  }

  function attributesOf({ callId, name, status, attempt = 1 }: ToolDescription): Attributes {
    return {
      ...owner.attributes,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.description': specs.find((spec) => spec.name === name)?.description,
      'millrace.tool.status': status,
      'millrace.tool.attempt': attempt > 1 ? attempt : undefined,
    }
  }

  function put(span: Span, tool: string, attribute: string, value: () => unknown) {
    content?.put(span, value, { attribute, agent: owner.agent, tool })
  }

  function stop(callId: string, status: string) {
    const stopped = running.get(callId)
    if (!stopped) return
    const { span, name, attempt } = stopped
    running.delete(callId)
    span.setAttributes(attributesOf({ callId, name, status, attempt }))
    span.end()
  }

  function measure(name: string, errorType: string | undefined, { startedAt }: Running) {
    const attributes = {
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'gen_ai.agent.name': owner.agent,
    }
    const seconds = (performance.now() - startedAt) / 1000
    kit.instruments().toolSeconds.record(seconds, withError(attributes, errorType))
  }

  return {
    called({ callId, input, raw }) {
      if (content) inputs.set(callId, raw ?? input)
    },
    started({ callId, name, attempt, input }) {
      const span = startSpan(name, input ?? inputs.get(callId))
      running.set(callId, {
        span,
        context: trace.setSpan(owner.context, span),
        name,
        attempt,
        startedAt: performance.now(),
      })
    },
    offered(given) {
      specs = given
    },
    ended({ callId, name, status, output, overlapMs }) {
      const ran = running.get(callId)
      const span = ran?.span ?? startSpan(name, inputs.get(callId))
      const errorType = successStatuses.has(status) ? undefined : status
      span.setAttributes({
        ...attributesOf({ callId, name, status, attempt: ran?.attempt }),
        'millrace.tool.overlap': ran && overlapMs / 1000,
        'error.type': errorType,
      })
      put(span, name, 'gen_ai.tool.call.result', () => resultOf(output))
      if (errorType !== undefined)
        fail(
          span,
          content?.errorText(span, () => textOfResult(output), { agent: owner.agent, tool: name }),
        )
      running.delete(callId)
      inputs.delete(callId)
      if (ran) measure(name, errorType, ran)
      // Last, since a span processor may throw.
      span.end()
    },
    asked(requestId) {
      for (const callId of running.keys()) if (requestId.startsWith(`${callId}/`)) stop(callId, 'waiting')
    },
    contextOf: (callId) => running.get(callId)?.context,
    close(status) {
      for (const callId of running.keys()) stop(callId, status)
    },
  }
}
