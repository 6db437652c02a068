import { describe, expect, onTestFinished, test } from 'vitest'
import { afterFile } from '../../../../test/clean-up.ts'
import { postgresServer } from '../../../../test/postgres-server.ts'
import { hasRedis, redisServer } from '../../../../test/redis-server.ts'
import { client } from '../client/index.ts'
import type { Home } from './cli.test-kit.ts'
import { built, makeHome } from './cli.test-kit.ts'

/** An agent that answers with its process id. */
const agentsFile = `
  import { agent } from ${JSON.stringify(built('index'))}
  import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
  export default agent({ name: 'who', model: scriptedModel(() => String(process.pid)) })
`

function homeWithAgent(env: NodeJS.ProcessEnv = {}): Home {
  const home = makeHome(env)
  home.write('agents.ts', agentsFile)
  return home
}

async function serving(home: Home, args: readonly string[]) {
  const server = home.start(['serve', 'agents.ts', '--port', '0', ...args])
  onTestFinished(async () => {
    server.child.kill('SIGTERM')
    await server.ended
  })
  await server.see(/threads are stored in/)
  const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
  return { ...server, url, threads: client(url) }
}

/** Sends a message to a new thread. Returns the thread, and the process that answered. */
async function ask({ threads }: { threads: ReturnType<typeof client> }) {
  const thread = await threads.create()
  const seq = await thread.send('hi')
  let text = ''
  for await (const { event } of thread.follow({ until: seq })) if (event.type === 'text') text += event.text
  return { thread, pid: Number(text) }
}

describe('millrace serve --role', () => {
  test('web leaves runs to workers, and says so', async () => {
    const home = homeWithAgent()
    const web = await serving(home, ['--role', 'web'])
    expect(web.stderr()).toContain('this process runs no agents: start others with --role worker')
    const thread = await web.threads.create()
    const seq = await thread.send('hi')
    const worker = await serving(home, ['--role', 'worker'])
    for await (const _ of thread.follow({ until: seq }));
    expect((await thread.state()).messages.at(-1)).toMatchObject({
      content: [{ type: 'text', text: String(worker.child.pid) }],
    })
    expect(await ask(web)).toMatchObject({ pid: worker.child.pid })
  })

  test('worker answers only health checks, and needs no token for that', async () => {
    const { url, stderr } = await serving(homeWithAgent(), [
      '--role',
      'worker',
      '--host',
      '0.0.0.0',
      '--voice',
    ])
    const status = async (path: string) =>
      (await fetch(`${url.replace('0.0.0.0', '127.0.0.1')}${path}`)).status
    expect(await Promise.all(['/healthz', '/readyz', '/', '/threads', '/agents'].map(status))).toEqual([
      200, 200, 404, 404, 404,
    ])
    expect(stderr()).toMatch(/^this is a worker: it runs agents, and answers only health checks/)
    expect(stderr()).not.toContain('no token set')
  })
})

describe('millrace serve over PostgreSQL', () => {
  const postgres = postgresServer()
  afterFile(async () => (await postgres).close())
  const database = async () => (await postgres).database(`db_${crypto.randomUUID().replaceAll('-', '')}`)

  test('takes the store from the environment, and its processes share it', async () => {
    const home = homeWithAgent({ MILLRACE_STORE: await database(), MILLRACE_PROCESSES: '2' })
    const server = await serving(home, [])
    expect(server.stderr()).toMatch(/threads are stored in postgres:\/\/postgres@127\.0\.0\.1:\d+\/db_/)
    const answered = new Set<number>()
    await expect
      .poll(async () => {
        for (const { pid } of await Promise.all([ask(server), ask(server)])) answered.add(pid)
        return answered.size
      })
      .toBe(2)
  })

  async function postgresQueue() {
    const address = await database()
    const schema = "SELECT FROM pg_namespace WHERE nspname = 'millrace_queue'"
    return { address, isUsed: async () => (await (await postgres).query(address, schema)).length > 0 }
  }

  async function redisQueue() {
    const { address, command, close } = await redisServer()
    onTestFinished(close)
    return { address, isUsed: async () => Number(await command('DBSIZE')) > 0 }
  }

  test.for([
    ['PostgreSQL', true, postgresQueue],
    ['Redis', hasRedis, redisQueue],
  ] as const)('passes work to a worker through %s', async ([, isInstalled, startQueue], { skip }) => {
    skip(!isInstalled, 'redis-server is not installed')
    const queue = await startQueue()
    expect(await queue.isUsed()).toBe(false)
    const home = homeWithAgent({ MILLRACE_STORE: await database(), MILLRACE_QUEUE: queue.address })
    const web = await serving(home, ['--role', 'web'])
    const worker = await serving(home, ['--role', 'worker'])
    const { thread, pid } = await ask(web)
    expect(pid).toBe(worker.child.pid)
    expect(await queue.isUsed()).toBe(true)
    // What the worker has recorded is in the database, where the other process finds it.
    const { run } = await thread.state()
    await expect.poll(() => thread.exchanges({ run: run?.id ?? '' })).toHaveLength(1)
  })

  test('a server that cannot be reached is reported before it listens', async () => {
    const home = homeWithAgent()
    const address = 'postgres://ada:s3cret@127.0.0.1:1/app'
    const { exit, stdout, stderr } = await home.run(['serve', 'agents.ts', '--store', address])
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
    expect(stderr).toMatch(
      /^millrace: PostgreSQL at 127\.0\.0\.1:1\/app cannot be reached \(.*ECONNREFUSED.*\): check that it is running.*\n$/,
    )
    expect(stderr).not.toContain('s3cret')
  })

  test('a queue without PostgreSQL is rejected', async () => {
    expect(await homeWithAgent().run(['serve', 'agents.ts', '--queue', 'redis://localhost'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('--queue needs a PostgreSQL store'),
    })
  })
})
