import type { JsonObject } from '../../protocol/index.ts'
import { noUsage, parseArguments } from '../../protocol/index.ts'
import type { AnswerEnd, AnswerWriter } from '../model-api/index.ts'
import { approvalWords } from '../model-api/index.ts'
import type { MessageOptions } from './message-shape.ts'
import {
  emptyMessage,
  serverToolResult,
  serverToolUse,
  signature,
  stopOf,
  textBlock,
  thinkingBlock,
  toolUse,
  usageOf,
} from './message-shape.ts'

export interface MessageBuilder extends AnswerWriter {
  /** The outcome, once it has ended. */
  readonly outcome: AnswerEnd['outcome'] | undefined
  message(): JsonObject
}

/** Collects a message that is sent in one piece. What is void or retracted is left out. */
export function messageBuilder(options: MessageOptions): MessageBuilder {
  const content: Record<string, unknown>[] = []
  let atRoundStart = 0
  let text: ReturnType<typeof textBlock> | undefined
  let thinking: ReturnType<typeof thinkingBlock> | undefined
  let ended: AnswerEnd | undefined

  function add<Block extends Record<string, unknown>>(block: Block): Block {
    content.push(block)
    return block
  }

  function push(block: Record<string, unknown>): string {
    add(block)
    return ''
  }

  /** What comes while text or thinking is open stands behind it. */
  function closePart(): string {
    text = thinking = undefined
    return ''
  }

  const nothing = () => ''
  return {
    start: nothing,
    roundStart() {
      atRoundStart = content.length
      return ''
    },
    delta(kind, delta) {
      if (kind === 'text') {
        text ??= add(textBlock(''))
        text.text += delta
      } else {
        thinking ??= add(thinkingBlock('', signature))
        thinking.thinking += delta
      }
      return ''
    },
    closePart,
    callStart: nothing,
    callDelta: nothing,
    callComplete: (call) =>
      push(call.isClient ? toolUse(call, parseArguments(call.arguments).input) : serverToolUse(call)),
    callResult: (call) => push(serverToolResult(call.callId, call.result)),
    callVoid({ callId }) {
      const at = content.findIndex(({ id }) => id === callId)
      if (at >= 0) content.splice(at, 1)
      return ''
    },
    approvalRequest: nothing,
    retract() {
      content.length = atRoundStart
      return closePart()
    },
    end(end) {
      ended = end
      const words = approvalWords(end.approvals)
      return words ? push(textBlock(words)) : ''
    },
    get outcome() {
      return ended?.outcome
    },
    message: () => ({
      ...emptyMessage(options),
      content: content as JsonObject[],
      ...(ended && stopOf(ended)),
      usage: usageOf(ended?.usage ?? noUsage, options.isBeta),
    }),
  }
}
