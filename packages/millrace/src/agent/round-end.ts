import type { DoneEvent, JsonObject, RoundEndEvent } from '../protocol/index.ts'
import { checkUsage, toJson } from '../protocol/index.ts'
import type { Elapsed } from './generation.ts'

/** The end of a round as its model said it. */
export function roundEnd(
  { finish, usage: reported, contextTokens, metadata }: DoneEvent,
  timings: Elapsed,
  round: { readonly round: number; readonly model: string },
): RoundEndEvent {
  const usage = reported && checkUsage(reported)
  const tellingMs = timings.ms - (timings.firstEventMs ?? 0)
  const tokens = usage?.outputTokens
  return {
    type: 'round-end',
    ...round,
    finish,
    ...(usage && { usage }),
    ...(contextTokens !== undefined && { contextTokens }),
    timings: {
      ...timings,
      ...(tokens && tellingMs > 0 && { tokensPerSecond: (tokens / tellingMs) * 1000 }),
    },
    ...(metadata && { metadata: toJson(metadata) as JsonObject }),
  }
}
