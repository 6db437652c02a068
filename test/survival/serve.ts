import './skewed-clock.ts'
import { sqliteStore } from '../../packages/millrace/src/log/sqlite.ts'
import { openaiApi, serve } from '../../packages/millrace/src/server/index.ts'
import { deskAgents, dieIf } from './desk.ts'
import type { ServerConfig } from './server-process.ts'

// The process that is killed: a server with SQLite or PostgreSQL. Prints its address when it is
// ready.

const config = JSON.parse(process.argv[2] as string) as ServerConfig
const { port, file, postgres, queue, usesOwnTime, skewMs, provider, actions, ...options } = config
const now = usesOwnTime ? Date.now : undefined
// Loaded only if needed, since most of the processes that are started use SQLite.
const many = postgres === undefined ? undefined : await import('@millrace/postgres')
const store = many && postgres !== undefined ? many.postgresStore(postgres, { now }) : sqliteStore(file)
const dispatcher =
  queue === undefined
    ? undefined
    : many?.bullmq(queue.startsWith('redis') ? { redis: queue } : { postgres: queue })
const most = 100_000
const app = serve({
  agents: deskAgents({ provider, actions }),
  store,
  dispatcher,
  protocols: [openaiApi()],
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
  await dispatcher?.close()
  await store.close()
  process.exit(0)
})
// The parent process has exited.
process.stdin.on('end', () => process.exit(1)).resume()
