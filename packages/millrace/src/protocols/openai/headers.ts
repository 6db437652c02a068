import type { Place } from '../model-api/model-request.ts'
import type { RouteContext } from '../protocol.ts'
import { requestId } from './errors.ts'

/**
 * The headers of an answer. Call it when the request arrives, and what it returns when the answer
 * is sent.
 */
export function answerHeaders({ caller }: RouteContext): (place?: Place) => Record<string, string> {
  const startedAt = performance.now()
  return (place) => {
    const { limit, remaining, resetMs } = caller.requests
    return {
      'x-request-id': requestId(),
      'openai-processing-ms': String(Math.round(performance.now() - startedAt)),
      'openai-version': '2020-10-01',
      'x-ratelimit-limit-requests': String(limit),
      'x-ratelimit-remaining-requests': String(remaining),
      'x-ratelimit-reset-requests': `${Math.ceil(resetMs)}ms`,
      ...(place && { 'x-thread-id': place.thread.id }),
    }
  }
}
