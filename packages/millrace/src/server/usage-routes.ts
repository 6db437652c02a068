import type { Route } from '../protocols/index.ts'
import { json, ref } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { mostOfCaller } from '../threads/index.ts'
import type { Admission } from './admission.ts'
import type { Limits } from './options.ts'
import type { Streams } from './streams.ts'

export interface UsageRoutesOptions {
  readonly limits: Limits
  readonly streams: Streams
  readonly admission: Admission
}

/** What a caller uses of what it may use. */
export function usageRoutes(app: App, { limits, streams, admission }: UsageRoutesOptions): Route[] {
  async function usageOf(caller: string) {
    return {
      ...(await app.usage(caller)),
      streams: { used: streams.count(caller), limit: limits.streams },
      requestsAtOnce: { used: admission.count(caller), limit: limits.requestsAtOnce },
      bufferBytes: { used: app.buffer.heldBy(caller), limit: app.buffer.limit * mostOfCaller },
    }
  }

  return [
    {
      method: 'GET',
      path: '/usage',
      name: 'getUsage',
      summary: 'What you use of your quotas and limits',
      answers: { 200: json(ref('Usage'), 'By the name of the option. Empty where nothing is limited') },
      async handle({ caller: { key } }) {
        return Response.json({ usage: key === undefined ? {} : await usageOf(key) })
      },
    },
  ]
}
