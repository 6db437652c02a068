import type { JsonObject } from '../../protocol/index.ts'
import type { Turn } from './messages.ts'

/**
 * How long the cache is kept. Writing costs 1.25 times as much as input with `5m` and twice as much
 * with `1h`; reading costs a tenth.
 */
export type CacheTime = '5m' | '1h'

/**
 * Sets cache breakpoints, at most four: after the tools, after the system prompt, and after the
 * last two user turns, so that each round reads everything that the previous one wrote.
 */
export function markCache(
  { system, tools, turns }: { system: JsonObject[]; tools: JsonObject[]; turns: Turn[] },
  time: CacheTime,
): void {
  const cache_control: JsonObject = { type: 'ephemeral', ...(time === '1h' && { ttl: time }) }
  const mark = (blocks: JsonObject[]) => {
    const last = blocks.pop()
    if (last) blocks.push({ ...last, cache_control })
  }
  mark(tools)
  mark(system)
  let left = 2
  for (let at = turns.length - 1; at >= 0 && left > 0; at--) {
    const { role, content } = turns[at] as Turn
    if (role !== 'user') continue
    const marked = [...content]
    mark(marked)
    turns[at] = { role, content: marked }
    left--
  }
}
