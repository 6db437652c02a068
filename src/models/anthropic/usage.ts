import type { Usage } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'

/**
 * The tokens of one message. They are reported at its start and again at its end, where the numbers are totals and not
 * additions; what the end leaves out stays as it was. What was read from the cache and what was written to it is counted beside the
 * input.
 */
export function messageUsage() {
  const latest: Record<string, number> = {}
  return {
    add(usage: unknown): void {
      if (!isObject(usage)) return
      const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
      for (const [key, value] of Object.entries({ ...usage, thinking_tokens: details.thinking_tokens }))
        if (typeof value === 'number') latest[key] = value
    },
    get total(): Partial<Usage> | undefined {
      const {
        input_tokens: input,
        output_tokens: output,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
        thinking_tokens: thinking,
      } = latest
      if (input === undefined && output === undefined) return undefined
      return {
        ...(input !== undefined && { inputTokens: input + (read ?? 0) + (written ?? 0) }),
        ...(output !== undefined && { outputTokens: output }),
        ...(thinking !== undefined && { reasoningTokens: thinking }),
        ...(read !== undefined && { cacheReadTokens: read }),
        ...(written !== undefined && { cacheWriteTokens: written }),
      }
    },
  }
}
