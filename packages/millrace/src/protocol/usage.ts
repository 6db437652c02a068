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
  /** Subsets that some providers report and charge separately. */
  readonly cacheWrite1hTokens?: number
  readonly inputAudioTokens?: number
  readonly outputAudioTokens?: number
  readonly inputImageTokens?: number
  readonly outputImageTokens?: number
  /** Searches that the provider ran. */
  readonly webSearches?: number
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

const optionalKinds = [
  'cacheWrite1hTokens',
  'inputAudioTokens',
  'outputAudioTokens',
  'inputImageTokens',
  'outputImageTokens',
  'webSearches',
] as const

export function addUsage(a: Usage, b: Partial<Usage>): Usage {
  const sum: { -readonly [Kind in keyof Usage]: Usage[Kind] } = {
    inputTokens: a.inputTokens + (b.inputTokens ?? 0),
    outputTokens: a.outputTokens + (b.outputTokens ?? 0),
    reasoningTokens: a.reasoningTokens + (b.reasoningTokens ?? 0),
    cacheReadTokens: a.cacheReadTokens + (b.cacheReadTokens ?? 0),
    cacheWriteTokens: a.cacheWriteTokens + (b.cacheWriteTokens ?? 0),
  }
  for (const kind of optionalKinds) {
    const count = (a[kind] ?? 0) + (b[kind] ?? 0)
    if (count > 0) sum[kind] = count
  }
  return sum
}

const kinds: ReadonlySet<string> = new Set([...Object.keys(noUsage), ...optionalKinds])

/** The usage a model reports, without values that are not valid token counts. */
export function checkUsage(reported: Partial<Usage>): Partial<Usage> {
  const checked: { -readonly [Kind in keyof Usage]?: Usage[Kind] } = {}
  for (const kind of Object.keys(reported) as (keyof Usage)[]) {
    const count = reported[kind] as number
    if (kinds.has(kind) && Number.isFinite(count) && count >= 0) checked[kind] = count
  }
  return checked
}
