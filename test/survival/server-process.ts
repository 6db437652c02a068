import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { AppOptions } from '../../packages/millrace/src/threads/index.ts'
import { bundled } from '../bundle.ts'

export interface ServerConfig extends Pick<AppOptions, 'leaseMs' | 'recoverMs' | 'flushMs' | 'maxLosses'> {
  readonly port: number
  /** The SQLite file. */
  readonly file: string
  /** The address of the provider. */
  readonly provider: string
  /** The file that its tools write to. */
  readonly deeds: string
}

/** A server in a process of its own, which can be killed and frozen. */
export interface ServerProcess {
  readonly pid: number
  /** Resolves when it can be reached. Rejects if it ends before, unless it was killed by whoever started it. */
  readonly ready: Promise<void>
  readonly exited: Promise<{
    readonly code: number | null
    readonly signal: string | null
    /** By `kill()`, that is. */
    readonly killed: boolean
  }>
  /** What it had to say. */
  readonly stderr: () => string
  /** kill -9. Resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM: it ends by itself. */
  terminate(): Promise<number | null>
  freeze(): void
  thaw(): void
}

/** The server that most tests start. */
export const serverProgram = () => bundled(fileURLToPath(new URL('./serve.ts', import.meta.url)))

/** A program that takes its config from the command line, as `serve.ts` does. */
export function startServer(
  program: string,
  config: Pick<ServerConfig, 'port' | 'file' | 'provider'>,
): ServerProcess {
  const child: ChildProcess = spawn(process.execPath, [program, JSON.stringify(config)], { stdio: 'pipe' })
  const pid = child.pid as number
  let killed = false
  let stderr = ''
  child.stderr?.on('data', (data) => {
    stderr += data
  })
  // Whoever kills it may be writing to it.
  child.stdin?.on('error', () => {})
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal, killed }))
  const reached = new Promise<void>((resolve) => child.stdout?.once('data', () => resolve()))
  const ready = Promise.race([
    reached,
    exited.then(({ code, signal }) => {
      if (!killed)
        throw new Error(`the server ended with ${signal ?? code} before it could be reached: ${stderr}`)
    }),
  ])
  // Not everybody waits for it.
  ready.catch(() => {})

  const signal = (name: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT') => void child.kill(name)
  return {
    pid,
    ready,
    exited,
    stderr: () => stderr,
    async kill() {
      killed = true
      signal('SIGKILL')
      await exited
    },
    async terminate() {
      signal('SIGTERM')
      return (await exited).code
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  }
}

/**
 * A port that stays the server's own while it is down: below those that the system gives to whoever opens a connection, one of
 * which could otherwise take it.
 */
export async function fixedPort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    await new Promise((resolve) => probe.close(resolve))
    return port
  }
  throw new Error('there is no free port between 20000 and 30000')
}
