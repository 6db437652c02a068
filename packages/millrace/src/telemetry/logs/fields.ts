import type { ErrorJson, MillraceError, ReachedLimit, Spent, Usage } from '../../protocol/index.ts'
import { isTraceContext, totalCost } from '../../protocol/index.ts'
import type { LogFields, LogValue } from './line.ts'

/** The maximum length of names and error messages. */
const maxLength = { name: 200, words: 500 } as const

/** Drops undefined fields. */
export function definedFields(fields: Readonly<Record<string, LogValue | undefined>>): LogFields {
  const defined = Object.entries(fields).filter(
    (field): field is [string, LogValue] => field[1] !== undefined,
  )
  return Object.fromEntries(defined)
}

export function nameField(name: string): string {
  return cut(name, maxLength.name)
}

export function errorFields(
  { code, op, status, message }: Pick<MillraceError | ErrorJson, 'code' | 'op' | 'status' | 'message'>,
  content: boolean,
): LogFields {
  const words = content ? cut(message.replace(/\s+/g, ' ').trim(), maxLength.words) : undefined
  return definedFields({ code, op: nameField(op), httpStatus: status, error: words })
}

export function usageFields(usage: Usage): LogFields {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return definedFields({
    inputTokens,
    outputTokens,
    cacheReadTokens: cacheReadTokens || undefined,
    cacheWriteTokens: cacheWriteTokens || undefined,
    reasoningTokens: reasoningTokens || undefined,
  })
}

/** `costUsd` is absent if a part of the cost is not known. */
export function costFields(spent: Spent): LogFields {
  const { usd, knownUsd, unknown, estimatedUsd, simulatedUsd } = totalCost(spent)
  return definedFields({
    costUsd: usd,
    knownCostUsd: unknown && knownUsd > 0 ? knownUsd : undefined,
    unknownPrices: unknown,
    estimatedUsd,
    simulatedUsd,
  })
}

export function limitFields({ scope, kind, limit, spent }: ReachedLimit): LogFields {
  return { limitScope: scope, limitKind: kind, limit, spent }
}

/** The ids by which a tracing backend finds the run. */
export function traceFields(trace: string | undefined): LogFields {
  if (trace === undefined || !isTraceContext(trace)) return {}
  const [, traceId = '', spanId = ''] = trace.split('-')
  return { traceId, spanId }
}

function cut(text: string, most: number): string {
  // Never splits a surrogate pair.
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
