import type { Attributes, Context, Link } from '@opentelemetry/api'
import { context, isSpanContextValid, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import type { Message, RunEvent, Usage } from 'millrace'
import { addUsage, noUsage } from 'millrace'
import type { RunEndEvent, RunInfo, RunTelemetry } from 'millrace/internal'
import { eventHandler } from 'millrace/internal'
import type { TracedCall } from './call.ts'
import { fail, finishName, traceModelCall } from './call.ts'
import { inputOf, outputOf } from './content.ts'
import { limitAttributes, runCost } from './cost.ts'
import { withError } from './instruments.ts'
import type { Kit } from './kit.ts'
import { toolSpans } from './tool.ts'
import { readTrace, writeTrace } from './trace-context.ts'
import { usageAttributes } from './usage.ts'

/**
 * Traces a run and everything in it. `parentContext` is that of the tool call that started it, if
 * any.
 */
export function traceRun(kit: Kit, run: RunInfo, parentContext?: Context): RunTelemetry {
  const { agent, conversation } = run
  const { content } = kit
  const parent = parentContext ?? parentOf(run)
  const attributes: Attributes = {
    'gen_ai.agent.name': agent,
    ...(conversation !== undefined && { 'gen_ai.conversation.id': conversation }),
  }
  const span = kit.tracer.startSpan(
    `invoke_agent ${agent}`,
    {
      kind: SpanKind.INTERNAL,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', ...attributes },
      links: linksOf(run),
    },
    parent,
  )
  if (!isSpanContextValid(span.spanContext()) && !kit.instruments().isEnabled) return noopTelemetry(kit)
  const runContext = trace.setSpan(parent, span)
  const startedAt = performance.now()
  const tools = toolSpans(kit, { context: runContext, agent, attributes })
  for (const open of run.resumes?.calls ?? []) tools.called(open)
  const cost = runCost(kit, agent)
  const byAgent: Attributes = { 'gen_ai.agent.name': agent }
  let call: TracedCall | undefined
  let firstModel: Attributes | undefined
  /** The model of the latest call. */
  let latestModel: Attributes = {}
  /** Only this run's rounds: a run that resumes another continues its numbering. */
  const rounds = new Set<number>()
  /** Whether the input is on the span. In a thread, `run-start` does not contain it. */
  let hasInput = false
  /**
   * The usage in `run-end` includes the runs that this one resumes, so sums over spans would count
   * those twice.
   */
  let totalUsage: Usage | undefined
  let isCompacted = false
  /** Whether the output of the latest call was retracted. */
  let isRetracted = false
  let hasEnded = false

  function end(outcome: string, { finish, error, limit }: Partial<RunEndEvent> = {}) {
    if (hasEnded) return
    hasEnded = true
    tools.close(outcome === 'suspended' ? 'waiting' : outcome)
    const errorType = outcome === 'failed' ? (error?.code ?? '_OTHER') : undefined
    const finishReason = finish && finishName(finish)
    const hasFinish = finishReason !== undefined && (finish !== 'interrupted' || errorType !== undefined)
    span.setAttributes({
      ...firstModel,
      'millrace.run.id': run.runId,
      'millrace.run.resumes': run.resumes?.runId,
      'millrace.run.outcome': outcome,
      'millrace.run.rounds': rounds.size,
      ...(totalUsage && usageAttributes(totalUsage)),
      ...cost.attributes(),
      ...limitAttributes(limit),
      'gen_ai.response.finish_reasons': hasFinish ? [finishReason] : undefined,
      'error.type': errorType,
    })
    const answer = isRetracted ? undefined : call?.draft?.message()
    if (answer && finishReason !== undefined)
      put('gen_ai.output.messages', () => outputOf(answer, finishReason))
    if (errorType !== undefined) fail(span, error && content?.errorText(span, () => error.message, { agent }))
    const instruments = kit.instruments()
    instruments.ended(agent, outcome)
    cost.reached(limit, 'end')
    instruments.runSeconds.record((performance.now() - startedAt) / 1000, withError(byAgent, errorType))
    call?.settle()
    // Last, since a span processor may throw.
    span.end()
  }

  function addToUsage(usage: Partial<Usage> | undefined) {
    if (usage) totalUsage = addUsage(totalUsage ?? noUsage, usage)
  }

  function put(attribute: string, value: () => unknown) {
    content?.put(span, value, { attribute, agent })
  }

  function putInput(messages: readonly Message[]) {
    hasInput = true
    put('gen_ai.input.messages', () => inputOf(messages))
  }

  // Nearly all events are deltas: they cost nothing, unless content is recorded.
  const draft = (event: RunEvent) => call?.draft?.push(event)
  const handle = eventHandler({
    text: draft,
    reasoning: draft,
    'part-end': draft,
    'provider-tool': draft,
    'tool-call'(event) {
      draft(event)
      tools.called(event)
    },
    'run-start'({ losses, input }) {
      if (losses) {
        span.setAttribute('millrace.run.losses', losses)
        kit.instruments().takeovers.add(1, byAgent)
      }
      if (input.length > 0) putInput(input)
    },
    'round-start'({ round, limit }) {
      rounds.add(round)
      cost.reached(limit, 'model')
    },
    'round-retry'(event) {
      cost.count(event)
      kit.instruments().retries.add(1, { ...byAgent, ...latestModel, 'error.type': event.error.code })
      call?.settle(event.failed)
    },
    'round-retract'(event) {
      const { round, failed } = event
      isRetracted = true
      cost.count(event)
      span.addEvent('millrace.round.retract', { 'millrace.round': round })
      kit.instruments().retractions.add(1, byAgent)
      call?.settle(failed)
    },
    'round-end'(event) {
      addToUsage(event.usage)
      cost.count(event)
      cost.context(event.model, event.context)
      call?.settle(event)
    },
    summary(event) {
      isCompacted = true
      addToUsage(event.usage)
      cost.count(event)
    },
    'tool-start': tools.started,
    'approval-request'({ callId, budget }) {
      cost.reached(budget, 'ask')
      tools.asked(callId)
    },
    'tool-result'(event) {
      cost.count(event)
      tools.ended(event)
    },
    'run-end': (event) => end(event.outcome, event),
  })

  return {
    trace: isSpanContextValid(span.spanContext()) ? writeTrace(span.spanContext()) : undefined,
    event(event) {
      // Another observer may have ended the run during this event: a span started now would never
      // end.
      if (!hasEnded) handle(event)
    },
    modelCall(started) {
      cost.called(started.model)
      call?.settle()
      const traced = traceModelCall(kit, started, { context: runContext, agent, attributes, isCompacted })
      if (!started.aside) {
        const { model, request } = started
        const names = kit.names(model)
        latestModel = names.metrics
        firstModel ??= names.run
        if (!hasInput) putInput(request.messages)
        tools.offered(request.tools)
        call = traced
        isRetracted = false
      }
      return traced.observer
    },
    runInContext(callId, work) {
      const inner = (callId !== undefined && tools.contextOf(callId)) || runContext
      return context.active() === inner ? work() : context.with(inner, work)
    },
    nested: (callId) => ({
      startRun: (child) =>
        traceRun(
          kit,
          { ...child, conversation: child.conversation ?? conversation },
          tools.contextOf(callId) ?? runContext,
        ),
    }),
    handedOver: () => end('handed-over'),
  }
}

/** Used if neither spans nor metrics are recorded, at almost no cost. */
function noopTelemetry(kit: Kit): RunTelemetry {
  return {
    event() {},
    modelCall: () => ({ end() {} }),
    runInContext: (_, work) => work(),
    nested: () => ({ startRun: (child) => traceRun(kit, child) }),
    handedOver() {},
  }
}

/**
 * In a thread, the parent is the sender of the last input it answers, not the context the worker
 * happens to run in.
 */
function parentOf({ inThread, parentTraces }: RunInfo): Context {
  if (!inThread) return context.active()
  const cause = readTrace(parentTraces.at(-1))
  return cause ? trace.setSpanContext(ROOT_CONTEXT, cause) : ROOT_CONTEXT
}

function linksOf({ inThread, parentTraces, resumes }: RunInfo): Link[] {
  const others = inThread ? parentTraces.slice(0, -1) : parentTraces
  return [...others, resumes?.trace].flatMap((text) => {
    const known = readTrace(text)
    return known ? [{ context: known }] : []
  })
}
