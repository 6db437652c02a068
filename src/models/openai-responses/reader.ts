import type { FinishReason, JsonObject, JsonValue, ModelEvent, Usage } from '../../protocol/index.ts'
import { isObject, MillraceError, toolCall } from '../../protocol/index.ts'
import { failureOf } from '../wire/failures.ts'
import { framePattern } from '../wire/pattern.ts'
import type { WireReader } from '../wire/stream.ts'
import { parseFrame } from '../wire/stream.ts'
import { streamError } from '../wire/stream-error.ts'
import { callOf, type ItemCall, isProviderTool, providerTool } from './items.ts'

type Fields = Record<string, unknown>

/** An item of the output while it is being written. */
interface Item {
  readonly type: string
  /** As it was when it was added. */
  readonly start: Fields
  /** Text or arguments that have been told. */
  written: string
  /** The parts of a message of which something was told. */
  readonly spoken: Set<unknown>
  /** The part of the reasoning that is being told. */
  part: string | undefined
  /** Set when it was told that a call has begun. */
  callId: string | undefined
  closed: boolean
  /** A call with no arguments at all, as it was told: either it takes none, or it was cut off. The end tells. */
  empty: Fields | undefined
}

export interface ResponsesReaderOptions {
  readonly provider: string
  readonly secrets?: readonly string[]
}

