import type { JsonObject, Usage } from '../../protocol/index.ts'
import { noUsage, parseArguments } from '../../protocol/index.ts'
import type { AnswerCall, AnswerEnd } from '../model-api/index.ts'

// Every field that the types of `@anthropic-ai/sdk` 1.8 have, also those that are always null here.

export interface MessageOptions {
  readonly id: string
  /** As the client has named it. */
  readonly model: string
  /** Adds the fields of the beta API. */
  readonly isBeta: boolean
}

/** A message without content. Its usage is known when it ends. */
export function emptyMessage({ id, model, isBeta }: MessageOptions): JsonObject {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    ...(isBeta && { context_management: null }),
    usage: usageOf(noUsage, isBeta),
  }
}

export function usageOf(usage: Usage, isBeta: boolean): JsonObject {
  return {
    ...finalUsage(usage, isBeta),
    // Which of the two is not known. Five minutes is the default.
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
    inference_geo: null,
    service_tier: 'standard',
    speed: null,
  }
}

/** The usage in `message_delta`. */
export function finalUsage(usage: Usage, isBeta: boolean): JsonObject {
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens } = usage
  return {
    // Cached tokens are counted apart.
    input_tokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: null,
    ...(isBeta && { fallback_credit: null, iterations: null }),
  }
}

/** How a message ends: the fields that `message_delta` sets. */
export function stopOf({ outcome, finish, waiting }: AnswerEnd): JsonObject {
  const isRefused = finish === 'refusal' || finish === 'content-filter'
  const isCut =
    outcome === 'truncated' || outcome === 'max-rounds' || outcome === 'budget' || finish === 'length'
  const reason = waiting.length > 0 ? 'tool_use' : isRefused ? 'refusal' : isCut ? 'max_tokens' : 'end_turn'
  return {
    stop_reason: reason,
    stop_sequence: null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  }
}

/** Clients send it back unread. It must not be empty: some drop thinking without a signature. */
export const signature = 'bWlsbHJhY2U='

export function textBlock(text: string) {
  return { type: 'text', text, citations: null }
}

export function thinkingBlock(thinking: string, signed: string) {
  return { type: 'thinking', thinking, signature: signed }
}

/** A call for the client to run. */
export function toolUse({ callId, name }: Pick<AnswerCall, 'callId' | 'name'>, input: JsonObject) {
  return { type: 'tool_use', id: callId, name, input, caller: { type: 'direct' } }
}

/**
 * A call that runs here. Its whole input is in the block: Claude Code takes a block of this type
 * with `input_json_delta` for a broken answer, and the SDK's stable stream does not collect them.
 */
export function serverToolUse({ callId, name, arguments: raw }: AnswerCall) {
  const { input } = parseArguments(raw)
  return { type: 'mcp_tool_use', id: callId, name, input, server_name: 'millrace' }
}

const notRun = { text: 'The call was not run.', isError: true }

/** The result of such a call. A call that does not run has one too, since clients may wait for it. */
export function serverToolResult(
  callId: string,
  { text, isError }: Pick<NonNullable<AnswerCall['result']>, 'text' | 'isError'> = notRun,
) {
  return { type: 'mcp_tool_result', tool_use_id: callId, is_error: isError, content: [textBlock(text)] }
}
