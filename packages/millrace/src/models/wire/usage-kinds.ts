import type { Usage } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'

type Fields = Readonly<Record<string, unknown>>

/** The kinds of usage that are absent unless a provider reports them. */
export type UsageKinds = Pick<
  Usage,
  | 'cacheWrite1hTokens'
  | 'inputAudioTokens'
  | 'outputAudioTokens'
  | 'inputImageTokens'
  | 'outputImageTokens'
  | 'webSearches'
>

/**
 * Reads them from the `usage` object of any provider: Chat Completions, Responses, Messages or
 * Gemini, which is what AI SDK models have as raw usage.
 */
export function usageKinds(usage: Fields): UsageKinds {
  const input = fields(usage.prompt_tokens_details ?? usage.input_tokens_details)
  const output = fields(usage.completion_tokens_details ?? usage.output_tokens_details)
  return definedCounts({
    cacheWrite1hTokens: fields(usage.cache_creation).ephemeral_1h_input_tokens,
    inputAudioTokens: input.audio_tokens ?? ofModality(usage.promptTokensDetails, 'AUDIO'),
    outputAudioTokens: output.audio_tokens ?? ofModality(usage.candidatesTokensDetails, 'AUDIO'),
    inputImageTokens: input.image_tokens ?? ofModality(usage.promptTokensDetails, 'IMAGE'),
    outputImageTokens: output.image_tokens ?? ofModality(usage.candidatesTokensDetails, 'IMAGE'),
    webSearches: fields(usage.server_tool_use).web_search_requests,
  })
}

/** The counts that are numbers above zero. */
export function definedCounts<Kind extends keyof Usage>(
  counts: Readonly<Record<Kind, unknown>>,
): { [One in Kind]?: number } {
  const defined: { [One in Kind]?: number } = {}
  for (const kind of Object.keys(counts) as Kind[]) {
    const count = counts[kind]
    if (typeof count === 'number' && count > 0) defined[kind] = count
  }
  return defined
}

const fields = (value: unknown): Fields => (isObject(value) ? value : {})

/** Gemini: `[{ "modality": "TEXT", "tokenCount": 12 }, { "modality": "AUDIO", "tokenCount": 90 }]` */
function ofModality(details: unknown, modality: string): unknown {
  return Array.isArray(details)
    ? fields(details.find((one) => fields(one).modality === modality)).tokenCount
    : undefined
}
