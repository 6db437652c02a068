import type { FinishReason, JsonObject, JsonValue, ModelEvent } from '../../protocol/index.ts'
import { isObject, MillraceError, parseArguments, toolCall } from '../../protocol/index.ts'
import { failureOf } from '../wire/failures.ts'
import { framePattern } from '../wire/pattern.ts'
import type { WireReader } from '../wire/stream.ts'
import { parseFrame } from '../wire/stream.ts'
import { streamError } from '../wire/stream-error.ts'
import { eventOrder } from './event-order.ts'
import type { Fields, Item } from './item-state.ts'
import { beginItem, indexOf, isForeign, isStutter, isTool } from './item-state.ts'
import type { ItemCall } from './items.ts'
import { callOf, idOf, providerTool, toolType } from './items.ts'
import { readUsage } from './usage.ts'

export interface ResponsesReaderOptions {
  readonly provider: string
  /** The names of the custom tools in the request. Calls of other custom tools are run by the provider. */
  readonly custom?: ReadonlySet<string>
  readonly secrets?: readonly string[]
  /** Where a response is resumed; another reader has read it up to here. */
  readonly from?: Checkpoint | undefined
}

/** A place between two items of a background response, and what the reader must know of the items before it. */
export interface Checkpoint {
  readonly id: string
  /** The number of the last event that was read. */
  readonly sequence: number
  readonly called?: true
  readonly refused?: true
  readonly afterMessage?: true
}

