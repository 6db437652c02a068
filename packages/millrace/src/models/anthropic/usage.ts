import type { Usage } from '../../protocol/index.ts'
import { addUsage, isObject, noUsage } from '../../protocol/index.ts'
import type { UsageKinds } from '../wire/usage-kinds.ts'
import { usageKinds } from '../wire/usage-kinds.ts'

type Fields = Record<string, unknown>

const counted = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const
type Counted = (typeof counted)[number]

/**
 * The token usage of one message. It is reported at the start and again at the end, where the
 * numbers are totals that replace earlier ones. Cache reads and writes are not included in
 * `input_tokens`. The tokens of a compaction are only in `iterations`; its input is no longer part
 * of the conversation.
 */
export function messageUsage() {
  const latest: { [Key in Counted | 'thinking_tokens']?: number } = {}
  let kinds: UsageKinds = {}
  let iterations: readonly Fields[] = []
  return {
    add(usage: unknown): void {
      if (!isObject(usage)) return
      if (Array.isArray(usage.iterations)) iterations = usage.iterations.filter(isObject)
      kinds = { ...kinds, ...usageKinds(usage) }
      const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
      for (const key of counted) {
        const count = usage[key]
        if (typeof count === 'number') latest[key] = count
      }
      const { thinking_tokens: thinking } = details
      if (typeof thinking === 'number') latest.thinking_tokens = thinking
    },
    total(): Partial<Usage> | undefined {
      const { input_tokens: input, output_tokens: output, thinking_tokens: thinking } = latest
      if (input === undefined && output === undefined) return undefined
      const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = latest
      const own: Partial<Usage> = {
        ...(input !== undefined && { inputTokens: input + (read ?? 0) + (written ?? 0) }),
        ...(output !== undefined && { outputTokens: output }),
        ...(thinking !== undefined && { reasoningTokens: thinking }),
        ...(read !== undefined && { cacheReadTokens: read }),
        ...(written !== undefined && { cacheWriteTokens: written }),
        ...kinds,
      }
      const compactions = iterations.filter(({ type }) => type === 'compaction').map(iterationUsage)
      return compactions.length > 0 ? compactions.reduce(addUsage, { ...noUsage, ...own }) : own
    },
    /** The length of the conversation after a compaction, which cannot be computed from `total`. */
    contextTokens(): number | undefined {
      if (!iterations.some(({ type }) => type === 'compaction')) return undefined
      const last = iterations.findLast(({ type }) => type !== 'compaction')
      if (!last) return undefined
      const { inputTokens, outputTokens } = iterationUsage(last)
      return inputTokens + outputTokens
    },
  }
}

function iterationUsage(one: Fields): Usage {
  const count = (key: string) => (typeof one[key] === 'number' ? one[key] : 0)
  const cacheReadTokens = count('cache_read_input_tokens')
  const cacheWriteTokens = count('cache_creation_input_tokens')
  return {
    ...noUsage,
    inputTokens: count('input_tokens') + cacheReadTokens + cacheWriteTokens,
    outputTokens: count('output_tokens'),
    cacheReadTokens,
    cacheWriteTokens,
    ...usageKinds(one),
  }
}
