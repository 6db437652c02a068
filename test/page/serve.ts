import { readFileSync } from 'node:fs'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { supportDesk } from '../../examples/support-desk/agent.ts'
import { pageProtocol } from './react/page-protocol.ts'
import { simulatedModel } from './simulated-model.ts'

// The process that tests kill. Prints its address when it accepts requests.

const { port, file, provider, files } = JSON.parse(process.argv[2] as string)
const app = serve({
  agents: { ...supportDesk(simulatedModel(provider)) },
  store: sqliteStore(file),
  // Short, so that the next process soon resumes the runs of a killed one.
  leaseMs: 1000,
  recoverMs: 50,
  ...(files && { page: false, protocols: [pageProtocol(JSON.parse(readFileSync(files, 'utf8')))] }),
})
const { url } = await app.listen({ port })
process.stdout.write(`${url}\n`)
// The parent process has exited.
process.stdin.on('end', () => process.exit(1)).resume()
