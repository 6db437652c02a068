import type { AnswerCall, AnswerWriter } from '../model-api/index.ts'
import { approvalWords } from '../model-api/index.ts'
import { runErrorFrame } from './errors.ts'
import type { MessageOptions } from './message-shape.ts'
import {
  emptyMessage,
  finalUsage,
  serverToolResult,
  serverToolUse,
  signature,
  stopOf,
  textBlock,
  thinkingBlock,
  toolUse,
} from './message-shape.ts'

/** A content block that is open, or waits until the ones before it are closed. */
interface Block {
  /** What `content_block_start` contains. */
  readonly content: object
  /** The start of a delta, up to its text. */
  readonly delta: string
  /** Deltas as JSON, while it waits. */
  readonly waiting: string[]
  isClosed: boolean
}

const textDelta = '{"type":"text_delta","text":'
const thinkingDelta = '{"type":"thinking_delta","thinking":'
const inputDelta = '{"type":"input_json_delta","partial_json":'

/**
 * Makes the arguments of a call that is void unreadable, wherever they were cut: the client must not
 * run it. Readers that complete partial JSON, like Anthropic's SDK, fail at the `]`, in or after a
 * string.
 */
const spoiled = '"}]"}]"'

export interface MessageWriterOptions extends MessageOptions {
  /** The id of the request, for errors. */
  readonly requestId: string
  /**
   * Whether a tool of the client has `eager_input_streaming`: its input is streamed as the model
   * writes it, and may turn out to be invalid. Other calls are sent when they are complete.
   */
  readonly isEager: (toolName: string) => boolean
}

/**
 * Writes the events of a Messages stream. Its blocks follow one another, but a run's may overlap:
 * what comes while a block is open waits until it is closed.
 */
