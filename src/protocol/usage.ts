/**
 * Tokens spent. `inputTokens` counts everything that was sent, the cached part included; `outputTokens` everything that was
 * generated, reasoning included. The other three say how much of that it was.
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

/** What a model reports may be missing, or nonsense: that counts as nothing. */
export function addUsage(a: Usage, b: Partial<Usage>): Usage {
  const sum = (key: keyof Usage) => a[key] + (Number.isFinite(b[key]) ? Number(b[key]) : 0)
  return {
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    reasoningTokens: sum('reasoningTokens'),
    cacheReadTokens: sum('cacheReadTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
  }
}
