import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { afterFile } from '../../../../test/clean-up.ts'
import type { PostgresServer } from '../../../../test/postgres-server.ts'
import { postgresServer } from '../../../../test/postgres-server.ts'
import { isWhole, sized } from '../../../../test/size.ts'
import { postgresStore } from '../../../postgres/src/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { Entry } from '../protocol/index.ts'
import type { ThreadStore } from '../threads/index.ts'
import type { Home } from './cli.test-kit.ts'
import { hasTerminals, homeWith, linesOf, makeHome, openTerminal } from './cli.test-kit.ts'
import { toolsFile } from './tools.test-kit.ts'

let server: Promise<PostgresServer> | undefined

async function database(): Promise<string> {
  if (!server) {
    server = postgresServer()
    afterFile(async () => (await server)?.close())
  }
  return (await server).database(`db_${crypto.randomUUID().replaceAll('-', '')}`)
}

/** A store that commands can name with `address`, opened here as well. */
interface Opened {
  readonly address: string
  readonly store: ThreadStore
}

function closing(opened: Opened): Opened {
  onTestFinished(() => opened.store.close())
  return opened
}

const kinds: Record<string, (home: Home, name: string) => Promise<Opened>> = {
  SQLite: async ({ folder }, name) =>
    closing({ address: `sqlite:${name}.db`, store: sqliteStore(join(folder, `${name}.db`)) }),
  async PostgreSQL() {
    const address = await database()
    return closing({ address, store: postgresStore(address) })
  },
}

const lastAt = 1_800_000_000_000

/** A log of a question and an answer in joined deltas. */
function talk(id: string, words: number): Entry[] {
  const message = { role: 'user', content: `Question in ${id}` } as const
  const deltas = Array.from({ length: words }, (_, index) => ({
    seq: index + 2,
    at: lastAt + index,
    event: { type: 'text', text: `word\0${index} ` } as const,
  }))
  return [{ seq: 1, at: lastAt, event: { type: 'input', message, mode: 'queue' } }, ...deltas]
}

async function fill(store: ThreadStore, count: number, words = 3) {
  for (let index = 0; index < count; index++) {
    const id = `t${index}`
    await store.create(
      { id, agent: 'desk', user: 'ada', metadata: { index } },
      { entries: talk(id, words), keys: new Map([[`key ${id}`, 1]]), createdAt: lastAt - index },
    )
  }
}

async function contentOf(store: ThreadStore) {
  const { threads } = await store.list({ limit: 10_000 })
  return Promise.all(
    threads.map(async ({ status, ...info }) => ({
      ...info,
      log: await store.read(info.id, { after: 0, limit: 10_000, split: true }),
      keys: [...(await store.keys(info.id))],
    })),
  )
}

/** Titles are added by the move, since these threads were created without. */
const untitled = (threads: Awaited<ReturnType<typeof contentOf>>) => threads.map(({ title, ...rest }) => rest)

