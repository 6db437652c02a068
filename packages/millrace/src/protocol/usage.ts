/**
 * Tokens used. `inputTokens` counts everything sent, including cached tokens; `outputTokens`
 * everything generated, including reasoning. The other three are subsets of these.
 */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

export function addUsage(a: Usage, b: Partial<Usage>): Usage {
  return {
    inputTokens: a.inputTokens + (b.inputTokens ?? 0),
    outputTokens: a.outputTokens + (b.outputTokens ?? 0),
    reasoningTokens: a.reasoningTokens + (b.reasoningTokens ?? 0),
    cacheReadTokens: a.cacheReadTokens + (b.cacheReadTokens ?? 0),
    cacheWriteTokens: a.cacheWriteTokens + (b.cacheWriteTokens ?? 0),
  }
}

/** The usage a model reports, without values that are not valid token counts. */
export function checkUsage(reported: Partial<Usage>): Partial<Usage> {
  const counts = Object.entries(reported).filter(
    ([key, count]) => Object.hasOwn(noUsage, key) && Number.isFinite(count) && count >= 0,
  )
  return Object.fromEntries(counts)
}
