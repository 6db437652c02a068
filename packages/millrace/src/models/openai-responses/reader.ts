import type { FinishReason, JsonObject, JsonValue, ModelEvent } from '../../protocol/index.ts'
import { isObject, MillraceError, parseArguments, toolCall } from '../../protocol/index.ts'
import { failureOf } from '../wire/failures.ts'
import { field } from '../wire/field.ts'
import { framePattern } from '../wire/pattern.ts'
import type { WireReader } from '../wire/stream.ts'
import { parseFrame } from '../wire/stream.ts'
import { streamError } from '../wire/stream-error.ts'
import { eventOrder } from './event-order.ts'
import type { Fields, Item } from './item-state.ts'
import { indexOf, isDuplicateStart, isForeign, isTool, newItem, writtenIn } from './item-state.ts'
import type { ItemCall } from './items.ts'
import { callOf, idOf, providerTool, toolType } from './items.ts'
import { readUsage } from './usage.ts'

export interface ResponsesReaderOptions {
  readonly provider: string
  /**
   * The names of the custom tools in the request. The provider runs calls to other custom tools.
   */
  readonly custom?: ReadonlySet<string>
  readonly secrets?: readonly string[]
  /** Where to resume a response that another reader has read up to here. */
  readonly from?: Checkpoint | undefined
}

/** A position between two items of a background response, with the reader's state at that point. */
export interface Checkpoint {
  readonly id: string
  /** The number of the last event that was read. */
  readonly sequence: number
  readonly called?: true
  readonly refused?: true
  readonly afterMessage?: true
}

/**
 * Reads the events of a Responses stream. Items are identified by `output_index`: GitHub Copilot
 * changes ids mid-stream.
 */
