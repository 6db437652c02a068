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
import { readVersion } from './version.ts'

/** Editors kill the process soon after they have closed stdin. */
const graceMs = 1000

/** Serves agents to an editor over stdin and stdout, until it closes stdin or a signal arrives. */
export async function serveAcp({ words, flags }: CommandLine, output: Output): Promise<number> {
  // Before any user code is loaded, which might print.
  const stdout = takeStdout()
  const { acpServer } = await loadPackage(() => import('@millrace/tools/acp'), {
    flag: 'millrace acp',
    install: '@millrace/tools',
  })
  const agents = await agentsToServe(words[0], flags, 'acp')
  const address = storeAddress(flags)
  const store = await openStore(address, { worker: true })
  const telemetry = verboseLogs(flags, logLinesOn(output))
  const app = millrace({ agents, store, exchanges: await exchangesOf(address, store), telemetry })
  const server = acpServer(app, { version: readVersion() })
  const interrupted = new AbortController()
  try {
    output.note(`agents: ${app.agents.join(', ')}; threads are stored in ${shownStore(address)}`)
    await printNotices(app, output)
    if (process.stdin.isTTY)
      output.note('this speaks ACP over stdin and stdout; it is meant to be started by an editor')
    onInterrupt(() => interrupted.abort())
    await server.stdio({ stdout, signal: interrupted.signal })
    return exitCodes.ok
  } finally {
    // Runs may use the MCP servers of the editor until they are handed over.
    await app.close({ graceMs })
    await server.close()
    await store.close()
  }
}
