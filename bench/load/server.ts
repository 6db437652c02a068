import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject } from 'millrace'
import { agent, tool } from 'millrace'
import { openaiChat } from 'millrace/openai'
import { millrace } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import type { ToolSchema } from '../server/tool-schemas.ts'
import { lookUpOrder } from '../server/tool-schemas.ts'
import type { Spread } from './histogram.ts'
import { answer, configOf, usage } from './process.ts'
import { buildOutput, watchBuild } from './tools.ts'

// The server that is measured, as a user would set it up.

export interface ServerConfig {
  /** The address of the provider. */
  readonly provider: string
  readonly file: string
  /** So long a client may take nothing; the server's own default if absent. */
  readonly stuckMs?: number
}

const { provider, file, stuckMs } = configOf<ServerConfig>()

const desk = agent({
  model: openaiChat('gpt-4.1-mini', { baseURL: `${provider}/v1`, apiKey: 'none' }),
  system: 'You help with orders.',
  tools: [
    tool({
      ...described(lookUpOrder),
      run: async ({ id }, { signal }) => {
        await wait(30, undefined, { signal })
        return { id, status: 'shipped' }
      },
    }),
    tool({
      ...described(watchBuild),
      run: async (_, { progress, commit }) => {
        for (const report of buildOutput()) {
          progress(report)
          await commit()
        }
        return 'built'
      },
    }),
  ],
})

function described({ name, description, jsonSchema }: ToolSchema) {
  return { name, description, input: { jsonSchema: jsonSchema as JsonObject } }
}

const store = sqliteStore(file)
/** All clients come from one address: what one caller may use is no limit here. */
const most = 2 ** 40
const app = millrace({
  agents: { desk },
  store,
  exchanges: false,
  limits: { streams: most, requestsPerSecond: most, requestsAtOnce: most },
  quotas: { runs: most, waiting: most, storedBytes: most, bytesPerMinute: most, tokensPerMinute: most },
  ...(stuckMs !== undefined && { stuckMs }),
})

const resolutionMs = 5
const delays = monitorEventLoopDelay({ resolution: resolutionMs })
delays.enable()

const asked = {
  /** How late timers were since this was asked the last time. */
  late(): Spread {
    const late = (nanos: number) => Math.max(0, nanos / 1e6 - resolutionMs)
    const spread = {
      p50: late(delays.percentile(50)),
      p99: late(delays.percentile(99)),
      max: late(delays.max),
    }
    delays.reset()
    return spread
  },
  open: async () => (await app.listen()).url,
  /** Bytes that are in use after a collection. */
  held() {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  },
  async close() {
    await app.close()
    await store.close()
  },
  usage: usage(),
}
export type ServerAnswers = typeof asked
answer(asked)
