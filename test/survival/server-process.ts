import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { AppOptions } from '../../packages/millrace/src/threads/index.ts'
import { bundled } from '../bundle.ts'

export interface ServerConfig
  extends Pick<AppOptions, 'leaseMs' | 'recoverMs' | 'flushMs' | 'maxLosses' | 'works'> {
  readonly port: number
  /** The SQLite file. */
  readonly file: string
  /** The address of the PostgreSQL database that is used instead of the file. */
  readonly postgres?: string
  /** The address of the queue, in Redis or PostgreSQL. */
  readonly queue?: string
  /** How far its clock is ahead. */
  readonly skewMs?: number
  /** Whether the store takes the time from this process instead of the database server. */
  readonly usesOwnTime?: boolean
  /** The address of the provider. */
  readonly provider: string
  /** The file that its tools append to. */
  readonly actions: string
}

/** A server in its own process, which can be killed and frozen. */
export interface ServerProcess {
  readonly pid: number
  /** Resolves when it is ready. Rejects if it exits before, unless by `kill()`. */
  readonly ready: Promise<void>
  readonly exited: Promise<{
    readonly code: number | null
    readonly signal: string | null
    /** Whether by `kill()`. */
    readonly killed: boolean
  }>
  /** Its output so far. */
  readonly stderr: () => string
  /** SIGKILL. Resolves when it has exited. */
  kill(): Promise<void>
  /** SIGTERM. Resolves with the exit code. */
  terminate(): Promise<number | null>
  freeze(): void
  thaw(): void
}

/** The server that most tests start. */
export const serverProgram = () => bundled(fileURLToPath(new URL('./serve.ts', import.meta.url)))

/** A program that takes its config from the command line, as `serve.ts` does. */
export function startServer(
  program: string,
  config: Pick<ServerConfig, 'port' | 'file' | 'provider' | 'skewMs'>,
): ServerProcess {
  const env = { ...process.env, CLOCK_SKEW_MS: `${config.skewMs ?? 0}` }
  const child: ChildProcess = spawn(process.execPath, [program, JSON.stringify(config)], {
    stdio: 'pipe',
    env,
  })
  const pid = child.pid as number
  let killed = false
  let stderr = ''
  child.stderr?.on('data', (data) => {
    stderr += data
  })
  // It may be killed during a write.
  child.stdin?.on('error', () => {})
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal, killed }))
  const reached = new Promise<void>((resolve) => child.stdout?.once('data', () => resolve()))
  const ready = Promise.race([
    reached,
    exited.then(({ code, signal }) => {
      if (!killed) throw new Error(`the server exited with ${signal ?? code} before it was ready: ${stderr}`)
    }),
  ])
  // Not every test waits for it.
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
 * A port that stays free while the server is down: below the ephemeral ports, which the system
 * assigns to outgoing connections.
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
  throw new Error('no free port between 20000 and 30000')
}