export function responsesReader(
  events: ModelEvent[],
  { provider, custom, secrets = [], from }: ResponsesReaderOptions,
): WireReader {
  const items = new Map<number, Item>()
  /** The completed calls, to compare with the final response. */
  const calls: { readonly callId: string; readonly name: string; readonly raw: string }[] = []
  const pattern = framePattern()
  const order = eventOrder(from?.sequence, (number, after) => {
    throw outOfOrder(`event ${number} after event ${after}`)
  })
  let metadata: Record<string, JsonValue> = from ? { id: from.id } : {}
  let refused = from?.refused ?? false
  let called = from?.called ?? false
  /** The highest index that was added. */
  let highestIndex = -1
  /** Items came without an index. */
  let unnumbered = false
  /** The latest item was a message without a `part-end`. */
  let afterMessage = from?.afterMessage ?? false
  /** The response is generated in the background. */
  let background = from !== undefined

  const opaque = (data: JsonValue) => ({ provider, data })
  const ownCall = (item: Fields) => callOf(item, custom)

  function readEvent(event: Fields, type = field(event, 'type')) {
    switch (type) {
      case 'response.output_text.delta':
        return addText(itemOf(event, 'message'), field(event, 'content_index'), field(event, 'delta'))
      case 'response.created':
        startResponse(event.response)
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
        return addWholeText(itemOf(event, 'message'), event.content_index, event.text)
      case 'response.refusal.delta':
        refused = true
        return addText(itemOf(event, 'message'), field(event, 'content_index'), field(event, 'delta'))
      case 'response.refusal.done':
        refused = true
        return addWholeText(itemOf(event, 'message'), event.content_index, event.refusal)
      case 'response.reasoning_summary_text.delta':
        return addReasoning(
          itemOf(event, 'reasoning'),
          field(event, 'delta'),
          `summary ${event.summary_index}`,
        )
      case 'response.reasoning_text.delta':
        return addReasoning(itemOf(event, 'reasoning'), field(event, 'delta'), `text ${event.content_index}`)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return readArguments(event)
      case 'response.function_call_arguments.done':
        return closeEarly(event)
      case 'response.completed':
        return complete(event.response)
      case 'response.incomplete':
        return endIncomplete(event.response)
      case 'response.failed':
        throw failed(errorIn(event.response))
      case 'error':
        throw failed(isObject(event.error) ? { error: event.error } : event)
      // Part events, search progress, annotations and future types are ignored.
    }
  }

  /** An error, an event whose type is only in the name of its frame, or another API. */
  function readUntyped(value: Fields, event: string) {
    if (value.object === 'chat.completion.chunk')
      throw new MillraceError({
        op: 'model.stream',
        code: 'llm_error',
        message: `${provider} uses Chat Completions at this address: use openaiChat() instead of openai()`,
      })
    if (isObject(value.error)) throw failureOf({ provider, body: value, secrets })
    readEvent({ ...value, type: event })
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

  function startResponse(response: unknown) {
    const { id, background: inBackground } = isObject(response) ? response : {}
    // The same id is only a repeated event.
    if (items.size > 0 && (id === undefined || id !== metadata.id))
      restart('a second response started before the first had ended')
    background = inBackground === true
    readMetadata(response)
  }

  /** Voids everything read so far: it belongs to an answer that was abandoned. */
  function restart(what: string) {
    items.clear()
    calls.length = 0
    metadata = {}
    refused = called = afterMessage = false
    highestIndex = -1
    events.push({ type: 'restart', reason: `${provider} restarted its answer: ${what}` })
  }

  /** Emits a checkpoint if no item is open. */
  function checkpoint() {
    const { sequence } = order
    if (!background || sequence === undefined || typeof metadata.id !== 'string') return
    for (const item of items.values()) if (!item.closed) return
    const position: Checkpoint = {
      id: metadata.id,
      sequence,
      ...(called && { called }),
      ...(refused && { refused }),
      ...(afterMessage && { afterMessage }),
    }
    events.push({ type: 'checkpoint', opaque: opaque({ ...position }) })
  }

  function add(index: number, start: Fields): Item {
    const known = items.get(index)
    if (known) return known
    const type = String(start.type)
    // Consecutive messages are separate parts, so that data of the second is not attached to the
    // first.
    if (type === 'message' && afterMessage) events.push({ type: 'part-end', part: 'text' })
    afterMessage = false
    const item = newItem(start)
    items.set(index, item)
    highestIndex = Math.max(highestIndex, index)
    const call = ownCall(start)
    // Its name may come late.
    if (call?.name) startCall(item, call)
    if (!call && isTool(start)) emitTool(item, start)
    return item
  }

  /**
   * Without indexes, an item starts when the previous one is closed. A reused index means another
   * answer.
   */
  function addItem(rawIndex: unknown, start: Fields) {
    const index = indexOf({ output_index: rawIndex })
    unnumbered ||= rawIndex === undefined
    const known = items.get(index)
    if (known && isDuplicateStart(known, start)) return
    // A call without arguments is complete when the next item starts, but not if another answer
    // reuses its index.
    if (known?.empty && rawIndex === undefined) closeCall(known, { ...known.empty, status: 'completed' })
    const follows = rawIndex === undefined && known?.closed !== false
    if (index <= highestIndex && !follows) restart(`item ${index} started again`)
    items.delete(index)
    add(index, start)
  }

  /**
   * Emits a provider item under the id it was first seen with: some servers change it before the
   * item is done.
   */
  function emitTool(item: Item, whole: Fields, more: { readonly opaque?: ReturnType<typeof opaque> } = {}) {
    item.callId ??= outputOwner(whole) ?? idOf(whole)
    events.push({ ...providerTool(whole), callId: item.callId, ...more })
  }

  /** The call that an output item belongs to, which it does not always name. */
  function outputOwner(whole: Fields): string | undefined {
    if (!String(whole.type).endsWith('_output')) return undefined
    const tool = toolType(whole)
    const owners = [...items.values()].filter(({ start }) => toolType(start) === tool && start !== whole)
    const named = owners.find(({ whole: owner }) => whole.call_id && owner?.call_id === whole.call_id)
    return (named ?? (whole.call_id ? undefined : owners.at(-1)))?.callId
  }

  function itemOf(event: Fields, type: string): Item {
    const index = indexOf(event)
    return items.get(index) ?? add(index, { type })
  }

  function addText(item: Item, part: unknown, text: unknown) {
    if (typeof text !== 'string' || text === '') return
    if (!item.emittedParts.has(part)) item.emittedParts.add(part)
    item.pieces.push(text)
    events.push({ type: 'text', text })
  }

  /** Not every server streams the text. */
  function addWholeText(item: Item, part: unknown, text: unknown) {
    if (item.emittedParts.has(part)) return
    // Some servers number the parts inconsistently, or not at all.
    const isEmitted = item.emittedParts.size > 0 && typeof text === 'string' && writtenIn(item).endsWith(text)
    if (!isEmitted) addText(item, part, text)
  }

  function addReasoning(item: Item, text: unknown, part: string) {
    if (typeof text !== 'string' || text === '') return
    // The parts of a summary are paragraphs; some servers also send the reasoning itself.
    const gap = item.reasoningPart !== undefined && item.reasoningPart !== part ? '\n\n' : ''
    item.reasoningPart = part
    item.pieces.push(text)
    events.push({ type: 'reasoning', text: gap + text })
  }

  function readArguments(event: Fields) {
    const index = indexOf(event)
    const item = items.get(index)
    if (!item) throw outOfOrder(`arguments for item ${index}, which has not started`)
    const delta = field(event, 'delta')
    if (item.closed || typeof delta !== 'string' || delta === '') return
    item.pieces.push(delta)
    item.mixed ||= isForeign(event, item)
    // The input of a custom tool is plain text; its arguments are emitted as JSON once it is
    // complete.
    if (item.callId !== undefined && item.type === 'function_call')
      events.push({ type: 'tool-input', callId: item.callId, delta })
  }

  function startCall(item: Item, call: ItemCall | undefined) {
    if (!call || item.callId !== undefined) return
    item.callId = call.callId
    events.push({ type: 'tool-input-start', callId: call.callId, name: call.name })
  }

  /** Some servers never send `output_item.done`. */
  function closeEarly(event: Fields) {
    const item = items.get(indexOf(event))
    if (item?.type !== 'function_call' || item.callId === undefined) return
    // With another id, these may be the arguments of another call. `output_item.done` also has the
    // name.
    if (isForeign(event, item) || item.mixed) return
    const written =
      typeof event.arguments === 'string' && event.arguments !== '' ? event.arguments : writtenIn(item)
    closeCall(item, { ...item.start, arguments: written })
  }

  function closeCall(item: Item, whole: Fields) {
    const call = ownCall(whole)
    if (!call || item.closed) return
    const { name = '' } = ownCall(item.start) ?? {}
    if (item.callId !== undefined && name !== '' && call.name !== name)
      throw outOfOrder(`the end of a call to '${call.name}' for a call to '${name}'`)
    if (call.raw === '' && item.mixed)
      throw outOfOrder(`a call to '${call.name}' with arguments from several items`)
    const written = writtenIn(item)
    if ((call.raw || written).trim() === '' && whole.status !== 'completed') {
      item.empty = whole
      return
    }
    item.closed = true
    called = true
    const emitted = item.callId !== undefined && item.type === 'function_call' ? written : ''
    startCall(item, call)
    const { callId = call.callId } = item
    const raw = call.raw === '' ? written : call.raw
    calls.push({ callId, name: call.name, raw })
    // Not every server streams the arguments.
    if (raw.startsWith(emitted) && raw.length > emitted.length)
      events.push({ type: 'tool-input', callId, delta: raw.slice(emitted.length) })
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
      throw outOfOrder(`the end of a ${whole.type} for a ${item.type}`)
    item.whole = whole
    if (ownCall(whole)) {
      // A call that was cut off by the token limit stays open.
      if (whole.status !== 'incomplete') closeCall(item, whole)
      return
    }
    item.closed = true
    const { type } = item
    if (type === 'message') finishMessage(item, whole)
    else if (type === 'reasoning') finishReasoning(item, whole)
    else emitTool(item, whole, { opaque: opaque(whole as JsonObject) })
  }

  function finishMessage(item: Item, { content, phase }: Fields) {
    // If the deltas had no index, it is unknown which parts were already emitted.
    const parts = Array.isArray(content) && !item.emittedParts.has(undefined) ? content : []
    for (const [at, part] of parts.entries()) {
      if (!isObject(part)) continue
      if (part.type === 'refusal') refused = true
      addWholeText(item, at, part.text ?? part.refusal)
    }
    // The phase marks commentary or the final answer. Models perform worse if it is not sent back.
    if (typeof phase === 'string') events.push({ type: 'part-end', part: 'text', opaque: opaque({ phase }) })
    else afterMessage = item.pieces.length > 0
  }

  function finishReasoning(item: Item, whole: Fields) {
    if (item.pieces.length === 0) {
      const parts = [whole.summary, whole.content].find((list) => Array.isArray(list) && list.length > 0)
      if (Array.isArray(parts))
        for (const [at, part] of parts.entries())
          if (isObject(part)) addReasoning(item, part.text, `part ${at}`)
    }
    const { status, ...rest } = whole
    events.push({ type: 'part-end', part: 'reasoning', opaque: opaque(rest as JsonObject) })
  }

  function complete(response: unknown) {
    const { status } = isObject(response) ? response : {}
    // Not every server has a separate event for each status.
    if (status === 'failed') throw failed(errorIn(response))
    if (status === 'incomplete') return endIncomplete(response)
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

  /**
   * The items of the final response. Some servers list only a part; a server that does not really
   * stream has everything here.
   */
  function outputOf(response: unknown): Fields[] {
    const { output } = isObject(response) ? response : {}
    const whole = Array.isArray(output) ? output.filter(isObject) : []
    if (items.size === 0 && !from) for (const [index, item] of whole.entries()) finishItem(index, item)
    return whole
  }

  /**
   * Finishes items that are only in the final response, if all streamed items have the same index
   * there.
   */
  function finishUnstreamed(output: readonly Fields[]) {
    if (from || unnumbered) return
    for (const [index, { type }] of items) if (output[index]?.type !== type) return
    for (const [index, one] of output.entries()) if (!items.has(index)) finishItem(index, one)
  }

  /**
   * Compares an item of the final response with a streamed one: calls by `call_id`, others by `id`.
   */
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
        throw outOfOrder(`a call to '${name}' that is not in its response`)
  }

  function endIncomplete(response: unknown) {
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
    reader.ended = true
    readMetadata(response)
    const { output } = isObject(response) ? response : {}
    const streamed = [...items.values()].map(({ whole, start }) => whole ?? start)
    // A resumed reader has not seen all items; some servers do not list them in the end.
    const all = Array.isArray(output) && output.length >= streamed.length ? output.filter(isObject) : streamed
    const usage = isObject(response) ? readUsage(response, all) : undefined
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
      emit(delta, sequence, repeated) {
        if (order.isRepeated(repeated, sequence)) return
        event.delta = delta
        readEvent(event)
      },
    })
  }

  function outOfOrder(what: string): MillraceError {
    return streamError(`${provider} sent ${what}: the stream is out of order`)
  }

  const reader = {
    ended: false,
    read(data: string, event: string) {
      if (pattern.read(data) || data === '' || data === '[DONE]') return
      const value = parseFrame(data, provider)
      if (!isObject(value)) return
      const type = field(value, 'type')
      if (order.isRepeated(data, field(value, 'sequence_number'), type)) return
      if (typeof type !== 'string') return readUntyped(value, event)
      readEvent(value, type)
      if (type.endsWith('.delta') && pattern.isLearning()) learn(data, value)
    },
    end() {
      // Only `response.completed` and similar events end an answer.
    },
  }
  return reader
}

function errorIn(response: unknown): unknown {
  return isObject(response) && isObject(response.error) ? { error: response.error } : response
}

function isSameJson(one: string, other: string): boolean {
  return one === other || JSON.stringify(parseArguments(one)) === JSON.stringify(parseArguments(other))
}
