import type { FinishReason, JsonObject, JsonValue, ModelEvent, Usage } from '../../protocol/index.ts'
import { addUsage, isObject, noUsage, parseArguments, toolCall } from '../../protocol/index.ts'
import { failureOf } from '../wire/failures.ts'
import { field } from '../wire/field.ts'
import { framePattern } from '../wire/pattern.ts'
import type { WireReader } from '../wire/stream.ts'
import { parseFrame } from '../wire/stream.ts'
import { streamError } from '../wire/stream-error.ts'
import type { Block, Fields } from './blocks.ts'
import {
  finishedBlock,
  idOf,
  indexOf,
  isDuplicateStart,
  isFailed,
  isSendable,
  isServerTool,
  isUnknown,
  nameOf,
  rawOf,
  withDelta,
} from './blocks.ts'
import { messageUsage } from './usage.ts'

export interface AnthropicReader extends WireReader {
  /**
   * Set when the provider paused for its own tools. It continues when it gets back its partial
   * answer.
   */
  readonly paused: Paused | undefined
}

interface Paused {
  readonly content: readonly JsonObject[]
  readonly usage: Partial<Usage>
  /** The id of the container in which the provider runs code. */
  readonly container: string | undefined
}

export interface AnthropicReaderOptions {
  readonly provider: string
  readonly secrets?: readonly string[]
  /** The usage before a pause. */
  readonly priorUsage?: Usage
}

