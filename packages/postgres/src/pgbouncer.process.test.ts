import { execFile, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { storeSuite } from 'millrace/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PostgresServer } from '../../../test/postgres-server.ts'
import { postgresServer } from '../../../test/postgres-server.ts'
import { fixedPort } from '../../../test/survival/server-process.ts'
import { postgresStore } from './index.ts'

const program = '/usr/sbin/pgbouncer'
const isInstalled = await promisify(execFile)(program, ['--version']).then(
  () => true,
  () => Boolean(process.env.CI),
)

/** PgBouncer in transaction mode, in front of a database. Returns its address and how to stop it. */
async function pgbouncer(server: PostgresServer, name: string) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await fixedPort()
  const config = join(folder, 'pgbouncer.ini')
  await writeFile(join(folder, 'users.txt'), '"postgres" ""\n')
  await writeFile(
    config,
    `[databases]
${name} = host=127.0.0.1 port=${server.port} user=postgres dbname=${name}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 4
`,
  )
  const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const child = spawn(program, [config], { ...asNobody, stdio: 'ignore' })
  const canConnect = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
    })
  while (!(await canConnect())) await new Promise((resolve) => setTimeout(resolve, 20))
  return {
    url: `postgres://postgres@127.0.0.1:${port}/${name}`,
    async close() {
      child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

describe.skipIf(!isInstalled)('behind PgBouncer in transaction mode', () => {
  let server: PostgresServer
  let bouncer: { url: string; close(): Promise<void> }
  let direct = ''

  beforeAll(async () => {
    server = await postgresServer({ fsync: 'off' })
    direct = await server.database('pooled')
    bouncer = await pgbouncer(server, 'pooled')
  })
  afterAll(async () => {
    await bouncer.close()
    await server.close()
  })

  // Those that use transactions, many connections and notifications.
  const chosen =
    /one append writes|a key is one event|a reported change|two processes together|requests at the same moment|concurrently$/
  const cases = storeSuite({
    open: ({ name, now }) => postgresStore(bouncer.url, { schema: name, now, listenUrl: direct }),
  }).filter(({ name }) => chosen.test(name))
  for (const { name, run } of cases) it(name, run)

  it('changes are polled without a direct connection, and it says so', async () => {
    const warnings: { code?: string; message: string }[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const [store, other] = [1, 2].map(() => postgresStore(bouncer.url, { schema: 'polled' }))
    onTestFinished(async () => void (await Promise.all([store?.close(), other?.close()])))
    await store?.create({ id: 't', agent: 'a' })
    const heads: (number | undefined)[] = []
    let runnable = 0
    const watch = other?.watch({ changed: (_, head) => heads.push(head), runnable: () => runnable++ })
    watch?.follow('t')
    await expect.poll(() => warnings).toContainEqual(expect.objectContaining({ code: 'MILLRACE_POLLING' }))
    expect(warnings[0]?.message).toMatch(/polled.*listenUrl/)
    // The first poll has found what is there.
    await expect.poll(() => heads).toEqual([undefined])
    await store?.signal('t', 'key', { type: 'stop', reason: 'enough' })
    await expect.poll(() => heads).toContain(1)
    expect(runnable).toBeGreaterThan(0)
    await store?.delete('t')
    await expect.poll(() => heads.at(-1)).toBe(undefined)
    watch?.close()
  })
})
