import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { providerSimulator } from '@millrace/simulator'
import { onTestFailed, onTestFinished } from 'vitest'
import { systemClock } from '../../packages/millrace/src/protocol/index.ts'
import type { Deed } from './deeds.ts'
import { readDeeds } from './deeds.ts'
import type { Plot } from './plot.ts'
import { sceneOf } from './plot.ts'
import type { ServerConfig, ServerProcess } from './server-process.ts'
import { fixedPort, serverProgram, startServer } from './server-process.ts'

/** A place where a server runs, one process after the other, always at the same address. */
export interface Post {
  readonly url: string
  /** The latest. */
  readonly process: ServerProcess
  start(): ServerProcess
}

/** A provider, a file with threads, a file with what the tools did, and servers over them. It ends with the test, however that does. */
export interface World {
  readonly posts: readonly Post[]
  deeds(): Deed[]
  /** What SQLite says of the file: `ok`. */
  integrity(): unknown
}

/** How long the provider takes over each piece of an answer, at most. */
const pieceMs = 5

export interface WorldOptions extends Pick<ServerConfig, 'leaseMs' | 'recoverMs' | 'maxLosses'> {
  readonly plot: Plot
  /** How many servers share the file. */
  readonly posts?: number
}

export async function openWorld({ plot, posts: count = 1, ...app }: WorldOptions): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-survival-'))
  // Last of all, since what ends with a test ends in reverse order.
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [file, deeds] = [join(folder, 'threads.db'), join(folder, 'deeds.jsonl')]
  const clock = {
    ...systemClock,
    turn: () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * pieceMs)),
  }
  const bundle = await serverProgram()
  const provider = await providerSimulator((request) => plot(sceneOf(request)), {
    clock,
    deltaChars: [5, 9, 14],
  })
  const processes: ServerProcess[] = []
  const posts: Post[] = []
  let closed = false

  function post(port: number): Post {
    const config = { port, file, deeds, provider: provider.url, ...app }
    const start = () => {
      if (closed) throw new Error('the world is closed')
      const started = startServer(bundle, config)
      processes.push(started)
      return started
    }
    let latest = start()
    return {
      url: `http://127.0.0.1:${port}`,
      get process() {
        return latest
      },
      start() {
        latest = start()
        return latest
      },
    }
  }

  // Also when the test runs out of time. Those that are frozen die as well.
  onTestFinished(async () => {
    closed = true
    await Promise.all(processes.map((one) => one.kill()))
    await provider.close()
  })
  onTestFailed(() => {
    for (const { pid, stderr } of processes) if (stderr()) process.stderr.write(`${pid}: ${stderr()}`)
  })

  for (let index = 0; index < count; index++) {
    const opened = post(await fixedPort())
    posts.push(opened)
    await opened.process.ready
  }

  return {
    posts,
    deeds: () => readDeeds(deeds),
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
