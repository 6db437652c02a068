import { a2a } from '@millrace/tools/a2a'
import { mcpProtocol } from '@millrace/tools/mcp'
import { agUi, aiSdkUi, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import desk from './desk.ts'

// The server that is killed: all protocols over the same threads. Prints its address when it is
// ready.

const [file, port] = process.argv.slice(2)
const app = serve({
  agents: { desk },
  store: sqliteStore(file as string),
  protocols: [aiSdkUi(), agUi(), mcpProtocol(), a2a()],
  leaseMs: 800,
  recoverMs: 100,
})
const { url } = await app.listen({ port: Number(port) })
process.stdout.write(`${url}\n`)
// The parent process has exited.
process.stdin.on('end', () => process.exit(1)).resume()
