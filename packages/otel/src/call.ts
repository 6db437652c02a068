import type { Attributes, Context, Span } from '@opentelemetry/api'
import { context, isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ModelRequest } from 'millrace'
import { assistantDraft } from 'millrace'
import type {
  AssistantDraft,
  CallObserver,
  ModelCall,
  Paid,
  RoundEndEvent,
  RoundFinish,
} from 'millrace/internal'
import { checkUsage } from 'millrace/internal'
import { chunkClock } from './chunk-clock.ts'
import { inputOf, outputOf, systemOf, toolsOf } from './content.ts'
import { contextAttributes, paidAttributes } from './cost.ts'
import type { Kit } from './kit.ts'
import { writeTrace } from './trace-context.ts'
import { usageAttributes } from './usage.ts'

/** The run that a model call belongs to. */
export interface CallOwner {
  readonly context: Context
  readonly agent: string
  /** Attributes that identify the run, set on all of its spans. */
  readonly attributes: Attributes
  /** Whether the model reads a summary of earlier messages. */
  readonly isCompacted: boolean
}

export interface TracedCall {
  readonly observer: CallObserver
  /** The model's output, if content is recorded. */
  readonly draft: AssistantDraft | undefined
  /**
   * Ends the span of a round's request, with what it cost if that is known. Does nothing while the
   * request runs, or the second time.
   */
  settle(paid?: Paid & Pick<RoundEndEvent, 'context'>): void
}

/** Creates a span for one model call, and measures it. */
export function traceModelCall(kit: Kit, call: ModelCall, owner: CallOwner): TracedCall {
  const { model, request, round, attempt, aside = false } = call
  const { content } = kit
  const names = kit.names(model)
  const span = kit.tracer.startSpan(
    `chat ${model.id}`,
    {
      kind: SpanKind.CLIENT,
      // Only what samplers may need. The rest is set in one call at the end: SDKs check these
      // attributes twice.
      attributes: names.metrics,
    },
    owner.context,
  )
  const callContext = trace.setSpan(owner.context, span)
  const startedAt = performance.now()
  const chunks = chunkClock((seconds) => kit.instruments().chunk(seconds, names.metrics))
  const draft = content && !aside && span.isRecording() ? assistantDraft() : undefined
  /** The cost of a round is known right after its request has ended. Its span waits for that. */
  let state: 'running' | 'ended' | 'settled' = 'running'
  const locationOf = (attribute: string) => ({ attribute, agent: owner.agent })

  if (content && span.isRecording()) {
    content.put(span, () => inputOf(request.messages), locationOf('gen_ai.input.messages'))
    const system = systemOf(request)
    if (system.length > 0) content.put(span, () => system, locationOf('gen_ai.system_instructions'))
    if (request.tools.length > 0)
      content.put(span, () => toolsOf(request), locationOf('gen_ai.tool.definitions'))
  }

  const observer: CallObserver = {
    ...(kit.headers && { headers: headersFor(callContext, span) }),
    runInContext: (work) => context.with(callContext, work),
    ...(model.capabilities.streaming && { received: chunks.received }),
    end({ done, error }) {
      const isCanceled = error?.code === 'stream_interrupted'
      const errorType = error && !isCanceled ? error.code : undefined
      const finish = finishName(done?.finish ?? 'interrupted')
      const usage = done?.usage ? checkUsage(done.usage) : {}
      const firstChunkSeconds = chunks.firstAt === undefined ? undefined : (chunks.firstAt - startedAt) / 1000
      const { id, model: answered } = done?.metadata ?? {}
      if (span.isRecording())
        span.setAttributes({
          ...owner.attributes,
          ...settingsOf(request),
          'gen_ai.request.stream': model.capabilities.streaming || undefined,
          'gen_ai.conversation.compacted': owner.isCompacted || undefined,
          'gen_ai.response.finish_reasons': [finish],
          ...usageAttributes(usage),
          'gen_ai.response.id': typeof id === 'string' ? id : undefined,
          'gen_ai.response.model': typeof answered === 'string' ? answered : undefined,
          'gen_ai.response.time_to_first_chunk': firstChunkSeconds,
          'millrace.round': round,
          'millrace.attempt': attempt > 1 ? attempt : undefined,
          'millrace.aside': aside || undefined,
          'error.type': errorType,
          'http.response.status_code': error?.status,
        })
      if (content && draft)
        content.put(span, () => outputOf(draft.message(), finish), locationOf('gen_ai.output.messages'))
      if (error && errorType)
        fail(
          span,
          content?.errorText(span, () => error.message, { agent: owner.agent }),
        )
      const { metrics, counted } = names.answeredBy(answered)
      kit.instruments().call({
        attributes: metrics,
        counted,
        seconds: (performance.now() - startedAt) / 1000,
        errorType,
        firstChunkSeconds,
        usage,
      })
      state = 'ended'
      if (aside) settle()
    },
  }

  function settle(paid?: Paid & Pick<RoundEndEvent, 'context'>) {
    if (state !== 'ended') return
    state = 'settled'
    if (paid) span.setAttributes({ ...paidAttributes(paid), ...contextAttributes(paid.context) })
    try {
      span.end()
    } catch {
      // A span processor failed, which must not affect what is measured next.
    }
  }

  return { observer, draft, settle }
}

/** `message` is content: pass it only if content is recorded. */
export function fail(span: Span, message: string | undefined) {
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
}

/**
 * Trace headers from the registered propagator or, without one, those of W3C Trace Context. Baggage
 * is not sent: it is the application's own data, and the provider is a third party.
 */
function headersFor(own: Context, span: Span): Record<string, string> {
  const spanContext = span.spanContext()
  if (!isSpanContextValid(spanContext)) return {}
  const headers: Record<string, string> = {}
  try {
    propagation.inject(propagation.deleteBaggage(own), headers)
  } catch {
    // The application's propagator failed: send the request without headers, and still end its
    // span.
    return {}
  }
  if (Object.keys(headers).length > 0) return headers
  const state = spanContext.traceState?.serialize()
  return { traceparent: writeTrace(spanContext), ...(state && { tracestate: state }) }
}

/** Request settings that are safe to record. */
function settingsOf({ settings, output }: ModelRequest): Attributes {
  const { temperature, topP, maxOutputTokens, seed, stop, reasoning } = settings
  return {
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.top_p': topP,
    'gen_ai.request.max_tokens': maxOutputTokens,
    'gen_ai.request.seed': seed,
    'gen_ai.request.stop_sequences': stop && [...stop],
    'gen_ai.request.reasoning.level': reasoning,
    'gen_ai.output.type': output && 'json',
  }
}

const finishNames: Partial<Record<RoundFinish, string>> = {
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
  interrupted: 'error',
}

export function finishName(finish: RoundFinish): string {
  return finishNames[finish] ?? finish
}
