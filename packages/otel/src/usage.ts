import type { Attributes } from '@opentelemetry/api'
import type { Usage } from 'millrace'

/** The kinds of tokens. Totals are always reported, the others only if they are not 0. */
export const tokenKinds: readonly {
  readonly kind: keyof Usage
  readonly name: string
  readonly isTotal: boolean
}[] = [
  { kind: 'inputTokens', name: 'input_tokens', isTotal: true },
  { kind: 'outputTokens', name: 'output_tokens', isTotal: true },
  { kind: 'cacheReadTokens', name: 'cache_read.input_tokens', isTotal: false },
  { kind: 'cacheWriteTokens', name: 'cache_write.input_tokens', isTotal: false },
  { kind: 'reasoningTokens', name: 'reasoning.output_tokens', isTotal: false },
]

export function usageAttributes(usage: Partial<Usage>): Attributes {
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens || undefined,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWriteTokens || undefined,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens || undefined,
  }
}
