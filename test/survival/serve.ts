import { sqliteStore } from '../../packages/millrace/src/log/sqlite.ts'
import { serve } from '../../packages/millrace/src/server/index.ts'
import { deskAgents, dieIf } from './desk.ts'
import type { ServerConfig } from './server-process.ts'

// The process that is killed: a server with SQLite. Prints its address when it is ready.

const { port, file, provider, actions, ...options } = JSON.parse(process.argv[2] as string) as ServerConfig
const store = sqliteStore(file)
const most = 100_000
const app = serve({
  agents: deskAgents({ provider, actions }),
  store,
  context({ metadata }) {
    dieIf(metadata, 'context')
    return metadata
  },
  limits: { requestsPerSecond: most, requestsAtOnce: most, streams: most, framesPerSecond: most },
  quotas: { runs: most, waiting: most },
  ...options,
})
const { url } = await app.listen({ port })
process.stdout.write(`${url}\n`)

process.once('SIGTERM', async () => {
  await app.close({ graceMs: 5000 })
  await store.close()
  process.exit(0)
})
// The parent process has exited.
process.stdin.on('end', () => process.exit(1)).resume()
