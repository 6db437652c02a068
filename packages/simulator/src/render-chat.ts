import type { FinishReason, JsonObject, Usage } from 'millrace'
import { isObject } from 'millrace/internal'
import { failureFrames, scriptFailure } from './failures.ts'
import { obfuscation } from './obfuscation.ts'
import type { CallPart } from './scenario.ts'
import { isOver, opaqueText } from './scenario.ts'
import type { Beat, Rendered, RenderInput } from './wire.ts'

const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
  // A refusal is told in a field of its own; the reason stays `stop`.
  refusal: 'stop',
  other: 'other',
}

/**
 * Chat Completions: chunks with deltas of one choice. Calls are told apart by `index` and never closed, the finish does it.
 * Reasoning is `reasoning_content`, as DeepSeek and others send it; a tool that the provider runs does not exist here.
 */
export function renderChat({ body, scenario, nextId, created }: RenderInput): Rendered {
  const { acts, usage } = scenario
  const finish = finishReasons[scenario.finish]
  const includeUsage = isObject(body.stream_options) && body.stream_options.include_usage === true
  const id = nextId('chatcmpl-')
  const head = {
    created,
    model: String(body.model),
    service_tier: 'default',
    system_fingerprint: 'fp_simulator',
  }
  const beats: Beat[] = []
  const calls: { readonly part: CallPart; readonly id: string; readonly extra: JsonObject }[] = []
  let content = ''
  let reasoning = ''
  const wordsKey = scenario.finish === 'refusal' ? 'refusal' : 'content'

  function chunk(fields: JsonObject, text = '') {
    beats.push({
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
  // With `include_usage` every chunk has the field, null in all but the last.
  const usageField = ({ usage: told }: JsonObject): JsonObject => ({ usage: told ?? null })

  const delta = (fields: JsonObject, text = '', finishReason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finishReason }] }, text)

  // `"content":null` when the answer begins with a call, and `""` when it begins with words.
  const first = acts.find((act) => act.act === 'open')?.part.type
  if (acts.some(({ act }) => act === 'open') || !isOver(acts))
    delta({ role: 'assistant', content: first === 'text' || !first ? '' : null, refusal: null })

  for (const act of acts) {
    switch (act.act) {
      case 'open': {
        if (act.part.type !== 'call') break
        const { part } = act
        const call = { part, id: part.id ?? nextId('call_'), extra: extraContent(part) }
        const index = calls.push(call) - 1
        const fn = { name: part.name, arguments: '' }
        delta({ tool_calls: [{ index, id: call.id, type: 'function', function: fn, ...call.extra }] })
        break
      }
      case 'delta':
        if (act.part.type === 'text') {
          content += act.delta
          delta({ [wordsKey]: act.delta }, act.delta)
        } else if (act.part.type === 'reasoning') {
          reasoning += act.delta
          delta({ content: null, reasoning_content: act.delta }, act.delta)
        } else {
          delta({ tool_calls: [{ index: calls.length - 1, function: { arguments: act.delta } }] }, act.delta)
        }
        break
      case 'pause':
        beats.push({ pauseMs: act.ms })
        break
      case 'fail':
        for (const frame of failureFrames('openai-chat', scriptFailure('openai-chat', act.error)))
          beats.push({ frame })
        beats.push({ stop: 'end' })
        break
      case 'hang':
      case 'end':
        beats.push({ stop: act.act })
    }
  }
  if (!isOver(acts)) {
    delta({}, '', finish)
    if (includeUsage && usage) chunk({ choices: [], usage: chatUsage(usage) })
    beats.push({ frame: { data: '[DONE]' } })
  }

  const message = {
    role: 'assistant',
    content: wordsKey === 'content' && content ? content : null,
    refusal: wordsKey === 'refusal' && content ? content : null,
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
    beats,
    whole: {
      id,
      object: 'chat.completion',
      ...head,
      choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
      ...(usage && { usage: chatUsage(usage) }),
    },
    handedOut: [],
  }
}

/** Gemini's compatible endpoint hangs its signature on the call, and wants it back there. */
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
