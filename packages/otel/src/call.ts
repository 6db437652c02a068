import type { Attributes, Context, Span } from '@opentelemetry/api'
import { context, isSpanContextValid, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ModelRequest } from 'millrace'
import { assistantDraft } from 'millrace'
import type { AssistantDraft, CallObserver, ModelCall, RoundFinish } from 'millrace/internal'
import { checkUsage } from 'millrace/internal'
import { chunkClock } from './chunk-clock.ts'
import { inputOf, outputOf, systemOf, toolsOf } from './content.ts'
import type { Kit } from './kit.ts'
import { writeTrace } from './trace-context.ts'
import { usageAttributes } from './usage.ts'

/** The run that a model call belongs to. */
export interface CallOwner {
  readonly context: Context
  readonly agent: string
  /** Those that say whose it is, on every span of the run. */
  readonly attributes: Attributes
  /** The model reads a summary of what was said before. */
  readonly isCompacted: boolean
}

export interface OpenCall {
  readonly observer: CallObserver
  /** What the model says, where that is put on the span. */
  readonly draft: AssistantDraft | undefined
}

/** Makes a span of one request to a model, and measures it. */
export function beginCall(kit: Kit, call: ModelCall, owner: CallOwner): OpenCall {
  const { model, request, round, attempt, aside = false } = call
  const { content } = kit
  const names = kit.names(model)
  const span = kit.tracer.startSpan(
    `chat ${model.id}`,
    {
      kind: SpanKind.CLIENT,
      // What a sampler may ask for. All else is put there at the end, at once: an SDK checks what it is given here twice.
      attributes: names.metrics,
    },
    owner.context,
  )
  const own = trace.setSpan(owner.context, span)
  const begunAt = performance.now()
  const chunks = chunkClock((seconds) => kit.instruments().chunk(seconds, names.metrics))
  const draft = content && !aside && span.isRecording() ? assistantDraft() : undefined
  const place = (attribute: string) => ({ attribute, agent: owner.agent })

  if (content && span.isRecording()) {
    content.put(span, () => inputOf(request.messages), place('gen_ai.input.messages'))
    const system = systemOf(request)
    if (system.length > 0) content.put(span, () => system, place('gen_ai.system_instructions'))
    if (request.tools.length > 0) content.put(span, () => toolsOf(request), place('gen_ai.tool.definitions'))
  }

  const observer: CallObserver = {
    ...(kit.headers && { headers: headersFor(own, span) }),
    within: (work) => context.with(own, work),
    ...(model.capabilities.streaming && { received: chunks.received }),
    end({ done, error }) {
      const isCancelled = error?.code === 'stream_interrupted'
      const errorType = error && !isCancelled ? error.code : undefined
      const finish = finishName(done?.finish ?? 'interrupted')
      const usage = done?.usage ? checkUsage(done.usage) : {}
      const firstChunkSeconds = chunks.firstAt === undefined ? undefined : (chunks.firstAt - begunAt) / 1000
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
        content.put(span, () => outputOf(draft.message(), finish), place('gen_ai.output.messages'))
      if (error && errorType)
        fail(
          span,
          content?.words(span, () => error.message, { agent: owner.agent }),
        )
      const { metrics, counted } = names.answeredBy(answered)
      kit.instruments().call({
        attributes: metrics,
        counted,
        seconds: (performance.now() - begunAt) / 1000,
        errorType,
        firstChunkSeconds,
        usage,
      })
      // Last: whoever takes it may throw.
      span.end()
    },
  }
  return { observer, draft }
}

/** `message` is content, and there only if that is wanted. */
export function fail(span: Span, message: string | undefined) {
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
}

/**
 * The propagator that is registered says which headers these are; without one, those of W3C Trace Context. Baggage stays here: it is the
 * application's own, and a provider is somebody else.
 */
function headersFor(own: Context, span: Span): Record<string, string> {
  const spanContext = span.spanContext()
  if (!isSpanContextValid(spanContext)) return {}
  const headers: Record<string, string> = {}
  try {
    propagation.inject(propagation.deleteBaggage(own), headers)
  } catch {
    // A propagator that fails is the application's own: the request goes out without, and its span is ended all the same.
    return {}
  }
  if (Object.keys(headers).length > 0) return headers
  const state = spanContext.traceState?.serialize()
  return { traceparent: writeTrace(spanContext), ...(state && { tracestate: state }) }
}

/** Of a request, what may be told of anybody. */
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
