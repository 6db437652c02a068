// Run as a program: `node --conditions=@millrace/source remote-caller.test-kit.ts <protocol> <file> <url>
// <agent>`. A thread whose agent calls an agent of another server. Prints a line when the call has a task.
import type { Entry, Tool, Toolbox } from 'millrace'
import { agent, millrace } from 'millrace'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { a2aAgent } from './a2a.ts'
import { mcp } from './mcp.ts'

interface Remote {
  /** The agents of a server as tools. */
  readonly connect: (url: string, name: string) => Promise<Toolbox & Partial<AsyncDisposable>>
  /** The event by which the log has the id of the task. */
  readonly taskEvent: string
}

export const protocols: Readonly<Record<string, Remote>> = {
  MCP: {
    connect: (url) => mcp({ url: `${url}/mcp`, timeoutMs: 20_000 }),
    taskEvent: 'tool-progress',
  },
  A2A: {
    connect: async (url, name) => ({ tools: [await a2aAgent(`${url}/a2a/${name}`)] as Tool[] }),
    taskEvent: 'run-start',
  },
}

export async function callerApp([protocol = '', file = '', url = '', name = '']: readonly string[]) {
  const remote = protocols[protocol]
  if (!remote) throw new Error(`there is no protocol ${protocol}`)
  const box = await remote.connect(url, name)
  const store = sqliteStore(file)
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: name, input: { prompt: 'Go.' }, id: 'call_1' }],
  )
  const app = millrace({
    agents: agent({ model, tools: [box] }),
    store,
    flushMs: 0,
    leaseMs: 800,
    recoverMs: 100,
  })
  return {
    thread: app.thread('t1'),
    hasTask: ({ event }: Entry) => event.type === 'tool-progress' && event.event?.type === remote.taskEvent,
    async close() {
      await app.close({ graceMs: 0 })
      await store.close()
      await box[Symbol.asyncDispose]?.()
    },
  }
}

if (import.meta.filename === process.argv[1]) {
  const { thread, hasTask } = await callerApp(process.argv.slice(2))
  await thread.send('Go.')
  for await (const entry of thread.follow()) if (hasTask(entry)) process.stdout.write('task\n')
}
