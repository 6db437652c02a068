import type { FinishReason, JsonObject, Usage } from 'millrace'
import { isObject } from 'millrace/internal'
import { textOf } from './anthropic-tools.ts'
import { failureFrames, scriptFailure } from './failures.ts'
import { obfuscation } from './obfuscation.ts'
import { providerToolItem } from './responses-tools.ts'
import type { Act, CallPart, Part, ProviderToolPart, ReasoningPart } from './scenario.ts'
import { isOver, opaqueText } from './scenario.ts'
import { encryptedOf } from './seal.ts'
import type { Beat, HandedOut, Rendered, RenderInput } from './wire.ts'

const incompleteReasons: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  other: 'other',
}

/** Responses: output items, each added, filled and done, in a response that is told whole at its beginning and its end. */
export function renderResponses({ body, scenario, nextId, created }: RenderInput): Rendered {
  const { acts, usage, finish } = scenario
  const beats: Beat[] = []
  const output: JsonObject[] = []
  const handedOut: HandedOut[] = []
  const ids = new Map<Part, string>()
  const lastPart = acts.findLast((act) => act.act === 'close')?.part
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
    beats.push({ frame: { event: type, data: { type, sequence_number: sequence++, ...fields } } })
  }
  const index = () => output.length
  /** An event about something inside the item that is under way. */
  const tell = (part: Part, type: string, fields: JsonObject) =>
    send(type, { item_id: idOf(part), output_index: index(), ...fields })
  const idOf = (part: Part) => ids.get(part) ?? ''
  const add = (item: JsonObject) => send('response.output_item.added', { output_index: index(), item })
  function done(item: JsonObject) {
    send('response.output_item.done', { output_index: index(), item })
    output.push(item)
    handedOut.push({ type: 'item', item })
  }
  const statusOf = (part: Part) => (finish === 'length' && part === lastPart ? 'incomplete' : 'completed')
  const words = (text: string) =>
    finish === 'refusal'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', annotations: [], logprobs: [], text }

  function open(part: Part) {
    if (part.type === 'text') {
      ids.set(part, nextId('msg_'))
      add({ id: idOf(part), type: 'message', status: 'in_progress', content: [], role: 'assistant' })
      tell(part, 'response.content_part.added', { content_index: 0, part: words('') })
    } else if (part.type === 'call') {
      ids.set(part, opaqueText(part.opaque, 'id') ?? nextId('fc_'))
      const callId = part.id ?? nextId('call_')
      callIds.set(part, callId)
      if (reasoningId) handedOut.push({ type: 'reasoned-call', id: idOf(part), reasoningId })
      add(callItem(part, callId, 'in_progress', ''))
    } else if (part.type === 'reasoning') {
      ids.set(part, opaqueText(part.opaque, 'id') ?? nextId('rs_'))
      reasoningId = idOf(part)
      add(reasoningItem(part, []))
      if (part.text)
        tell(part, 'response.reasoning_summary_part.added', { summary_index: 0, part: summary('') })
    } else if (scenario.customProviderCalls) {
      if (!ids.has(part)) customCalls(providerToolsFrom(acts, part))
    } else {
      const { item, phases } = providerToolItem(part, nextId)
      ids.set(part, String(item.id))
      add(phases.first)
      for (const { type, ...fields } of phases.between) tell(part, String(type), fields)
      done(item)
    }
  }
  const callIds = new Map<Part, string>()

  /** As xAI sends its searches: each is open before the one before it is done. */
  function customCalls(parts: readonly ProviderToolPart[]) {
    const begun = parts.map((part, nth) => {
      const { name } = part
      const [id, call_id] = [nextId('ctc_'), nextId('xs_call_')]
      ids.set(part, id)
      const place = { output_index: output.length + nth }
      const input = textOf(part.input)
      const item = (text: string, status: string): JsonObject => ({
        call_id,
        input: text,
        name,
        type: 'custom_tool_call',
        id,
        status,
      })
      send('response.output_item.added', { ...place, item: item('', 'in_progress') })
      send('response.custom_tool_call_input.delta', { item_id: id, ...place, delta: input })
      return { id, place, input, item: item(input, 'completed') }
    })
    for (const { id, place, input, item } of begun) {
      send('response.custom_tool_call_input.done', { item_id: id, ...place, input })
      done(item)
    }
  }

  function fill(part: Part, delta: string) {
    const padded = { delta, ...obfuscation(body, delta) }
    if (part.type === 'call') tell(part, 'response.function_call_arguments.delta', padded)
    else if (part.type === 'reasoning')
      tell(part, 'response.reasoning_summary_text.delta', { summary_index: 0, ...padded })
    else if (finish === 'refusal') tell(part, 'response.refusal.delta', { content_index: 0, ...padded })
    else tell(part, 'response.output_text.delta', { content_index: 0, logprobs: [], ...padded })
  }

  function close(part: Part) {
    if (part.type === 'text') {
      const { text } = part
      if (finish === 'refusal') tell(part, 'response.refusal.done', { content_index: 0, refusal: text })
      else tell(part, 'response.output_text.done', { content_index: 0, text, logprobs: [] })
      tell(part, 'response.content_part.done', { content_index: 0, part: words(text) })
      const status = statusOf(part)
      done({ id: idOf(part), type: 'message', status, content: [words(text)], role: 'assistant' })
    } else if (part.type === 'call') {
      const callId = callIds.get(part) ?? ''
      // Cut off by the limit the item is done, and not complete; its arguments never are.
      if (!part.cut) tell(part, 'response.function_call_arguments.done', { arguments: part.raw })
      done(callItem(part, callId, part.cut ? 'incomplete' : 'completed', part.raw))
    } else if (part.type === 'reasoning') {
      const { text } = part
      if (text) {
        tell(part, 'response.reasoning_summary_text.done', { summary_index: 0, text })
        tell(part, 'response.reasoning_summary_part.done', { summary_index: 0, part: summary(text) })
      }
      const item = reasoningItem(part, text ? [summary(text)] : [])
      const { encrypted_content: encrypted } = item
      handedOut.push({
        type: 'reasoning',
        id: idOf(part),
        ...(typeof encrypted === 'string' && { encrypted }),
      })
      done(item)
    }
  }

  /** The encrypted thought is there only if the request asks for it, or the script has one. */
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
  for (const act of acts) {
    if (act.act === 'open') open(act.part)
    else if (act.act === 'delta') fill(act.part, act.delta)
    else if (act.act === 'close') close(act.part)
    else if (act.act === 'pause') beats.push({ pauseMs: act.ms })
    else if (act.act === 'fail') {
      const failure = scriptFailure('openai-responses', act.error)
      for (const frame of failureFrames('openai-responses', failure, {
        sequence,
        response: { ...head, output },
      }))
        beats.push({ frame })
      beats.push({ stop: 'end' })
    } else beats.push({ stop: act.act })
  }
  if (!isOver(acts)) send(reason ? 'response.incomplete' : 'response.completed', { response: final })
  return { beats, whole: final, handedOut }
}

/** This part and those that follow it at once. */
function providerToolsFrom(acts: readonly Act[], first: ProviderToolPart): ProviderToolPart[] {
  const run: ProviderToolPart[] = []
  for (const act of acts.slice(acts.findIndex((act) => act.act === 'open' && act.part === first))) {
    if (act.act === 'close') continue
    if (act.act !== 'open' || act.part.type !== 'provider-tool') break
    run.push(act.part)
  }
  return run
}

const summary = (text: string): JsonObject => ({ type: 'summary_text', text })

/** The response as it stands before anything is in it; most of it repeats the request. */
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
