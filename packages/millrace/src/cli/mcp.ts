import { millrace } from '../threads/index.ts'
import type { CommandLine } from './args.ts'
import { exchangesOf } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import { onInterrupt } from './interrupts.ts'
import { logLinesOn } from './log-lines.ts'
import { openStore } from './open-store.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import { agentsToServe, printNotices } from './served-agents.ts'
import { shownStore, storeAddress } from './store-address.ts'
import { takeStdout } from './take-stdout.ts'
import { verboseLogs } from './verbose.ts'

/** MCP clients wait two seconds for the process to exit, then kill it. */
const graceMs = 1000

/** Serves agents over stdin and stdout until the client closes stdin or a signal arrives. */
export async function serveMcp({ words, flags }: CommandLine, output: Output): Promise<number> {
  // Before any user code is loaded, which might print.
  const stdout = takeStdout()
  const { mcpServer } = await loadPackage(() => import('@millrace/tools/mcp'), {
    flag: 'millrace mcp',
    install: '@millrace/tools',
  })
  const agents = await agentsToServe(words[0], flags, 'mcp')
  const address = storeAddress(flags)
  const store = await openStore(address, { worker: true })
  const telemetry = verboseLogs(flags, logLinesOn(output))
  const app = millrace({ agents, store, exchanges: await exchangesOf(address, store), telemetry })
  const server = mcpServer(app)
  try {
    output.note(`agents: ${app.agents.join(', ')}; threads are stored in ${shownStore(address)}`)
    await printNotices(app, output)
    if (process.stdin.isTTY)
      output.note('this speaks MCP over stdin and stdout; it is meant to be started by an MCP client')
    // Pending requests are answered with an error before the pipe closes.
    onInterrupt(() => void server.close())
    await server.stdio({ stdout })
    return exitCodes.ok
  } finally {
    await server.close()
    await app.close({ graceMs })
    await store.close()
  }
}
