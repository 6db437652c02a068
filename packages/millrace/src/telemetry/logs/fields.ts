import type { ErrorJson, MillraceError, Usage } from '../../protocol/index.ts'
import { isTraceContext } from '../../protocol/index.ts'
import type { LogFields, LogValue } from './line.ts'

/** So much of a name, and of the words of an error, is told. */
const longest = { name: 200, words: 500 } as const

/** Only what there is. */
export function present(fields: Readonly<Record<string, LogValue | undefined>>): LogFields {
  const there = Object.entries(fields).filter((field): field is [string, LogValue] => field[1] !== undefined)
  return Object.fromEntries(there)
}

export function nameField(name: string): string {
  return cut(name, longest.name)
}

export function errorFields(
  { code, op, status, message }: Pick<MillraceError | ErrorJson, 'code' | 'op' | 'status' | 'message'>,
  content: boolean,
): LogFields {
  const words = content ? cut(message.replace(/\s+/g, ' ').trim(), longest.words) : undefined
  return present({ code, op: nameField(op), httpStatus: status, error: words })
}

export function usageFields(usage: Usage): LogFields {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return present({
    inputTokens,
    outputTokens,
    cacheReadTokens: cacheReadTokens || undefined,
    cacheWriteTokens: cacheWriteTokens || undefined,
    reasoningTokens: reasoningTokens || undefined,
  })
}

/** By what a backend of traces finds it. */
export function traceFields(trace: string | undefined): LogFields {
  if (trace === undefined || !isTraceContext(trace)) return {}
  const [, traceId = '', spanId = ''] = trace.split('-')
  return { traceId, spanId }
}

function cut(text: string, most: number): string {
  // Never in the middle of a character.
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
