import { Writable } from 'node:stream'
import { millrace } from '../threads/index.ts'
import type { CommandLine } from './args.ts'
import { asidesOn } from './asides.ts'
import { dataPath, openData } from './data.ts'
import { exchangesAt } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import { onInterrupt } from './interrupts.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import { servedAgents, tellNotices } from './served-agents.ts'
import { verboseLogs } from './verbose.ts'

/** Whoever has started it waits two seconds for it to end, and then kills it. */
const graceMs = 1000

/** Serves agents to the process that has started this one, until that hangs up or a signal comes. */
export async function serveMcp({ words, flags }: CommandLine, output: Output): Promise<number> {
  // Before anything of somebody else's is loaded.
  const stdout = takeStdout()
  const { mcpServer } = await loadPackage(() => import('@millrace/tools/mcp'), {
    flag: 'millrace mcp',
    install: '@millrace/tools',
  })
  const agents = await servedAgents(words[0], flags, 'mcp')
  const store = openData(flags.data)
  const telemetry = verboseLogs(flags, asidesOn(output))
  const app = millrace({ agents, store, exchanges: exchangesAt(flags.data), telemetry })
  const server = mcpServer(app)
  try {
    output.tell(`agents: ${app.agents.join(', ')}; threads are kept in ${dataPath(flags.data)}`)
    await tellNotices(app, output)
    if (process.stdin.isTTY)
      output.tell('this speaks MCP on stdin and stdout: have it started by an MCP client, not by hand')
    // Whoever waits for an answer is told that it goes, before the pipe is closed.
    onInterrupt(() => void server.close())
    await server.stdio({ stdout })
    return exitCodes.ok
  } finally {
    await server.close()
    await app.close({ graceMs })
    await store.close()
  }
}

/** Stdout carries the protocol and nothing else: what agents, tools and their packages print goes to stderr. */
function takeStdout(): Writable {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  return new Writable({ write: (chunk: Buffer, _, done) => void write(chunk, done) })
}
