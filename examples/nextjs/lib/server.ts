import { aiSdkUi, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { support } from './agent.ts'

function start() {
  return serve({
    agents: { support },
    store: sqliteStore(process.env.DATA ?? 'nextjs.db'),
    protocols: [aiSdkUi()],
    page: false,
    auth: false, // your session check: see docs/production/authentication.md
  })
}

// Next.js loads this module again after each change in development. One server must stay.
const kept = globalThis as { millraceServer?: ReturnType<typeof start> }
kept.millraceServer ??= start()

export const server = kept.millraceServer
