import type { DoneEvent, JsonObject, RoundEndEvent } from '../protocol/index.ts'
import { checkUsage, toJson } from '../protocol/index.ts'
import type { Elapsed } from './generation.ts'

/** The `round-end` event for a model's `done` event. */
export function roundEnd(
  { finish, usage: reported, contextTokens, metadata }: DoneEvent,
  timings: Elapsed,
  round: { readonly round: number; readonly model: string },
): RoundEndEvent {
  const usage = reported && checkUsage(reported)
  const generatingMs = timings.ms - (timings.firstEventMs ?? 0)
  const tokens = usage?.outputTokens
  return {
    type: 'round-end',
    ...round,
    finish,
    ...(usage && { usage }),
    ...(contextTokens !== undefined && { contextTokens }),
    timings: {
      ...timings,
      ...(tokens && generatingMs > 0 && { tokensPerSecond: (tokens / generatingMs) * 1000 }),
    },
    ...(metadata && { metadata: toJson(metadata) as JsonObject }),
  }
}
