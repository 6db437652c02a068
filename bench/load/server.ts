import { setTimeout as wait } from 'node:timers/promises'
import { agent, type JsonObject, tool } from 'millrace'
import { openaiChat } from 'millrace/openai'
import { serve } from 'millrace/server'
import { answer, configOf, heldBytes, usage } from '../harness/answer.ts'
import { lateness } from '../harness/late.ts'
import { lookUpOrder, type ToolSchema } from '../server/scenario.ts'
import { buildOutput, watchBuild } from './conversation.ts'
import { openStore, type StorePlace } from './open-store.ts'

// The measured server, as a user would set it up.

interface ServerConfig {
  /** The address of the provider. */
  readonly provider: string
  readonly store: StorePlace
  /** How long a client may read nothing; the server's default if absent. */
  readonly stuckMs?: number
}

const { provider, store: place, stuckMs } = configOf<ServerConfig>()

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

const store = openStore(place)
/** All clients come from one address, so limits per caller must not apply. */
const most = 2 ** 40
const app = serve({
  agents: { desk },
  store,
  exchanges: false,
  limits: {
    streams: most,
    requestsPerSecond: most,
    requestsAtOnce: most,
    responseBytes: most,
    bufferBytes: most,
  },
  quotas: { runs: most, waiting: most, storedBytes: most, bytesPerMinute: most, tokensPerMinute: most },
  ...(stuckMs !== undefined && { stuckMs }),
})

const asked = {
  late: lateness(5),
  open: async () => (await app.listen()).url,
  /** Creates threads, each for a caller of its own. */
  async create(threads: readonly string[]) {
    for (const thread of threads) await app.thread(thread, { caller: thread }).create()
  },
  held: heldBytes,
  async close() {
    await app.close()
    await store.close()
  },
  usage: usage(),
}
export type ServerAnswers = typeof asked
answer(asked)