/** Reads the events of a Responses stream. Items are known by their `output_index`: GitHub Copilot changes their ids all the time. */
export function responsesReader(
  events: ModelEvent[],
  { provider, secrets = [] }: ResponsesReaderOptions,
): WireReader {
  const items = new Map<number, Item>()
  const metadata: Record<string, JsonValue> = {}
  const pattern = framePattern()
  let refused = false
  let called = false
  let over = false
  let latest = ''
  let sequence: number | undefined
  let counts = false
  /** The latest item was a message whose end was not told. */
  let afterMessage = false

  const opaque = (data: JsonValue) => ({ provider, data })

  function readEvent(event: Fields) {
    switch (event.type) {
      case 'response.output_text.delta':
        return say(itemOf(event, 'message'), event.content_index, event.delta)
      case 'response.created':
      case 'response.in_progress':
        return readMetadata(event.response)
      case 'response.output_item.added':
        if (isObject(event.item)) begin(indexOf(event), event.item)
        return
      case 'response.output_item.done':
        if (isObject(event.item)) finishItem(indexOf(event), event.item)
        return
      case 'response.output_text.done':
        return sayWhole(itemOf(event, 'message'), event.content_index, event.text)
      case 'response.refusal.delta':
        refused = true
        return say(itemOf(event, 'message'), event.content_index, event.delta)
      case 'response.refusal.done':
        refused = true
        return sayWhole(itemOf(event, 'message'), event.content_index, event.refusal)
      case 'response.reasoning_summary_text.delta':
        return think(itemOf(event, 'reasoning'), event.delta, `summary ${event.summary_index}`)
      case 'response.reasoning_text.delta':
        return think(itemOf(event, 'reasoning'), event.delta, `text ${event.content_index}`)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return readArguments(event)
      case 'response.function_call_arguments.done':
        return closeEarly(event)
      case 'response.completed':
        return complete(event.response)
      case 'response.incomplete':
        return cutShort(event.response)
      case 'response.failed':
        throw failureOf({ provider, body: errorIn(event.response), secrets })
      case 'error':
        throw failureOf({ provider, body: isObject(event.error) ? { error: event.error } : event, secrets })
      // Parts begun and done, searches in progress, annotations, and whatever there will be.
    }
  }

  function readMetadata(response: unknown) {
    if (!isObject(response)) return
    if (typeof response.id === 'string') metadata.id = response.id
    if (typeof response.model === 'string') metadata.model = response.model
    if (typeof response.service_tier === 'string') metadata.serviceTier = response.service_tier
  }

  function add(index: number, start: Fields): Item {
    const known = items.get(index)
    if (known) return known
    const type = String(start.type)
    // Two messages in a row are two: what belongs to the second must not be taken for the first's.
    if (type === 'message' && afterMessage) events.push({ type: 'part-end', part: 'text' })
    afterMessage = false
    const item: Item = {
      type,
      start,
      written: '',
      spoken: new Set(),
      part: undefined,
      callId: undefined,
      closed: false,
      empty: undefined,
    }
    items.set(index, item)
    const call = callOf(start)
    // Its name may come late.
    if (call?.name) beginCall(item, call)
    if (isProviderTool(start)) events.push(providerTool(start))
    return item
  }

  /** An index that is used again, or left out, is that of a new item once the one before is closed; only a call's id is sure. */
  function begin(index: number, start: Fields) {
    const known = items.get(index)
    const again = known?.callId !== undefined && callOf(start)?.callId === known.callId
    if (known?.empty && !again) closeCall(known, { ...known.empty, status: 'completed' })
    if (known?.closed && !again) items.delete(index)
    add(index, start)
  }

  function itemOf(event: Fields, type: string): Item {
    return items.get(indexOf(event)) ?? add(indexOf(event), { type })
  }

  function say(item: Item, part: unknown, text: unknown) {
    if (typeof text !== 'string' || text === '') return
    item.spoken.add(part)
    item.written += text
    events.push({ type: 'text', text })
  }

  /** Not everybody streams the text. */
  function sayWhole(item: Item, part: unknown, text: unknown) {
    // Nor does everybody number the parts, or always in the same way.
    const told = item.spoken.size > 0 && typeof text === 'string' && item.written.endsWith(text)
    if (!item.spoken.has(part) && !told) say(item, part, text)
  }

  function think(item: Item, text: unknown, part: string) {
    if (typeof text !== 'string' || text === '') return
    // The parts of a summary are paragraphs, and some send the reasoning itself beside it.
    const gap = item.part !== undefined && item.part !== part ? '\n\n' : ''
    item.part = part
    item.written += text
    events.push({ type: 'reasoning', text: gap + text })
  }

  function readArguments(event: Fields) {
    const item = items.get(indexOf(event))
    if (!item) throw disorder(`arguments of item ${indexOf(event)}, which it had not begun`)
    if (item.closed || typeof event.delta !== 'string' || event.delta === '') return
    item.written += event.delta
    // What a custom tool is given is text; its arguments are told when they are known to be whole.
    if (item.callId !== undefined && item.type === 'function_call')
      events.push({ type: 'tool-input', callId: item.callId, delta: event.delta })
  }

  function beginCall(item: Item, call: ItemCall | undefined) {
    if (!call || item.callId !== undefined) return
    item.callId = call.callId
    events.push({ type: 'tool-input-start', callId: call.callId, name: call.name })
  }

  /** Some servers never send `output_item.done`. */
  function closeEarly(event: Fields) {
    const item = items.get(indexOf(event))
    if (item?.type !== 'function_call' || item.callId === undefined) return
    const written =
      typeof event.arguments === 'string' && event.arguments !== '' ? event.arguments : item.written
    closeCall(item, { ...item.start, arguments: written })
  }

  function closeCall(item: Item, whole: Fields) {
    const call = callOf(whole)
    if (!call || item.closed) return
    if ((call.raw || item.written).trim() === '' && whole.status !== 'completed') {
      item.empty = whole
      return
    }
    item.closed = true
    called = true
    const told = item.callId !== undefined && item.type === 'function_call' ? item.written : ''
    beginCall(item, call)
    const { callId = call.callId } = item
    const raw = call.raw === '' ? item.written : call.raw
    // Not everybody streams the arguments.
    if (raw.startsWith(told) && raw.length > told.length)
      events.push({ type: 'tool-input', callId, delta: raw.slice(told.length) })
    events.push(
      toolCall({
        callId,
        name: call.name,
        raw,
        opaque: call.data === undefined ? undefined : opaque(call.data),
      }),
    )
  }

  function finishItem(index: number, whole: Fields) {
    const item = add(index, whole)
    if (item.closed) return
    if (callOf(whole)) {
      // Cut off by the limit of tokens, it is not closed.
      if (whole.status !== 'incomplete') closeCall(item, whole)
      return
    }
    item.closed = true
    const { type } = item
    if (type === 'message') finishMessage(item, whole)
    else if (type === 'reasoning') finishReasoning(item, whole)
    else if (isProviderTool(whole))
      events.push({ ...providerTool(whole), opaque: opaque(whole as JsonObject) })
  }

  function finishMessage(item: Item, { content, phase }: Fields) {
    // Without an index in its deltas it is not known what of this was told.
    const parts = Array.isArray(content) && !item.spoken.has(undefined) ? content : []
    for (const [at, part] of parts.entries()) {
      if (!isObject(part)) continue
      if (part.type === 'refusal') refused = true
      sayWhole(item, at, part.text ?? part.refusal)
    }
    // Whether it was a remark on the way or the answer: models do worse when that does not come back.
    if (typeof phase === 'string') events.push({ type: 'part-end', part: 'text', opaque: opaque({ phase }) })
    else afterMessage = item.written !== ''
  }

  function finishReasoning(item: Item, whole: Fields) {
    if (item.written === '') {
      const parts = [whole.summary, whole.content].find((list) => Array.isArray(list) && list.length > 0)
      if (Array.isArray(parts))
        for (const [at, part] of parts.entries()) if (isObject(part)) think(item, part.text, `part ${at}`)
    }
    const { status, ...rest } = whole
    events.push({ type: 'part-end', part: 'reasoning', opaque: opaque(rest as JsonObject) })
  }

  function complete(response: unknown) {
    const { status } = isObject(response) ? response : {}
    // Not everybody has an event of its own for each of these.
    if (status === 'failed') throw failureOf({ provider, body: errorIn(response), secrets })
    if (status === 'incomplete') return cutShort(response)
    const whole = outputOf(response)
    // Of the items that were streamed only calls that were never closed are looked for: the list is not always the whole.
    for (const item of items.values()) {
      if (item.callId === undefined || item.closed) continue
      const found = whole.find((one) => callOf(one)?.callId === item.callId) ?? item.empty
      if (found && found.status !== 'incomplete') closeCall(item, { ...found, status: 'completed' })
    }
    done(refused ? 'refusal' : called ? 'tool-calls' : 'stop', response)
  }

  /** What a response holds. A server that does not really stream has everything here and nothing before it. */
  function outputOf(response: unknown): Fields[] {
    const { output } = isObject(response) ? response : {}
    const whole = Array.isArray(output) ? output.filter(isObject) : []
    if (items.size === 0) for (const [index, item] of whole.entries()) finishItem(index, item)
    return whole
  }

  function cutShort(response: unknown) {
    outputOf(response)
    const details =
      isObject(response) && isObject(response.incomplete_details) ? response.incomplete_details : {}
    const { reason } = details
    if (typeof reason === 'string') metadata.finishReason = reason
    done(
      reason === 'content_filter' ? 'content-filter' : reason === 'max_output_tokens' ? 'length' : 'other',
      response,
    )
  }

  function done(finish: FinishReason, response: unknown) {
    over = true
    readMetadata(response)
    const usage = isObject(response) ? readUsage(response.usage) : undefined
    events.push({ type: 'done', finish, ...(usage && { usage }), metadata })
  }

  /** The same event once more is a wire that stutters; one that should have come before the last is a wire that cannot be read. */
  function isRepeated(data: string, number: unknown): boolean {
    if (typeof number !== 'number') return false
    // Not everybody counts: numbers mean something once they have been seen to rise.
    if (counts && number === sequence && data === latest) return true
    if (counts && number + 1 === sequence) throw disorder(`event ${number} after event ${sequence}`)
    counts ||= sequence !== undefined && number > sequence
    sequence = number
    latest = data
    return false
  }

  function learn(data: string, event: Fields) {
    pattern.learn({
      data,
      frame: event,
      key: 'delta',
      valueIn: ({ delta }) => delta,
      sequence: 'sequence_number',
      padding: 'obfuscation',
      tell(delta, sequence, repeated) {
        if (isRepeated(repeated, sequence)) return
        event.delta = delta
        readEvent(event)
      },
    })
  }

  function disorder(what: string): MillraceError {
    return streamError(`${provider} sent ${what}: the stream is not in order`)
  }

  return {
    read(data, event) {
      if (data === '' || data === '[DONE]' || pattern.read(data)) return
      const value = parseFrame(data, provider)
      if (!isObject(value) || isRepeated(data, value.sequence_number)) return
      if (value.object === 'chat.completion.chunk')
        throw new MillraceError({
          op: 'model.stream',
          code: 'llm_error',
          message: `${provider} speaks Chat Completions at this address: use openaiChat() instead of openai()`,
        })
      if (value.type === undefined && isObject(value.error))
        throw failureOf({ provider, body: value, secrets })
      readEvent(value.type === undefined && event !== '' ? { ...value, type: event } : value)
      if (typeof value.type === 'string' && value.type.endsWith('.delta')) learn(data, value)
    },
    end() {
      // `response.completed` and its kind alone are the end.
    },
    get over() {
      return over
    },
  }
}

function indexOf({ output_index: index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

function errorIn(response: unknown): unknown {
  return isObject(response) && isObject(response.error) ? { error: response.error } : response
}

function readUsage(usage: unknown): Partial<Usage> | undefined {
  if (!isObject(usage)) return undefined
  const input = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {}
  const output = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const counts = {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    reasoningTokens: output.reasoning_tokens,
    cacheReadTokens: input.cached_tokens,
    cacheWriteTokens: input.cache_write_tokens,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === 'number'))
}
