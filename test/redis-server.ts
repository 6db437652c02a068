import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { fixedPort } from './survival/server-process.ts'

/** A real Redis server on loopback, which keeps everything in memory. */
export interface RedisServer {
  readonly port: number
  readonly address: string
  /** Empty, as after a crash without persistence. */
  start(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  /** Runs a command, such as `FLUSHALL`. */
  command(name: string, ...args: readonly string[]): Promise<unknown>
  /** Stops it and deletes its folder. */
  close(): Promise<void>
}

/** Whether the program is installed. In CI, test/system-packages.ts makes sure that it is. */
export const hasRedis: boolean = await promisify(execFile)('redis-server', ['--version']).then(
  () => true,
  () => Boolean(process.env.CI),
)

/** Starts a server in a folder of its own. */
export async function redisServer(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-redis-'))
  const port = await fixedPort()
  const options = { port: `${port}`, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no', ...settings }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  let child: ChildProcess | undefined
  let log = ''

  async function command(name: string, ...rest: readonly string[]) {
    const client = new Redis({ port, lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => {})
    try {
      await client.connect()
      return await client.call(name, ...rest)
    } finally {
      client.disconnect()
    }
  }

  async function start() {
    const started = spawn('redis-server', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    child = started
    for (const output of [started.stdout, started.stderr])
      output.on('data', (text) => {
        log = (log + text).slice(-10_000)
      })
    for (;;) {
      if (started.exitCode !== null) throw new Error(`Redis did not start: ${log}`)
      try {
        await command('PING')
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  async function kill() {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  await start()
  return {
    port,
    address: `redis://127.0.0.1:${port}`,
    start,
    kill,
    command,
    async close() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
