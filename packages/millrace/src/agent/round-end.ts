import type { DoneEvent, JsonObject, RoundEndEvent } from '../protocol/index.ts'
import { toJson } from '../protocol/index.ts'
import type { Elapsed } from './generation.ts'

/** The `round-end` event for a model's `done` event. */
export function roundEnd(
  { finish, contextTokens, metadata }: DoneEvent,
  timings: Elapsed,
  round: Pick<RoundEndEvent, 'round' | 'model' | 'usage' | 'estimate' | 'cost' | 'context'>,
): RoundEndEvent {
  const generatingMs = timings.ms - (timings.firstEventMs ?? 0)
  const tokens = round.usage?.outputTokens
  return {
    type: 'round-end',
    ...round,
    finish,
    ...(contextTokens !== undefined && { contextTokens }),
    timings: {
      ...timings,
      ...(tokens && generatingMs > 0 && { tokensPerSecond: (tokens / generatingMs) * 1000 }),
    },
    ...(metadata && { metadata: toJson(metadata) as JsonObject }),
  }
}