/** Reads the events of a Messages stream. */
export function anthropicReader(
  events: ModelEvent[],
  { provider, secrets = [], priorUsage = noUsage }: AnthropicReaderOptions,
): AnthropicReader {
  const blocks = new Map<number, Block>()
  /** All blocks, in the order in which they started. */
  const order: Block[] = []
  const pattern = framePattern()
  let metadata: Record<string, JsonValue> = {}
  let usage = messageUsage()
  /** The highest index that was opened. */
  let highestIndex = -1
  let container: JsonObject | undefined
  let stopReason: string | undefined
  /** A call without input: it either takes none or was cut off. The next event shows which. */
  let emptyCall: Block | undefined
  /** The latest block was text. Its `part-end` is emitted only if more text follows. */
  let afterText = false

  const opaque = (data: JsonValue) => ({ provider, data })

  function readEvent(event: Fields, type: unknown) {
    switch (type) {
      case 'content_block_delta': {
        const delta = field(event, 'delta')
        if (isObject(delta)) readDelta(indexOf(event), delta)
        return
      }
      case 'message_start':
        if (isObject(event.message)) readMessage(event.message)
        return
      case 'content_block_start':
        if (isObject(event.content_block)) start(event.index, event.content_block)
        return
      case 'content_block_stop':
        return stop(indexOf(event))
      case 'message_delta':
        return readMessageDelta(event)
      case 'message_stop':
        return finish()
      case 'error':
        throw failureOf({ provider, body: event, secrets })
      // `ping`, Vertex's `vertex_event` and future types are ignored.
    }
  }

  function readMessage(message: Fields) {
    // Some gateways send `message_start` twice. Another id means another answer.
    const isSame = typeof message.id === 'string' && message.id === metadata.id
    if (order.length > 0 && isSame) return
    if (order.length > 0) restart('a second message started before the first had ended')
    if (typeof message.id === 'string') metadata.id = message.id
    if (typeof message.model === 'string') metadata.model = message.model
    usage.add(message.usage)
    readContainer(message.container)
    // Programmatic tool calling: when the provider resumes its code, `message_start` has the
    // content so far.
    if (Array.isArray(message.content))
      for (const [index, block] of message.content.entries()) {
        if (!isObject(block)) continue
        start(index, block)
        stop(index)
      }
    readStop(message)
  }

  /** Voids everything read so far: it belongs to an answer that was abandoned. */
  function restart(what: string) {
    blocks.clear()
    order.length = 0
    metadata = {}
    usage = messageUsage()
    highestIndex = -1
    container = undefined
    stopReason = undefined
    emptyCall = undefined
    afterText = false
    events.push({ type: 'restart', reason: `${provider} restarted its answer: ${what}` })
  }

  function readContainer(value: unknown) {
    if (isObject(value) && typeof value.id === 'string') container = value as JsonObject
  }

  function start(rawIndex: unknown, block: Fields) {
    const index = indexOf({ index: rawIndex })
    const known = blocks.get(index)
    if (known && isDuplicateStart(known, block)) return
    // Without indexes, a block starts when the previous one is closed.
    const follows = rawIndex === undefined && known?.closed !== false
    if (index <= highestIndex && !follows) restart(`block ${index} started again`)
    highestIndex = index
    const type = String(block.type)
    closeEmptyCall()
    if (afterText && type === 'text') events.push({ type: 'part-end', part: 'text' })
    afterText = false
    const open: Block = { type, start: block, pieces: [], signature: '', citations: [], closed: false }
    blocks.set(index, open)
    order.push(open)
    if (type === 'text' && typeof block.text === 'string') addText(open, block.text)
    if (type === 'text' && Array.isArray(block.citations))
      open.citations.push(...(block.citations as never[]))
    if (type === 'thinking') {
      if (typeof block.thinking === 'string') addThinking(open, block.thinking)
      if (typeof block.signature === 'string') open.signature = block.signature
    }
    if (type === 'tool_use')
      events.push({ type: 'tool-input-start', callId: idOf(block), name: nameOf(block) })
    if (isServerTool(type)) events.push({ type: 'provider-tool', callId: idOf(block), name: nameOf(block) })
  }

  function readDelta(index: number, delta: Fields) {
    const block = blocks.get(index)
    if (!block || block.closed)
      throw streamError(
        `${provider} sent a delta for block ${index}, which is not open: the stream is out of order`,
      )
    switch (delta.type) {
      case 'text_delta':
        if (typeof delta.text === 'string') addText(block, delta.text)
        return
      case 'thinking_delta':
        if (typeof delta.thinking === 'string') addThinking(block, delta.thinking)
        return
      case 'signature_delta':
        if (typeof delta.signature === 'string') block.signature += delta.signature
        return
      case 'citations_delta':
        if (isObject(delta.citation)) block.citations.push(delta.citation as JsonObject)
        return
      case 'input_json_delta':
        if (typeof delta.partial_json !== 'string' || delta.partial_json === '') return
        block.pieces.push(delta.partial_json)
        if (block.type === 'tool_use')
          events.push({ type: 'tool-input', callId: idOf(block.start), delta: delta.partial_json })
        return
      default:
        if (isUnknown(block.type)) block.start = withDelta(block.start, delta)
    }
  }

  function learn(data: string, frame: Fields) {
    const { delta } = frame
    if (!isObject(delta)) return
    const key = deltaFields.get(String(delta.type))
    if (!key) return
    pattern.learn({
      data,
      frame,
      key,
      valueIn: ({ delta: one }) => (isObject(one) ? one[key] : undefined),
      emit(text) {
        delta[key] = text
        readDelta(indexOf(frame), delta)
      },
    })
  }

  function addText(block: Block, text: string) {
    if (text === '' || block.type !== 'text') return
    block.pieces.push(text)
    events.push({ type: 'text', text })
  }

  function addThinking(block: Block, text: string) {
    if (text === '' || block.type !== 'thinking') return
    block.pieces.push(text)
    events.push({ type: 'reasoning', text })
  }

  function stop(index: number) {
    const block = blocks.get(index)
    if (!block || block.closed) return
    block.closed = true
    const { type, start: opened } = block
    if (type === 'text') {
      const { citations } = block
      // A citation belongs to the text of its block, so the block is sent back as one part.
      if (citations.length > 0) events.push({ type: 'part-end', part: 'text', opaque: opaque({ citations }) })
      else afterText = block.pieces.length > 0
    } else if (type === 'thinking') {
      const { signature } = block
      const { thinking: _, ...rest } = opened as JsonObject
      events.push({
        type: 'part-end',
        part: 'reasoning',
        ...(signature !== '' && { opaque: opaque({ ...rest, signature }) }),
      })
    } else if (type === 'redacted_thinking') {
      events.push({ type: 'part-end', part: 'reasoning', opaque: opaque(opened as JsonObject) })
    } else if (type === 'tool_use') {
      if (rawOf(block).trim() === '') emptyCall = block
      else closeCall(block)
    } else if (isServerTool(type)) {
      events.push({
        type: 'provider-tool',
        callId: idOf(opened),
        name: nameOf(opened),
        input: parseArguments(rawOf(block)).input,
        opaque: opaque(finishedBlock(block)),
      })
    } else if (typeof opened.tool_use_id === 'string' && type.endsWith('_tool_result')) {
      events.push({
        type: 'provider-tool',
        callId: opened.tool_use_id,
        name: callName(opened.tool_use_id) ?? type.slice(0, -'_tool_result'.length),
        output: (opened.content ?? null) as JsonValue,
        ...(isFailed(opened) && { isError: true }),
        opaque: opaque(opened as JsonObject),
      })
    } else {
      // `compaction`, `fallback` and any other type: sent back unchanged.
      const callId = typeof opened.id === 'string' ? opened.id : `${type}_${index}`
      events.push({ type: 'provider-tool', callId, name: type, opaque: opaque(opened as JsonObject) })
    }
  }

  /** The tool's name: a result has only its type, such as `mcp_tool_result`. */
  function callName(id: string): string | undefined {
    for (const { type, start: opened } of order)
      if (isServerTool(type) && opened.id === id) return nameOf(opened)
    return undefined
  }

  function closeEmptyCall() {
    if (!emptyCall) return
    const block = emptyCall
    emptyCall = undefined
    closeCall(block)
  }

  function closeCall(block: Block) {
    const { type, id, name, input, ...rest } = block.start
    events.push(
      toolCall({
        callId: idOf(block.start),
        name: nameOf(block.start),
        raw: rawOf(block),
        // `caller`, if the call was made by code that the provider runs.
        opaque: Object.keys(rest).length > 0 ? opaque(rest as JsonObject) : undefined,
      }),
    )
  }

  function readMessageDelta(event: Fields) {
    usage.add(event.usage)
    if (!isObject(event.delta)) return
    readContainer(event.delta.container)
    readStop(event.delta)
  }

  function readStop({ stop_reason: reason, stop_sequence: sequence, stop_details: details }: Fields) {
    if (typeof sequence === 'string') metadata.stopSequence = sequence
    if (isObject(details)) metadata.stopDetails = details as JsonObject
    if (typeof reason !== 'string') return
    stopReason = reason
    // A call that was cut off before its first character looks like one without arguments.
    if (!cutOffReasons.has(reason)) closeEmptyCall()
  }

  function finish() {
    reader.ended = true
    if (stopReason === undefined) closeEmptyCall()
    const counted = usage.total()
    const contextTokens = usage.contextTokens()
    if (pauseReasons.has(stopReason ?? '')) {
      const content = order.filter(isSendable).map(finishedBlock)
      reader.paused = { content, usage: counted ?? {}, container: container && idOf(container) }
      if (afterText) events.push({ type: 'part-end', part: 'text' })
      return
    }
    // A part without text. The next request names the container, to keep its files and variables.
    if (container)
      events.push({
        type: 'part-end',
        part: 'reasoning',
        opaque: opaque({ ...container, type: 'container' }),
      })
    const reason = finishReasons.get(stopReason ?? '') ?? 'other'
    events.push({
      type: 'done',
      finish: reason,
      ...(priorUsage !== noUsage
        ? { usage: addUsage(priorUsage, counted ?? {}) }
        : counted && { usage: counted }),
      ...(contextTokens !== undefined && { contextTokens }),
      metadata: { ...metadata, ...(reason === 'other' && stopReason && { finishReason: stopReason }) },
    })
  }

  const reader = {
    ended: false,
    paused: undefined as Paused | undefined,
    read(data: string, event: string) {
      if (data === '' || pattern.read(data)) return
      const value = parseFrame(data, provider)
      if (!isObject(value)) return
      // If the data has no type, use the event's name.
      const type = field(value, 'type')
      if (type === undefined && event !== '') return readEvent({ ...value, type: event }, event)
      readEvent(value, type)
      if (type === 'content_block_delta' && pattern.isLearning()) learn(data, value)
    },
    end() {
      // Only `message_stop` ends an answer.
    },
  }
  return reader
}

/** The field with the text of each delta type. */
const deltaFields: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool-calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'refusal'],
])

/** After these, a call may be incomplete. */
const cutOffReasons: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])

/** The provider paused for its own tools or after a compaction; it continues in another request. */
const pauseReasons: ReadonlySet<string> = new Set(['pause_turn', 'compaction'])
