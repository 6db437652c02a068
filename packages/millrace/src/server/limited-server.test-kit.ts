import { agent } from '../agent/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import { scriptedModel } from '../testing/index.ts'
import { serve } from './index.ts'
import { byToken } from './server.test-kit.ts'

// A server in a separate process, controlled by messages from its parent process.

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

const handlers = {
  listen: async () => (await app.listen()).port,
  /** Appends an entry of `bytes` bytes, in a thread that no agent of this server works on. */
  async write({ bytes }: { bytes: number }) {
    await store.create({ id: 'large', agent: 'elsewhere' })
    await store.signal('large', crypto.randomUUID(), { type: 'stop', reason: 'x'.repeat(bytes) })
  },
  /** The bytes in use after a garbage collection. */
  async memory() {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  },
}

export interface Command {
  readonly ask: keyof typeof handlers
  readonly bytes?: number
}

process.on('message', async (command: Command) => {
  process.send?.({ answer: await handlers[command.ask](command as never) })
})
process.send?.({ answer: 'ready' })
