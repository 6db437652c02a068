import { agent } from '../agent/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import { scriptedModel } from '../testing/index.ts'
import { serve } from './index.ts'
import { byToken } from './server.test-kit.ts'

// A server in a process of its own. It is told what to do by messages of the process that has started it.

const [path = '', options = '{}'] = process.argv.slice(2)
const { hasUsers, ...more } = JSON.parse(options)

const model = scriptedModel(({ messages }) =>
  JSON.stringify(messages.at(-1)).includes('slow') ? [{ text: 'Well' }, { hang: true }] : 'At once.',
)
const store = sqliteStore(path)
const app = serve({
  agents: agent({ name: 'desk', model }),
  store,
  ...(hasUsers && { auth: byToken }),
  ...more,
})

const answers = {
  listen: async () => (await app.listen()).port,
  /** An entry of so many bytes, in a thread that no agent here works on. */
  async write({ bytes }: { bytes: number }) {
    await store.create({ id: 'large', agent: 'elsewhere' })
    await store.signal('large', undefined, { type: 'stop', reason: 'x'.repeat(bytes) })
  },
  /** The bytes in use after a collection. */
  async memory() {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  },
}

export interface Order {
  readonly ask: keyof typeof answers
  readonly bytes?: number
}

process.on('message', async (order: Order) => {
  process.send?.({ answer: await answers[order.ask](order as never) })
})
process.send?.({ answer: 'ready' })
