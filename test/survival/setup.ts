import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { providerSimulator } from '@millrace/simulator'
import { onTestFailed, onTestFinished } from 'vitest'
import { systemClock } from '../../packages/millrace/src/protocol/index.ts'
import type { Action } from './actions.ts'
import { readActions } from './actions.ts'
import type { Scenario } from './scenario.ts'
import { positionOf } from './scenario.ts'
import type { ServerConfig, ServerProcess } from './server-process.ts'
import { fixedPort, serverProgram, startServer } from './server-process.ts'

/** A server at a fixed address, in one process after the other. */
export interface Server {
  readonly url: string
  /** The current process. */
  readonly process: ServerProcess
  /** Starts the next process, with these changes to the config. */
  start(changes?: Partial<ServerConfig>): ServerProcess
}

/**
 * A provider, a database, a file with the actions of the tools, and servers. All of it stops with
 * the test.
 */
export interface Setup {
  readonly servers: readonly Server[]
  actions(): Action[]
  /** SQLite's integrity check: `ok`. */
  integrity(): unknown
}

/** The longest time the provider takes for a piece of an answer. */
const pieceMs = 5

export interface SetupOptions
  extends Pick<ServerConfig, 'leaseMs' | 'recoverMs' | 'maxLosses' | 'postgres' | 'queue'> {
  readonly scenario: Scenario
  /** What is special about each of the servers that share the database. Default: one server. */
  readonly servers?: readonly Pick<ServerConfig, 'works' | 'skewMs'>[]
}

export async function openSetup({ scenario, servers: kinds = [{}], ...app }: SetupOptions): Promise<Setup> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-survival-'))
  // Runs last, since these callbacks run in reverse order.
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [file, actions] = [join(folder, 'threads.db'), join(folder, 'actions.jsonl')]
  const clock = {
    ...systemClock,
    turn: () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * pieceMs)),
  }
  const bundle = await serverProgram()
  const provider = await providerSimulator((request) => scenario(positionOf(request)), {
    clock,
    deltaChars: [5, 9, 14],
  })
  const processes: ServerProcess[] = []
  const servers: Server[] = []
  let closed = false

  function server(port: number, kind: Partial<ServerConfig>): Server {
    const config = { port, file, actions, provider: provider.url, ...app, ...kind }
    const start = (changes: Partial<ServerConfig> = {}) => {
      if (closed) throw new Error('the test has ended')
      const started = startServer(bundle, { ...config, ...changes })
      processes.push(started)
      return started
    }
    let latest = start()
    return {
      url: `http://127.0.0.1:${port}`,
      get process() {
        return latest
      },
      start(changes) {
        latest = start(changes)
        return latest
      },
    }
  }

  // Also after a timeout. SIGKILL also ends frozen processes.
  onTestFinished(async () => {
    closed = true
    await Promise.all(processes.map((one) => one.kill()))
    await provider.close()
  })
  onTestFailed(() => {
    for (const { pid, stderr } of processes) if (stderr()) process.stderr.write(`${pid}: ${stderr()}`)
  })

  for (const kind of kinds) servers.push(server(await fixedPort(), kind))
  await Promise.all(servers.map((server) => server.process.ready))

  return {
    servers,
    actions: () => readActions(actions),
    integrity() {
      const database = new DatabaseSync(file)
      try {
        return database.prepare('PRAGMA integrity_check').get()?.integrity_check
      } finally {
        database.close()
      }
    },
  }
}
