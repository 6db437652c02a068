import type { FinishReason, JsonObject, Usage } from 'millrace'
import { isObject } from 'millrace/internal'
import { textOf } from './anthropic-tools.ts'
import { failureFrames, scriptFailure } from './failures.ts'
import { obfuscation } from './obfuscation.ts'
import { providerToolItem } from './responses-tools.ts'
import type { Action, CallPart, Part, ProviderToolPart, ReasoningPart } from './scenario.ts'
import { endsEarly, opaqueText } from './scenario.ts'
import { encryptedOf } from './signature.ts'
import type { IssuedToken, Rendered, RenderInput, TimelineItem } from './wire.ts'

const incompleteReasons: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  other: 'other',
}

/**
 * Responses: output items are added, filled and done; the start and end events have the whole
 * response.
 */
export function renderResponses({ body, scenario, nextId, created }: RenderInput): Rendered {
  const { actions, usage, finish } = scenario
  const timeline: TimelineItem[] = []
  const output: JsonObject[] = []
  const issued: IssuedToken[] = []
  const ids = new Map<Part, string>()
  const lastPart = actions.findLast((action) => action.type === 'close')?.part
  let sequence = 0
  let reasoningId: string | undefined

  const head = responseHead(body, nextId('resp_'), created)
  const reason = incompleteReasons[finish]
  const final = {
    ...head,
    output,
    status: reason ? 'incomplete' : 'completed',
    completed_at: reason ? null : created,
    incomplete_details: reason ? { reason } : null,
    usage: usage ? responseUsage(usage) : null,
  }

  function send(type: string, fields: JsonObject) {
    timeline.push({ frame: { event: type, data: { type, sequence_number: sequence++, ...fields } } })
  }
  const index = () => output.length
  /** Sends an event about the current item. */
  const sendForPart = (part: Part, type: string, fields: JsonObject) =>
    send(type, { item_id: idOf(part), output_index: index(), ...fields })
  const idOf = (part: Part) => ids.get(part) ?? ''
  const add = (item: JsonObject) => send('response.output_item.added', { output_index: index(), item })
  function done(item: JsonObject) {
    send('response.output_item.done', { output_index: index(), item })
    output.push(item)
    issued.push({ type: 'item', item })
  }
  const statusOf = (part: Part) => (finish === 'length' && part === lastPart ? 'incomplete' : 'completed')
  const contentPart = (text: string) =>
    finish === 'refusal'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', annotations: [], logprobs: [], text }

  function open(part: Part) {
    if (part.type === 'text') {
      ids.set(part, nextId('msg_'))
      add({ id: idOf(part), type: 'message', status: 'in_progress', content: [], role: 'assistant' })
      sendForPart(part, 'response.content_part.added', { content_index: 0, part: contentPart('') })
    } else if (part.type === 'call') {
      ids.set(part, opaqueText(part.opaque, 'id') ?? nextId('fc_'))
      const callId = part.id ?? nextId('call_')
      callIds.set(part, callId)
      if (reasoningId) issued.push({ type: 'reasoned-call', id: idOf(part), reasoningId })
      add(callItem(part, callId, 'in_progress', ''))
    } else if (part.type === 'reasoning') {
      ids.set(part, opaqueText(part.opaque, 'id') ?? nextId('rs_'))
      reasoningId = idOf(part)
      add(reasoningItem(part, []))
      if (part.text)
        sendForPart(part, 'response.reasoning_summary_part.added', { summary_index: 0, part: summary('') })
    } else if (scenario.customProviderCalls) {
      if (!ids.has(part)) customCalls(providerToolsFrom(actions, part))
    } else {
      const { item, phases } = providerToolItem(part, nextId)
      ids.set(part, String(item.id))
      add(phases.first)
      for (const { type, ...fields } of phases.between) sendForPart(part, String(type), fields)
      done(item)
    }
  }
  const callIds = new Map<Part, string>()

  /** As xAI sends its searches: each is added before the previous one is done. */
  function customCalls(parts: readonly ProviderToolPart[]) {
    const started = parts.map((part, nth) => {
      const { name } = part
      const [id, call_id] = [nextId('ctc_'), nextId('xs_call_')]
      ids.set(part, id)
      const position = { output_index: output.length + nth }
      const input = textOf(part.input)
      const item = (text: string, status: string): JsonObject => ({
        call_id,
        input: text,
        name,
        type: 'custom_tool_call',
        id,
        status,
      })
      send('response.output_item.added', { ...position, item: item('', 'in_progress') })
      send('response.custom_tool_call_input.delta', { item_id: id, ...position, delta: input })
      return { id, position, input, item: item(input, 'completed') }
    })
    for (const { id, position, input, item } of started) {
      send('response.custom_tool_call_input.done', { item_id: id, ...position, input })
      done(item)
    }
  }

  function fill(part: Part, delta: string) {
    const padded = { delta, ...obfuscation(body, delta) }
    if (part.type === 'call') sendForPart(part, 'response.function_call_arguments.delta', padded)
    else if (part.type === 'reasoning')
      sendForPart(part, 'response.reasoning_summary_text.delta', { summary_index: 0, ...padded })
    else if (finish === 'refusal')
      sendForPart(part, 'response.refusal.delta', { content_index: 0, ...padded })
    else sendForPart(part, 'response.output_text.delta', { content_index: 0, logprobs: [], ...padded })
  }

  function close(part: Part) {
    if (part.type === 'text') {
      const { text } = part
      if (finish === 'refusal')
        sendForPart(part, 'response.refusal.done', { content_index: 0, refusal: text })
      else sendForPart(part, 'response.output_text.done', { content_index: 0, text, logprobs: [] })
      sendForPart(part, 'response.content_part.done', { content_index: 0, part: contentPart(text) })
      const status = statusOf(part)
      done({ id: idOf(part), type: 'message', status, content: [contentPart(text)], role: 'assistant' })
    } else if (part.type === 'call') {
      const callId = callIds.get(part) ?? ''
      // If the output limit cuts it off, the item is done but incomplete, and its arguments are
      // never done.
      if (!part.cut) sendForPart(part, 'response.function_call_arguments.done', { arguments: part.raw })
      done(callItem(part, callId, part.cut ? 'incomplete' : 'completed', part.raw))
    } else if (part.type === 'reasoning') {
      const { text } = part
      if (text) {
        sendForPart(part, 'response.reasoning_summary_text.done', { summary_index: 0, text })
        sendForPart(part, 'response.reasoning_summary_part.done', { summary_index: 0, part: summary(text) })
      }
      const item = reasoningItem(part, text ? [summary(text)] : [])
      const { encrypted_content: encrypted } = item
      issued.push({
        type: 'reasoning',
        id: idOf(part),
        ...(typeof encrypted === 'string' && { encrypted }),
      })
      done(item)
    }
  }

  /** Encrypted reasoning is included only if the request asks for it or the script has it. */
  function reasoningItem({ text, opaque }: ReasoningPart, parts: JsonObject[]): JsonObject {
    const asked = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
    const id = reasoningId ?? ''
    const encrypted =
      opaqueText(opaque, 'encrypted_content', 'encryptedContent') ??
      (asked ? encryptedOf(id, text) : undefined)
    return {
      id,
      type: 'reasoning',
      ...(encrypted !== undefined && { encrypted_content: encrypted }),
      summary: parts,
    }
  }

  const callItem = (part: CallPart, callId: string, status: string, args: string): JsonObject => ({
    id: idOf(part),
    type: 'function_call',
    status,
    arguments: args,
    call_id: callId,
    name: part.name,
  })

  const queued = { ...head, status: 'queued' }
  send('response.created', { response: head.background ? queued : head })
  if (head.background) send('response.queued', { response: queued })
  send('response.in_progress', { response: head })
  for (const action of actions) {
    if (action.type === 'open') open(action.part)
    else if (action.type === 'delta') fill(action.part, action.delta)
    else if (action.type === 'close') close(action.part)
    else if (action.type === 'pause') timeline.push({ pauseMs: action.ms })
    else if (action.type === 'fail') {
      const failure = scriptFailure('openai-responses', action.error)
      for (const frame of failureFrames('openai-responses', failure, {
        sequence,
        response: { ...head, output },
      }))
        timeline.push({ frame })
      timeline.push({ stop: 'end' })
    } else timeline.push({ stop: action.type })
  }
  if (!endsEarly(actions)) send(reason ? 'response.incomplete' : 'response.completed', { response: final })
  return { timeline, whole: final, issued }
}

/** This part and the provider tools that directly follow it. */
function providerToolsFrom(actions: readonly Action[], first: ProviderToolPart): ProviderToolPart[] {
  const run: ProviderToolPart[] = []
  for (const action of actions.slice(
    actions.findIndex((action) => action.type === 'open' && action.part === first),
  )) {
    if (action.type === 'close') continue
    if (action.type !== 'open' || action.part.type !== 'provider-tool') break
    run.push(action.part)
  }
  return run
}

const summary = (text: string): JsonObject => ({ type: 'summary_text', text })

/** The initial response. Most fields repeat the request. */
function responseHead(body: JsonObject, id: string, created: number): JsonObject {
  const reasoning = isObject(body.reasoning) ? body.reasoning : {}
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: body.background === true,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    model: String(body.model),
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    prompt_cache_retention: null,
    reasoning: { effort: null, summary: null, ...reasoning },
    safety_identifier: null,
    service_tier: 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_logprobs: 0,
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: body.metadata ?? {},
  }
}

function responseUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}