export function messageWriter(options: MessageWriterOptions): AnswerWriter {
  /** The first one is open on the wire. */
  const blocks: Block[] = []
  /** The client's calls that are open. */
  const calls = new Map<string, Block>()
  /** The server's calls that were written, and have no result yet. */
  const running = new Set<string>()
  /** The text or thinking that is open. */
  let part: Block | undefined
  /** The last block, if it is a void call. It stays open until it is known what follows. */
  let voided: Block | undefined
  /** Whether a client may already run a call of this round. */
  let hasCalls = false
  let hasFailed = false
  let index = -1
  /** The start of the next delta of the block on the wire, up to its JSON and up to its text. */
  let deltaHead = ''
  let textHead = ''

  function add(block: Block): string {
    if (hasFailed) return ''
    const before = spoilVoided()
    blocks.push(block)
    return before + (blocks.length === 1 ? open(block) + advance() : '')
  }

  /** Writes a block that is complete. */
  function addWhole(content: object, deltas: readonly string[] = []): string {
    return add({ content, delta: '', waiting: [...deltas], isClosed: true })
  }

  function addCall(call: Pick<AnswerCall, 'callId' | 'name'>, input: string): string {
    return addWhole(toolUse(call, {}), [inputJson(input)])
  }

  function open({ content, delta, waiting }: Block): string {
    index += 1
    deltaHead = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`
    textHead = deltaHead + delta
    let frames = frame('content_block_start', { index, content_block: content })
    for (const json of waiting) frames += `${deltaHead}${json}}\n\n`
    return frames
  }

  /** Continues with the next blocks if the first one is closed. */
  function advance(): string {
    let frames = ''
    while (blocks[0]?.isClosed) {
      frames += `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`
      blocks.shift()
      if (blocks[0]) frames += open(blocks[0])
    }
    return frames
  }

  function write(block: Block, json: string): string {
    if (block === blocks[0]) return `${deltaHead}${json}}\n\n`
    block.waiting.push(json)
    return ''
  }

  function close(block: Block): string {
    block.isClosed = true
    return block === blocks[0] ? advance() : ''
  }

  function closePart(): string {
    const block = part
    part = undefined
    if (!block) return ''
    const isThinking = block.delta === thinkingDelta
    const signed = isThinking ? write(block, `{"type":"signature_delta","signature":"${signature}"}`) : ''
    return signed + close(block)
  }

  function spoilVoided(): string {
    const block = voided
    voided = undefined
    return block ? write(block, inputJson(spoiled)) + close(block) : ''
  }

  /** A client that was shown the call must not run it, or wait for it. */
  function voidCall(callId: string): string {
    if (running.delete(callId)) return addWhole(serverToolResult(callId))
    const block = calls.get(callId)
    calls.delete(callId)
    if (!block) return ''
    if (block !== blocks[0]) blocks.splice(blocks.indexOf(block), 1)
    else voided = block
    return blocks.length > 1 ? spoilVoided() : ''
  }

  return {
    start: () => frame('message_start', { message: emptyMessage(options) }),

    roundStart() {
      hasCalls = false
      return ''
    },

    delta(kind, delta) {
      const start = kind === 'text' ? textDelta : thinkingDelta
      let frames = ''
      if (part?.delta !== start) {
        const content = kind === 'text' ? textBlock('') : thinkingBlock('', '')
        frames = closePart()
        part = { content, delta: start, waiting: [], isClosed: false }
        frames += add(part)
      }
      if (part === blocks[0]) return `${frames}${textHead}${JSON.stringify(delta)}}}\n\n`
      part.waiting.push(`${start}${JSON.stringify(delta)}}`)
      return frames
    },

    closePart,

    callStart(call) {
      if (!call.isClient || !options.isEager(call.name)) return ''
      const block = { content: toolUse(call, {}), delta: inputDelta, waiting: [], isClosed: false }
      calls.set(call.callId, block)
      return add(block)
    },

    callDelta(call, delta) {
      const block = calls.get(call.callId)
      return block ? write(block, inputJson(delta)) : ''
    },

    callComplete(call) {
      const block = calls.get(call.callId)
      calls.delete(call.callId)
      if (call.isClient) {
        hasCalls = true
        return block ? close(block) : addCall(call, call.arguments)
      }
      running.add(call.callId)
      return addWhole(serverToolUse(call))
    },

    callResult(call) {
      const announced = running.delete(call.callId) ? '' : addWhole(serverToolUse(call))
      return announced + addWhole(serverToolResult(call.callId, call.result))
    },

    callVoid: (call) => voidCall(call.callId),

    // All requests are shown together at the end.
    approvalRequest: () => '',

    retract() {
      if (hasFailed) return ''
      if (hasCalls) {
        // They cannot be taken back: a client would run them, and then those of the next attempt.
        hasFailed = true
        blocks.length = 0
        calls.clear()
        return runErrorFrame(brokenOff, options.requestId)
      }
      let frames = closePart()
      for (const callId of [...calls.keys(), ...running]) frames += voidCall(callId)
      return frames
    },

    end(end) {
      const { outcome, error, approvals, usage, waiting } = end
      if (hasFailed) return ''
      if (outcome === 'failed' || outcome === 'canceled') return runErrorFrame(error, options.requestId)
      let frames = closePart()
      if (waiting.length > 0) frames += spoilVoided()
      if (voided) frames += close(voided)
      const words = approvalWords(approvals)
      if (words) frames += addWhole(textBlock(''), [`${textDelta}${JSON.stringify(words)}}`])
      const { isBeta } = options
      return (
        frames +
        frame('message_delta', {
          delta: { ...stopOf(end), container: null },
          ...(isBeta && { context_management: null }),
          usage: finalUsage(usage, isBeta),
        }) +
        frame('message_stop', {})
      )
    },
  }
}

function inputJson(delta: string): string {
  return `${inputDelta}${JSON.stringify(delta)}}`
}

const brokenOff = {
  op: 'model.stream',
  code: 'overloaded',
  message: 'the answer of the model broke off after a tool call: send the request again',
  retryable: true,
} as const

function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