/** Reads the events of a Responses stream. Items are known by their `output_index`: GitHub Copilot changes their ids all the time. */
export function responsesReader(
  events: ModelEvent[],
  { provider, custom, secrets = [], from }: ResponsesReaderOptions,
): WireReader {
  const items = new Map<number, Item>()
  /** The calls that were closed, to be compared with the final response. */
  const calls: { readonly callId: string; readonly name: string; readonly raw: string }[] = []
  const pattern = framePattern()
  const order = eventOrder(from?.sequence, (number, after) => {
    throw disorder(`event ${number} after event ${after}`)
  })
  let metadata: Record<string, JsonValue> = from ? { id: from.id } : {}
  let refused = from?.refused ?? false
  let called = from?.called ?? false
  let over = false
  /** The highest index that was added. */
  let highest = -1
  /** Items came without an index. */
  let unnumbered = false
  /** The latest item was a message whose end was not told. */
  let afterMessage = from?.afterMessage ?? false
  /** The response is generated in the background. */
  let background = from !== undefined

  const opaque = (data: JsonValue) => ({ provider, data })
  const ownCall = (item: Fields) => callOf(item, custom)

  function readEvent(event: Fields) {
    switch (event.type) {
      case 'response.output_text.delta':
        return say(itemOf(event, 'message'), event.content_index, event.delta)
      case 'response.created':
        begin(event.response)
        return checkpoint()
      case 'response.in_progress':
        return readMetadata(event.response)
      case 'response.output_item.added':
        if (isObject(event.item)) addItem(event.output_index, event.item)
        return
      case 'response.output_item.done':
        if (isObject(event.item)) finishItem(indexOf(event), event.item)
        return checkpoint()
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
        throw failed(errorIn(event.response))
      case 'error':
        throw failed(isObject(event.error) ? { error: event.error } : event)
      // Parts begun and done, searches in progress, annotations, and whatever there will be.
    }
  }

  function readMetadata(response: unknown) {
    if (!isObject(response)) return
    if (typeof response.id === 'string') metadata.id = response.id
    if (typeof response.model === 'string') metadata.model = response.model
    if (typeof response.service_tier === 'string') metadata.serviceTier = response.service_tier
  }

  /** The generation failed at the provider, so it cannot be resumed either. */
  function failed(body: unknown): MillraceError {
    if (background) events.push({ type: 'checkpoint' })
    return failureOf({ provider, body, secrets })
  }

  function begin(response: unknown) {
    const { id, background: inBackground } = isObject(response) ? response : {}
    // The same id: the wire only repeats itself.
    if (items.size > 0 && (id === undefined || id !== metadata.id))
      restart('a second response began before the first had ended')
    background = inBackground === true
    readMetadata(response)
  }

  /** Voids everything read so far: it belongs to an answer that was abandoned. */
  function restart(what: string) {
    items.clear()
    calls.length = 0
    metadata = {}
    refused = called = afterMessage = false
    highest = -1
    events.push({ type: 'restart', reason: `${provider} began its answer again: ${what}` })
  }

  /** Emits a checkpoint if no item is open. */
  function checkpoint() {
    const { sequence } = order
    if (!background || sequence === undefined || typeof metadata.id !== 'string') return
    for (const item of items.values()) if (!item.closed) return
    const place: Checkpoint = {
      id: metadata.id,
      sequence,
      ...(called && { called }),
      ...(refused && { refused }),
      ...(afterMessage && { afterMessage }),
    }
    events.push({ type: 'checkpoint', opaque: opaque({ ...place }) })
  }

  function add(index: number, start: Fields): Item {
    const known = items.get(index)
    if (known) return known
    const type = String(start.type)
    // Two messages in a row are two: what belongs to the second must not be taken for the first's.
    if (type === 'message' && afterMessage) events.push({ type: 'part-end', part: 'text' })
    afterMessage = false
    const item = beginItem(start)
    items.set(index, item)
    highest = Math.max(highest, index)
    const call = ownCall(start)
    // Its name may come late.
    if (call?.name) beginCall(item, call)
    if (!call && isTool(start)) tellTool(item, start)
    return item
  }

  /** Without indexes, an item begins when the one before is closed. An index that is used again means another answer. */
  function addItem(place: unknown, start: Fields) {
    const index = indexOf({ output_index: place })
    unnumbered ||= place === undefined
    const known = items.get(index)
    if (known && isStutter(known, start)) return
    // A call without arguments is complete when the next item begins, but not when its own index is used by another answer.
    if (known?.empty && place === undefined) closeCall(known, { ...known.empty, status: 'completed' })
    const follows = place === undefined && known?.closed !== false
    if (index <= highest && !follows) restart(`item ${index} began again`)
    items.delete(index)
    add(index, start)
  }

  /** Emits a provider item under the id it was first seen with: some servers change it before the item is done. */
  function tellTool(item: Item, whole: Fields, more: { readonly opaque?: ReturnType<typeof opaque> } = {}) {
    item.callId ??= outputOwner(whole) ?? idOf(whole)
    events.push({ ...providerTool(whole), callId: item.callId, ...more })
  }

  /** The call to which an output item belongs, which it does not always name. */
  function outputOwner(whole: Fields): string | undefined {
    if (!String(whole.type).endsWith('_output')) return undefined
    const tool = toolType(whole)
    const owners = [...items.values()].filter(({ start }) => toolType(start) === tool && start !== whole)
    const named = owners.find(({ whole: owner }) => whole.call_id && owner?.call_id === whole.call_id)
    return (named ?? (whole.call_id ? undefined : owners.at(-1)))?.callId
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
    item.mixed ||= isForeign(event, item)
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
    // Under another id these may be the arguments of another call. `output_item.done` has the name with them.
    if (isForeign(event, item) || item.mixed) return
    const written =
      typeof event.arguments === 'string' && event.arguments !== '' ? event.arguments : item.written
    closeCall(item, { ...item.start, arguments: written })
  }

  function closeCall(item: Item, whole: Fields) {
    const call = ownCall(whole)
    if (!call || item.closed) return
    const { name = '' } = ownCall(item.start) ?? {}
    if (item.callId !== undefined && name !== '' && call.name !== name)
      throw disorder(`the end of a call of '${call.name}' for a call of '${name}'`)
    if (call.raw === '' && item.mixed) throw disorder(`a call of '${call.name}' in pieces of several items`)
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
    calls.push({ callId, name: call.name, raw })
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
    if (whole.type !== undefined && item.type !== whole.type)
      throw disorder(`the end of a ${whole.type} for a ${item.type}`)
    item.whole = whole
    if (ownCall(whole)) {
      // Cut off by the limit of tokens, it is not closed.
      if (whole.status !== 'incomplete') closeCall(item, whole)
      return
    }
    item.closed = true
    const { type } = item
    if (type === 'message') finishMessage(item, whole)
    else if (type === 'reasoning') finishReasoning(item, whole)
    else tellTool(item, whole, { opaque: opaque(whole as JsonObject) })
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
    if (status === 'failed') throw failed(errorIn(response))
    if (status === 'incomplete') return cutShort(response)
    const output = outputOf(response)
    for (const [index, item] of items) {
      if (item.closed) continue
      const found = output.find((one) => isSame(one, item)) ?? item.empty
      if (!found || found.status === 'incomplete') continue
      finishItem(index, ownCall(found) ? { ...found, status: 'completed' } : found)
    }
    finishUnstreamed(output)
    checkCalls(output)
    done(refused ? 'refusal' : called ? 'tool-calls' : 'stop', response)
  }

  /** The items of the final response; some servers list only a part. A server that does not really stream has everything here. */
  function outputOf(response: unknown): Fields[] {
    const { output } = isObject(response) ? response : {}
    const whole = Array.isArray(output) ? output.filter(isObject) : []
    if (items.size === 0 && !from) for (const [index, item] of whole.entries()) finishItem(index, item)
    return whole
  }

  /** Finishes items that are only in the final response, if all streamed items have the same index there. */
  function finishUnstreamed(output: readonly Fields[]) {
    if (from || unnumbered) return
    for (const [index, { type }] of items) if (output[index]?.type !== type) return
    for (const [index, one] of output.entries()) if (!items.has(index)) finishItem(index, one)
  }

  /** Compares an item of the final response with a streamed one: calls by `call_id`, others by `id`. */
  function isSame(one: Fields, { type, start, callId }: Item): boolean {
    if (one.type !== type) return false
    return ownCall(one) ? ownCall(one)?.callId === callId : one.id !== undefined && one.id === start.id
  }

  /** A call that ran and is not in the final response belongs to another answer. */
  function checkCalls(output: readonly Fields[]) {
    if (output.length === 0) return
    const listed = output.flatMap((one) => ownCall(one) ?? [])
    for (const { callId, name, raw } of calls)
      if (!listed.some((one) => one.callId === callId || (one.name === name && isSameJson(one.raw, raw))))
        throw disorder(`a call of '${name}' that is not in its response`)
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

  function learn(data: string, event: Fields) {
    pattern.learn({
      data,
      frame: event,
      key: 'delta',
      valueIn: ({ delta }) => delta,
      sequence: 'sequence_number',
      padding: 'obfuscation',
      tell(delta, sequence, repeated) {
        if (order.isRepeated(repeated, sequence)) return
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
      if (!isObject(value) || order.isRepeated(data, value.sequence_number, value.type)) return
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

function errorIn(response: unknown): unknown {
  return isObject(response) && isObject(response.error) ? { error: response.error } : response
}

function isSameJson(one: string, other: string): boolean {
  return one === other || JSON.stringify(parseArguments(one)) === JSON.stringify(parseArguments(other))
}
