import type { FinishReason, JsonObject, Usage } from '../../protocol/index.ts'
import { checkUsage, isJsonObject, isObject, toJson } from '../../protocol/index.ts'
import { cutOff, streamError } from '../wire/stream-error.ts'
import { usageKinds } from '../wire/usage-kinds.ts'

type Fields = Readonly<Record<string, unknown>>

/** The SDK's finish reason: a string in v2, `{ unified, raw }` in v3 and v4. */
export interface Ending {
  readonly unified: string
  readonly raw: string | undefined
}

export function endingOf(finishReason: unknown): Ending {
  const { unified, raw } = isObject(finishReason) ? finishReason : { unified: finishReason, raw: undefined }
  return { unified: String(unified), raw: typeof raw === 'string' ? raw : undefined }
}

/** The attempt failed: this is not the end of the answer. */
export function isBroken({ unified }: Ending): boolean {
  return unified === 'interrupted' || unified === 'error'
}

/**
 * Throws if the connection closed before the end of the answer. v4 providers report `interrupted`
 * then. Older ones keep the initial reason: `unknown` (v2), or `other` without a raw reason (v3).
 * Some servers never send a reason, but those have reported usage or a call.
 */
export function checkEnding(
  { unified, raw }: Ending,
  { provider, usage, called }: { provider: string; usage: Partial<Usage>; called: boolean },
): void {
  const hasNoReason = unified === 'unknown' || (unified === 'other' && raw === undefined)
  const isCutOff = hasNoReason && !called && !Object.values(usage).some((count) => count > 0)
  if (unified === 'interrupted' || isCutOff) throw cutOff(provider)
  if (unified === 'error') throw streamError(`${provider} ended the stream with an unspecified error`)
}

/** `tool-calls` only if there are calls for us: otherwise the provider ran its own tools. */
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

/** v2 has numbers; v3 and v4 have objects with totals and details. */
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
  return checkUsage({ ...Object.fromEntries(numbers), ...(isObject(usage.raw) && usageKinds(usage.raw)) })
}

/** The SDK's provider metadata, if any, as JSON: it may contain `undefined`. */
export function metadataOf(value: unknown): JsonObject | undefined {
  if (!isObject(value)) return undefined
  const json = toJson(value)
  return isJsonObject(json) && Object.keys(json).length > 0 ? json : undefined
}
