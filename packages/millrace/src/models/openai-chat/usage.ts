import type { Usage } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import { usageKinds } from '../wire/usage-kinds.ts'

/** The tokens in a `usage` object of Chat Completions, with the field names of all providers. */
export function readUsage(usage: Record<string, unknown>): Partial<Usage> {
  const input = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const output = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  const sent = count(usage.prompt_tokens)
  const generated = count(usage.completion_tokens)
  const reasoning = count(output.reasoning_tokens)
  // DeepSeek, Moonshot.
  const cached =
    count(input.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? count(usage.cached_tokens)
  const written = count(input.cache_write_tokens)
  // xAI counts reasoning separately from the completion, all others within it; only the total shows
  // which.
  const isSeparate =
    reasoning !== undefined && count(usage.total_tokens) === (sent ?? 0) + (generated ?? 0) + reasoning
  return {
    ...(sent !== undefined && { inputTokens: sent }),
    ...(generated !== undefined && { outputTokens: generated + (isSeparate ? reasoning : 0) }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    ...(cached !== undefined && { cacheReadTokens: cached }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...usageKinds(usage),
  }
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}
