import type { FinishReason, JsonObject, Usage } from 'millrace'
import { parseArguments } from 'millrace'
import { isObject } from 'millrace/internal'
import { serverToolBlocks } from './anthropic-tools.ts'
import { failureFrames, scriptFailure } from './failures.ts'
import type { Part, ReasoningPart } from './scenario.ts'
import { endsEarly, opaqueText } from './scenario.ts'
import { redactedOf, signatureOf } from './signature.ts'
import type { IssuedToken, Rendered, RenderInput, TimelineItem } from './wire.ts'

const stopReasons: Record<FinishReason, string> = {
  stop: 'end_turn',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  'content-filter': 'refusal',
  refusal: 'refusal',
  other: 'other',
}

/**
 * Anthropic Messages: numbered content blocks are started, filled and stopped between
 * `message_start` and `message_stop`.
 */
export function renderAnthropic({ body, scenario, nextId }: RenderInput): Rendered {
  const { actions, usage } = scenario
  const timeline: TimelineItem[] = []
  const content: JsonObject[] = []
  const issued: IssuedToken[] = []
  let hasReasoned = false

  function send(event: string, fields: JsonObject) {
    timeline.push({ frame: { event, data: { type: event, ...fields } } })
  }
  const index = () => content.length
  const start = (block: JsonObject) => send('content_block_start', { index: index(), content_block: block })
  const delta = (fields: JsonObject) => send('content_block_delta', { index: index(), delta: fields })
  function stop(block: JsonObject) {
    send('content_block_stop', { index: index() })
    content.push(block)
  }

  const message = {
    id: nextId('msg_01'),
    type: 'message',
    role: 'assistant',
    model: String(body.model),
  }
  const stopFields = {
    stop_reason: stopReasons[scenario.finish],
    stop_sequence: null,
    ...(stopReasons[scenario.finish] === 'refusal' && {
      stop_details: { type: 'refusal', category: null, explanation: null },
    }),
  }
  send('message_start', {
    message: {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...(usage && { usage: { ...startUsage(usage), output_tokens: 1, service_tier: 'standard' } }),
    },
  })
  send('ping', {})

  /** The complete blocks by part. */
  const blocks = new Map<Part, JsonObject>()

  function open(part: Part) {
    if (part.type === 'text') return start({ type: 'text', text: '' })
    if (part.type === 'call') {
      const id = part.id ?? nextId('toolu_01')
      if (hasReasoned) issued.push({ type: 'reasoned-call', id })
      const { input } = parseArguments(part.raw)
      blocks.set(part, { type: 'tool_use', id, name: part.name, input })
      start({ type: 'tool_use', id, name: part.name, input: {} })
      // A tool without arguments gets only this empty delta.
      return delta({ type: 'input_json_delta', partial_json: '' })
    }
    if (part.type === 'reasoning') {
      hasReasoned = true
      const redacted = redactedData(part)
      if (redacted === undefined) return start({ type: 'thinking', thinking: '', signature: '' })
      issued.push({ type: 'redacted', data: redacted })
      // Redacted thinking has no deltas: the block is complete at its start.
      blocks.set(part, { type: 'redacted_thinking', data: redacted })
      return start({ type: 'redacted_thinking', data: redacted })
    }
    const { use, result } = serverToolBlocks(part, nextId)
    start({ ...use, input: {} })
    delta({ type: 'input_json_delta', partial_json: '' })
    delta({ type: 'input_json_delta', partial_json: JSON.stringify(use.input) })
    if (result) {
      stop(use)
      start(result)
    }
    blocks.set(part, result ?? use)
  }

  function fill(part: Part, text: string) {
    if (part.type === 'text') delta({ type: 'text_delta', text })
    else if (part.type === 'call') delta({ type: 'input_json_delta', partial_json: text })
    else if (!blocks.has(part)) delta({ type: 'thinking_delta', thinking: text })
  }

  // A tool call that is cut off by the limit is stopped as usual; only its arguments are
  // incomplete.
  function close(part: Part) {
    const block = blocks.get(part)
    if (part.type === 'text') return stop({ type: 'text', text: part.text, citations: null })
    if (block || part.type !== 'reasoning') return stop(block ?? {})
    const signature = opaqueText(part.opaque, 'signature') ?? signatureOf(part.text)
    issued.push({ type: 'thinking', text: part.text, signature })
    delta({ type: 'signature_delta', signature })
    stop({ type: 'thinking', thinking: part.text, signature })
  }

  for (const action of actions) {
    if (action.type === 'open') open(action.part)
    else if (action.type === 'delta') fill(action.part, action.delta)
    else if (action.type === 'close') close(action.part)
    else if (action.type === 'pause') timeline.push({ pauseMs: action.ms })
    else if (action.type === 'fail') {
      for (const frame of failureFrames('anthropic', scriptFailure('anthropic', action.error)))
        timeline.push({ frame })
      timeline.push({ stop: 'end' })
    } else timeline.push({ stop: action.type })
  }
  if (!endsEarly(actions)) {
    send('message_delta', { delta: stopFields, ...(usage && { usage: endUsage(usage) }) })
    send('message_stop', {})
  }
  return {
    timeline,
    whole: {
      ...message,
      content,
      ...stopFields,
      ...(usage && { usage: { ...startUsage(usage), ...endUsage(usage), service_tier: 'standard' } }),
    },
    issued,
  }
}

/** The counts at the start. Cached tokens are not included in `input_tokens`. */
function startUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
  }
}

/** The counts at the end are totals that include those at the start. */
function endUsage(usage: Usage): JsonObject {
  const { cache_creation: _, ...counts } = startUsage(usage)
  return {
    ...counts,
    output_tokens: usage.outputTokens,
    ...(usage.reasoningTokens > 0 && { output_tokens_details: { thinking_tokens: usage.reasoningTokens } }),
  }
}

function redactedData({ text, opaque }: ReasoningPart): string | undefined {
  const data = opaque?.data
  if (isObject(data) && data.type === 'redacted_thinking')
    return opaqueText(opaque, 'data') ?? redactedOf(text)
  if (isObject(data) && 'redacted' in data) return opaqueText(opaque, 'redacted') ?? redactedOf(text)
  // Without text there is nothing to show in a thinking block.
  return text === '' && opaque ? (opaqueText(opaque, 'data') ?? redactedOf(text)) : undefined
}