describe.each([
  ['SQLite', 'SQLite'],
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
] as const)('millrace migrate from %s to %s', (from, to) => {
  async function stores() {
    const home = makeHome()
    const source = await kinds[from]?.(home, 'source')
    const target = await kinds[to]?.(home, 'target')
    return { home, source: source as Opened, target: target as Opened }
  }

  const args = ({ source, target }: { source: Opened; target: Opened }) =>
    ['migrate', '--from', source.address, '--to', target.address] as const

  test('copies threads exactly, and skips those that are already there', async () => {
    const { home, source, target } = await stores()
    await fill(source.store, 5, 50)
    await source.store.packDeltas('t1', 40)
    const entry = { id: 't2', seq: 10 }
    await source.store.fork('t2', 10, { id: 'forked', agent: 'desk', forkedFrom: entry, user: 'ada' })
    await source.store.delete('t2')
    expect(await home.run(args({ source, target }))).toEqual({
      exit: 0,
      stdout: '',
      stderr: 'copied 5 threads\n',
    })
    expect(untitled(await contentOf(target.store))).toEqual(untitled(await contentOf(source.store)))
    expect(await target.store.get('t0')).toMatchObject({ title: 'Question in t0', status: 'queued' })
    await source.store.create({ id: 'late', agent: 'desk' })
    const { exit, stdout, stderr } = await home.run([...args({ source, target }), '--json'])
    expect(linesOf(stdout)).toEqual([{ v: 1, result: { copied: 1, present: 5, conflicts: [] } }])
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: 'copied 1 thread, 5 were already there\n' })
  })

  test.runIf(isWhole || to === 'PostgreSQL')('can be killed and repeated', async () => {
    const { home, source, target } = await stores()
    const count = Math.max(200, sized(2000))
    await fill(source.store, count)
    const counted = async () => (await target.store.list({ limit: count })).threads.length
    const killed = home.start(args({ source, target }))
    await expect.poll(counted, { interval: 1 }).toBeGreaterThan(0)
    killed.child.kill('SIGKILL')
    expect(await killed.ended).toMatchObject({ exit: 'SIGKILL' })
    const done = await counted()
    expect(done).toBeLessThan(count)
    expect(await home.run(args({ source, target }))).toMatchObject({
      exit: 0,
      stderr: expect.stringMatching(/^copied \d+ threads, \d+ (was|were) already there\n$/),
    })
    expect(untitled(await contentOf(target.store))).toEqual(untitled(await contentOf(source.store)))
  })

  test('reports a thread with the same id and another log, and does not touch it', async () => {
    const { home, source, target } = await stores()
    await fill(source.store, 2)
    await target.store.create({ id: 't1', agent: 'desk' }, { entries: talk('other', 2) })
    const before = await contentOf(target.store)
    expect(await home.run(args({ source, target }))).toEqual({
      exit: 1,
      stdout: '',
      stderr:
        "thread 't1' was not copied: the target has another thread with this id. Delete one of the two and run this again\ncopied 1 thread, 1 not copied\n",
    })
    expect(await contentOf(target.store)).toEqual(expect.arrayContaining(before))
  })

  test('refuses while a process works on the source', async () => {
    const { home, source, target } = await stores()
    await fill(source.store, 2)
    await source.store.claim('t1', 'worker', 60_000)
    expect(await home.run(args({ source, target }))).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("a process works on thread 't1' of the source: end all processes"),
    })
    expect(await contentOf(target.store)).toEqual([])
  })
})

test('Ctrl-C ends millrace migrate after the thread it copies', async () => {
  const home = makeHome()
  const [source, target] = [sqliteStore(join(home.folder, 'a.db')), sqliteStore(join(home.folder, 'b.db'))]
  onTestFinished(async () => {
    await source.close()
    await target.close()
  })
  await fill(source, 300)
  const moving = home.start(['migrate', '--from', 'a.db', '--to', 'b.db'])
  await expect.poll(async () => (await target.list({ limit: 1 })).threads, { interval: 1 }).toHaveLength(1)
  moving.child.kill('SIGINT')
  expect(await moving.ended).toMatchObject({
    exit: 130,
    stderr: expect.stringMatching(/^copied \d+ threads?\ninterrupted: run the same command again/),
  })
})

test.runIf(hasTerminals)('millrace migrate shows its progress in a terminal', async () => {
  const home = makeHome()
  const source = sqliteStore(join(home.folder, 'a.db'))
  await fill(source, 3)
  await source.close()
  const terminal = openTerminal(home, ['migrate', '--from', 'a.db', '--to', 'b.db'])
  await terminal.see('copying thread 3 of 3')
  await terminal.see('copied 3 threads')
  expect(await terminal.ended).toMatchObject({ exit: 0 })
})

test('an approval that waits can be given after the move', async () => {
  const home = await homeWith([[{ call: 'refund', input: { id: 'A1' } }], 'Refunded.'])
  const tools = ['--tools', home.write('tools.ts', toolsFile)]
  const to = await database()
  expect(
    await home.run(['refund A1', '--thread', 'mine', '--new', '--data', 'a.db', ...tools]),
  ).toMatchObject({ exit: 6 })
  expect(await home.run(['migrate', '--from', 'a.db', '--to', to])).toMatchObject({ exit: 0 })
  expect(await home.run(['approve', 'mine', '--store', to, ...tools])).toMatchObject({
    exit: 0,
    stdout: 'Refunded.\n',
  })
})

test.each([
  [[], /millrace migrate needs --from and --to/],
  [['--from', 'a.db', '--to', './a.db'], /--from and --to are the same store/],
  [['--from', 'nope.db', '--to', 'b.db'], /no threads yet at .*nope\.db/],
  [
    ['--from', 'a.db', '--to', 'redis://x'],
    /--to must be postgres:\/\/…, sqlite:FILE or the path of a file, not redis:/,
  ],
])('millrace migrate %j is rejected', async (args, message) => {
  const { exit, stderr } = await makeHome().run(['migrate', ...args])
  expect(stderr).toMatch(message)
  expect(exit).toBe(2)
})
