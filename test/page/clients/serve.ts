import { readFileSync } from 'node:fs'
import { agent, tool } from 'millrace'
import { aiSdkUi, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { z } from 'zod'
import { type PageFiles, pageProtocol } from '../react/page-protocol.ts'
import { simulatedModel } from '../simulated-model.ts'
import type { ClientServerConfig } from './clients.test-kit.ts'

// The process that tests kill. Prints its address when it accepts requests.

const { port, file, provider, gate, pages } = JSON.parse(process.argv[2] as string) as ClientServerConfig

const look = tool({
  name: 'look',
  description: 'Looks in a direction',
  input: z.object({ at: z.string() }),
  run: async (_, { signal }) => (await fetch(gate, { signal })).text(),
})
const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ id: z.string() }),
  approve: true,
  run: ({ id }) => ({ refunded: id }),
})

const files = JSON.parse(readFileSync(pages, 'utf8')) as Record<string, PageFiles>
const app = serve({
  agents: { helper: agent({ model: simulatedModel(provider), tools: [look, refund] }) },
  store: sqliteStore(file),
  // Short, so that the next process soon resumes the runs of a killed one.
  leaseMs: 1000,
  recoverMs: 50,
  protocols: [
    aiSdkUi(),
    // For tests that reload pages, which can take long on a busy machine.
    aiSdkUi({ path: '/api/patient', graceMs: 60_000 }),
    ...Object.entries(files).map(([name, page]) => pageProtocol(page, `/${name}`)),
  ],
})
const { url } = await app.listen({ port })
process.stdout.write(`${url}\n`)
// The parent process has exited.
process.stdin.on('end', () => process.exit(1)).resume()
