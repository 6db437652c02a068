import type { FinishReason, JsonObject, Usage } from 'millrace'
import { isObject } from 'millrace/internal'
import { failureFrames, scriptFailure } from './failures.ts'
import { obfuscation } from './obfuscation.ts'
import type { CallPart } from './scenario.ts'
import { endsEarly, opaqueText } from './scenario.ts'
import type { Rendered, RenderInput, TimelineItem } from './wire.ts'

const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
  // A refusal has its own field; the finish reason stays `stop`.
  refusal: 'stop',
  other: 'other',
}

/**
 * Chat Completions: chunks with deltas of one choice. Tool calls are identified by `index` and
 * closed only by the finish. Reasoning is `reasoning_content`, as from DeepSeek and others. There
 * are no provider tools.
 */
export function renderChat({ body, scenario, nextId, created }: RenderInput): Rendered {
  const { actions, usage } = scenario
  const finish = finishReasons[scenario.finish]
  const includeUsage = isObject(body.stream_options) && body.stream_options.include_usage === true
  const id = nextId('chatcmpl-')
  const head = {
    created,
    model: String(body.model),
    service_tier: 'default',
    system_fingerprint: 'fp_simulator',
  }
  const timeline: TimelineItem[] = []
  const calls: { readonly part: CallPart; readonly id: string; readonly extra: JsonObject }[] = []
  let content = ''
  let reasoning = ''
  const textKey = scenario.finish === 'refusal' ? 'refusal' : 'content'

  function chunk(fields: JsonObject, text = '') {
    timeline.push({
      frame: {
        data: {
          id,
          object: 'chat.completion.chunk',
          ...head,
          ...fields,
          ...(includeUsage && usageField(fields)),
          ...obfuscation(body, text),
        },
      },
    })
  }
  // With `include_usage` every chunk has the field; it is null in all but the last.
  const usageField = ({ usage: value }: JsonObject): JsonObject => ({ usage: value ?? null })

  const delta = (fields: JsonObject, text = '', finishReason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finishReason }] }, text)

  // `"content":null` if the response starts with a tool call, `""` if it starts with text.
  const first = actions.find((action) => action.type === 'open')?.part.type
  if (actions.some(({ type }) => type === 'open') || !endsEarly(actions))
    delta({ role: 'assistant', content: first === 'text' || !first ? '' : null, refusal: null })

  for (const action of actions) {
    switch (action.type) {
      case 'open': {
        if (action.part.type !== 'call') break
        const { part } = action
        const call = { part, id: part.id ?? nextId('call_'), extra: extraContent(part) }
        const index = calls.push(call) - 1
        const fn = { name: part.name, arguments: '' }
        delta({ tool_calls: [{ index, id: call.id, type: 'function', function: fn, ...call.extra }] })
        break
      }
      case 'delta':
        if (action.part.type === 'text') {
          content += action.delta
          delta({ [textKey]: action.delta }, action.delta)
        } else if (action.part.type === 'reasoning') {
          reasoning += action.delta
          delta({ content: null, reasoning_content: action.delta }, action.delta)
        } else {
          delta(
            { tool_calls: [{ index: calls.length - 1, function: { arguments: action.delta } }] },
            action.delta,
          )
        }
        break
      case 'pause':
        timeline.push({ pauseMs: action.ms })
        break
      case 'fail':
        for (const frame of failureFrames('openai-chat', scriptFailure('openai-chat', action.error)))
          timeline.push({ frame })
        timeline.push({ stop: 'end' })
        break
      case 'hang':
      case 'end':
        timeline.push({ stop: action.type })
    }
  }
  if (!endsEarly(actions)) {
    delta({}, '', finish)
    if (includeUsage && usage) chunk({ choices: [], usage: chatUsage(usage) })
    timeline.push({ frame: { data: '[DONE]' } })
  }

  const message = {
    role: 'assistant',
    content: textKey === 'content' && content ? content : null,
    refusal: textKey === 'refusal' && content ? content : null,
    annotations: [],
    ...(reasoning && { reasoning_content: reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ part, id, extra }) => ({
        id,
        type: 'function',
        function: { name: part.name, arguments: part.raw },
        ...extra,
      })),
    }),
  }
  return {
    timeline,
    whole: {
      id,
      object: 'chat.completion',
      ...head,
      choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
      ...(usage && { usage: chatUsage(usage) }),
    },
    issued: [],
  }
}

/**
 * Gemini's compatible endpoint attaches its signature to the tool call, and expects it back there.
 */
function extraContent(part: CallPart): JsonObject {
  const signature = opaqueText(part.opaque, 'thought_signature', 'thoughtSignature')
  return signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }
}

function chatUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      ...(usage.cacheWriteTokens > 0 && { cache_write_tokens: usage.cacheWriteTokens }),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
