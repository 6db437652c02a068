import type { Route } from '../protocols/index.ts'
import { json, ref } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { maxShareOfCaller } from '../threads/index.ts'
import type { Admission } from './admission.ts'
import type { Limits } from './options.ts'
import type { Streams } from './streams.ts'

export interface UsageRoutesOptions {
  readonly limits: Limits
  readonly streams: Streams
  readonly admission: Admission
}

/** How much of its quotas and limits a caller uses. */
export function usageRoutes(app: App, { limits, streams, admission }: UsageRoutesOptions): Route[] {
  async function usageOf(caller: string) {
    return {
      ...(await app.usage(caller)),
      streams: { used: streams.count(caller), limit: limits.streams },
      requestsAtOnce: { used: admission.count(caller), limit: limits.requestsAtOnce },
      bufferBytes: { used: app.buffer.heldBy(caller), limit: app.buffer.limit * maxShareOfCaller },
    }
  }

  return [
    {
      method: 'GET',
      path: '/usage',
      name: 'getUsage',
      summary: 'Get how much of your quotas and limits you use',
      responses: { 200: json(ref('Usage'), 'Usage by option name. Empty if there are no limits') },
      async handle({ caller: { key } }) {
        return Response.json({ usage: key === undefined ? {} : await usageOf(key) })
      },
    },
  ]
}
