import type { Usage } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import { definedCounts, usageKinds } from '../wire/usage-kinds.ts'

type Fields = Readonly<Record<string, unknown>>

/** The usage of a response with these items. */
export function readUsage(response: Fields, items: readonly Fields[]): Partial<Usage> | undefined {
  const { usage } = response
  if (!isObject(usage)) return undefined
  const input = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {}
  const output = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const counts = {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    reasoningTokens: output.reasoning_tokens,
    cacheReadTokens: input.cached_tokens,
    cacheWriteTokens: input.cache_write_tokens,
  }
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === 'number')),
    ...usageKinds(usage),
    ...definedCounts({ webSearches: searchesOf(response) ?? items.filter(isSearch).length }),
  }
}

/** OpenAI: `"tool_usage":{"web_search":{"num_requests":1}}`. Other servers do not count them. */
function searchesOf({ tool_usage: tools }: Fields): unknown {
  return isObject(tools) && isObject(tools.web_search) ? tools.web_search.num_requests : undefined
}

/** Opening a page and searching in it are calls too, but only searches are charged. */
function isSearch({ type, action, status }: Fields): boolean {
  return type === 'web_search_call' && status !== 'failed' && (!isObject(action) || action.type === 'search')
}
