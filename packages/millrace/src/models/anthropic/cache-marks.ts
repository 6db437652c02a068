import type { JsonObject } from '../../protocol/index.ts'
import type { Turn } from './messages.ts'

/** `5m` costs a quarter more to write than input does and is read at a tenth; `1h` costs twice as much to write. */
export type CacheTime = '5m' | '1h'

/**
 * Marks where the prompt cache is to reach, four places at most: behind the tools, behind the system prompt, and behind the last
 * two turns of the user, so that each round reads all that the one before has written, however long its turn was.
 */
export function markCache(
  { system, tools, turns }: { system: JsonObject[]; tools: JsonObject[]; turns: readonly Turn[] },
  time: CacheTime,
): void {
  const cache_control: JsonObject = { type: 'ephemeral', ...(time === '1h' && { ttl: time }) }
  const mark = (blocks: JsonObject[]) => {
    const at = blocks.length - 1
    const last = blocks[at]
    if (last) blocks[at] = { ...last, cache_control }
  }
  mark(tools)
  mark(system)
  for (const { content } of turns.filter(({ role }) => role === 'user').slice(-2)) mark(content)
}
