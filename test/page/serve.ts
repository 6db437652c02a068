import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { supportDesk } from '../../examples/support-desk/agent.ts'
import { simulatedModel } from './simulated-model.ts'

// The process that is killed. Says its address on stdout when it can be reached.

const { port, file, provider } = JSON.parse(process.argv[2] as string)
const app = serve({
  agents: { ...supportDesk(simulatedModel(provider)) },
  store: sqliteStore(file),
  // What a dead process was at is taken over by the next one soon.
  leaseMs: 1000,
  recoverMs: 50,
})
const { url } = await app.listen({ port })
process.stdout.write(`${url}\n`)
// Whoever started it is gone.
process.stdin.on('end', () => process.exit(1)).resume()
