import type { FinishReason, JsonObject, Usage } from '../../protocol/index.ts'
import { checkUsage, isJsonObject, isObject, toJson } from '../../protocol/index.ts'
import { cutOff, streamError } from '../wire/stream-error.ts'

type Fields = Readonly<Record<string, unknown>>

/** Why the SDK says that it ended. v2 has a word, v3 and v4 `{ unified, raw }`. */
export interface Ending {
  readonly unified: string
  readonly raw: string | undefined
}

export function endingOf(finishReason: unknown): Ending {
  const { unified, raw } = isObject(finishReason) ? finishReason : { unified: finishReason, raw: undefined }
  return { unified: String(unified), raw: typeof raw === 'string' ? raw : undefined }
}

/** The end of the attempt, not of the answer. */
export function isBroken({ unified }: Ending): boolean {
  return unified === 'interrupted' || unified === 'error'
}

/**
 * A clean end of the connection is no end of the answer. Providers of v4 say `interrupted` then. Those before could only
 * leave the reason as it was at the beginning, `unknown` (v2) or `other` without a word of the wire (v3); so do some servers
 * that never give a reason, but these have told their usage, or a call.
 */
export function checkEnding(
  { unified, raw }: Ending,
  { provider, usage, called }: { provider: string; usage: Partial<Usage>; called: boolean },
): void {
  const unsaid = unified === 'unknown' || (unified === 'other' && raw === undefined)
  const silent = unsaid && !called && !Object.values(usage).some((count) => count > 0)
  if (unified === 'interrupted' || silent) throw cutOff(provider)
  if (unified === 'error')
    throw streamError(`${provider} ended the stream with an error and did not say which`)
}

/** Beside calls of ours it is `tool-calls`, whatever it says; without any it is not: the provider ran its own. */
export function finishOf({ unified, raw }: Ending, called: boolean): FinishReason {
  switch (unified) {
    case 'length':
      return 'length'
    case 'content-filter':
      return raw === 'refusal' ? 'refusal' : 'content-filter'
    case 'stop':
    case 'tool-calls':
      return called ? 'tool-calls' : 'stop'
    default:
      return called ? 'tool-calls' : 'other'
  }
}

/** v2 has numbers, v3 and v4 objects with the totals and what they are made of. */
export function usageOf(usage: unknown): Partial<Usage> {
  if (!isObject(usage)) return {}
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = usage
  const input: Fields = isObject(inputTokens)
    ? inputTokens
    : { total: inputTokens, cacheRead: cachedInputTokens }
  const output: Fields = isObject(outputTokens)
    ? outputTokens
    : { total: outputTokens, reasoning: reasoningTokens }
  const counts = {
    inputTokens: input.total,
    outputTokens: output.total,
    reasoningTokens: output.reasoning,
    cacheReadTokens: input.cacheRead,
    cacheWriteTokens: input.cacheWrite,
  }
  const numbers = Object.entries(counts).filter((count): count is [string, number] => {
    return typeof count[1] === 'number'
  })
  return checkUsage(Object.fromEntries(numbers))
}

/** The SDK's provider metadata, if there is any. It may hold `undefined`, which a log cannot. */
export function metadataOf(value: unknown): JsonObject | undefined {
  if (!isObject(value)) return undefined
  const json = toJson(value)
  return isJsonObject(json) && Object.keys(json).length > 0 ? json : undefined
}
