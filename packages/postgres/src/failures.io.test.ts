import type { ThreadEvent } from 'millrace'
import type { Hold, Lease, ThreadStore } from 'millrace/store'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PostgresServer } from '../../../test/postgres-server.ts'
import { postgresServer } from '../../../test/postgres-server.ts'
import type { PostgresStoreOptions } from './index.ts'
import { postgresStore } from './index.ts'
import { losingProxy } from './losing-proxy.test-kit.ts'
import { databaseStore } from './store/store.ts'

const leaseMs = 60_000
const input = (content: string): ThreadEvent => ({
  type: 'input',
  mode: 'queue',
  message: { role: 'user', content },
})
const word = (text: string): ThreadEvent => ({ type: 'text', text })
const paid: ThreadEvent = {
  type: 'round-end',
  round: 1,
  model: 'm',
  finish: 'stop',
  usage: { inputTokens: 1 },
  cost: { usd: 1, prices: 'custom' },
}
/** A request that costs a dollar, if the agent may spend 40 a day. */
const holdOf = (id: number): Hold => ({
  id: `${id}`,
  least: { usd: 1 },
  most: { usd: 1 },
  limits: [{ scope: 'agent', name: 'a', limits: { usd: 40 } }],
})

let server: PostgresServer
let url = ''
let schemas = 0

beforeAll(async () => {
  server = await postgresServer()
  url = await server.database('failures')
})
afterAll(() => server.close())

const newSchema = () => `s${++schemas}`

function open(address: string, options: PostgresStoreOptions = {}): ThreadStore {
  const store = postgresStore(address, options)
  onTestFinished(() => store.close())
  return store
}

async function client() {
  const connection = new pg.Client(url)
  connection.on('error', () => {})
  await connection.connect()
  onTestFinished(() => connection.end().catch(() => {}))
  return connection
}

async function claimed(store: ThreadStore, id: string) {
  await store.create({ id, agent: 'a' })
  await store.signal(id, 'first', input('hello'))
  const claim = await store.claim(id, `worker of ${id}`, leaseMs)
  if (!claim) throw new Error(`${id} was not claimed`)
  return claim.lease
}

async function textOf(store: ThreadStore, id: string) {
  const entries = await store.read(id, { after: 0, limit: 10_000, split: true })
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
  return entries.map(({ event }) => (event.type === 'text' ? event.text : '')).join('')
}

describe('answers that are lost', () => {
  it('nothing is written twice, and nothing fails', async () => {
    const proxy = await losingProxy(url)
    const schema = newSchema()
    const store = open(proxy.url, { schema })
    const lease = await claimed(store, 't')
    // Pseudorandom, so that no kind of answer is always lost.
    let random = 1
    proxy.loseIf(() => {
      random = (random * 16_807) % 2_147_483_647
      return random % 8 === 0
    })
    for (let index = 0; index < 40; index++) {
      expect((await store.hold(lease, holdOf(index))).type).toBe('held')
      const events = [word(`${index} `), paid]
      const [result] = await store.append([{ lease, number: index + 1, events, freed: [`${index}`] }])
      expect(result).toMatchObject([{ seq: 2 * index + 2 }, { seq: 2 * index + 3 }])
      expect(await store.signal('s', `key ${index}`, input('x')).catch(({ code }) => code)).toBe('not_found')
    }
    for (let index = 0; index < 20; index++) {
      expect(await store.create({ id: `new ${index}`, agent: 'a', caller: 'ada' })).toBe(true)
      await store.signal(`new ${index}`, 'key', input('x'))
      const claim = await store.claim(`new ${index}`, `owner ${index}`, leaseMs, { perCaller: 100 })
      expect(claim?.losses).toBe(0)
      if (claim) expect(await store.release(claim.lease, { head: 1, status: 'idle' })).toBe('released')
    }
    proxy.loseIf(() => false)
    expect(proxy.lost()).toBeGreaterThan(10)
    expect(await textOf(store, 't')).toBe(Array.from({ length: 40 }, (_, index) => `${index} `).join(''))
    for (let index = 0; index < 20; index++)
      expect((await store.get(`new ${index}`))?.head, `new ${index}`).toBe(1)
    expect((await store.usage('ada')).waiting).toBe(20)
    expect(await store.spending({ by: [] })).toMatchObject([{ usd: 40, rounds: 40 }])
    expect(await store.hold(lease, holdOf(40))).toMatchObject({ type: 'reached', limit: { spent: 40 } })
  })
})

describe('a thread that is locked', () => {
  it('is busy, and the others are written', async () => {
    const schema = newSchema()
    const store = open(url, { schema })
    const leases = [await claimed(store, 't'), await claimed(store, 'u')]
    const other = await client()
    await other.query('BEGIN')
    await other.query(`SELECT 1 FROM ${schema}.heads WHERE id = 't' FOR UPDATE`)
    const batches = leases.map((lease) => ({ lease, number: 1, events: [word('hi')] }))
    expect(await store.append(batches)).toMatchObject(['busy', [{ seq: 2 }]])
    await other.query('COMMIT')
    expect(await store.append(batches)).toMatchObject([[{ seq: 2 }], [{ seq: 2 }]])
    expect(await textOf(store, 't')).toBe('hi')
    expect(await textOf(store, 'u')).toBe('hi')
  })
})

describe('a server that is killed', () => {
  it('keeps everything, and the store continues', async () => {
    const schema = newSchema()
    const store = open(url, { schema, retryMs: 30_000 })
    let missed = 0
    const watch = store.watch({ missed: () => missed++ })
    const lease = await claimed(store, 't')
    await expect.poll(() => missed).toBe(1)
    let words = 0
    let isDone = false
    async function write() {
      while (!isDone) {
        const number = words + 1
        await store.append([{ lease, number, events: [word(`${number} `)] }])
        words = number
      }
    }
    const writing = write()
    for (let round = 0; round < 3; round++) {
      const before = words
      await expect.poll(() => words).toBeGreaterThan(before + 10)
      await server.stop('immediate')
      await server.start()
    }
    const before = words
    await expect.poll(() => words).toBeGreaterThan(before + 10)
    isDone = true
    await writing
    expect(await textOf(store, 't')).toBe(
      Array.from({ length: words }, (_, index) => `${index + 1} `).join(''),
    )
    // It listens again, and says that it may have missed something.
    await expect.poll(() => missed).toBeGreaterThan(1)
    watch.close()
  })
})

describe('a listening connection that is lost', () => {
  it('is replaced, and the watcher is notified', async () => {
    const schema = newSchema()
    const store = open(url, { schema })
    const other = open(url, { schema })
    await store.create({ id: 't', agent: 'a' })
    let missed = 0
    const heads: (number | undefined)[] = []
    const watch = other.watch({ changed: (_, head) => heads.push(head), missed: () => missed++ })
    watch.follow('t')
    await expect.poll(() => missed).toBe(1)
    const admin = await client()
    const ended = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'failures' AND query LIKE 'LISTEN%'`,
    )
    expect(ended.rowCount).toBeGreaterThan(0)
    await expect.poll(() => missed).toBe(2)
    await store.signal('t', 'key', input('hello'))
    await expect.poll(() => heads).toContain(1)
    watch.close()
  })
})

describe('hot rows', () => {
  it('appending, signaling and renewing change no index', async () => {
    const schema = newSchema()
    const first = open(url, { schema })
    const lease = await claimed(first, 't')
    // The server counts what a connection has done when it is closed.
    await first.close()
    const admin = await client()
    const updates = async () => {
      const { rows } = await admin.query(
        `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'heads'`,
        [schema],
      )
      return rows[0] as { all: number; hot: number }
    }
    await expect.poll(async () => (await updates()).all).toBe(2)
    const before = await updates()
    const store = open(url, { schema })
    for (let number = 1; number <= 50; number++) {
      await store.append([{ lease, number, events: [word('x')] }])
      await store.signal('t', `key ${number}`, input('x'))
      await store.renew([lease], leaseMs)
    }
    await store.close()
    await expect.poll(async () => (await updates()).all - before.all).toBe(150)
    expect((await updates()).hot - before.hot).toBe(150)
  })
})

describe('what cannot work', () => {
  const failing: Record<string, { at: () => string | Promise<string>; says: RegExp }> = {
    'no server': {
      at: () => 'postgres://u:secret@127.0.0.1:1/x',
      says: /127\.0\.0\.1:1\/x cannot be reached.*running/,
    },
    'no such database': {
      at: () => url.replace(/failures$/, 'nothing'),
      says: /"nothing" does not exist.*Create the database/,
    },
    'no such user': {
      at: () => url.replace('postgres@', 'stranger:secret@'),
      says: /role "stranger" does not exist.*user and the password/,
    },
    'no privileges': {
      async at() {
        const admin = await client()
        await admin.query('CREATE ROLE guest LOGIN')
        return url.replace('postgres@', 'guest:secret@')
      },
      says: /permission denied.*CREATE on the database/,
    },
  }
  for (const [name, { at, says }] of Object.entries(failing))
    it(`${name}: says what to do, without the password`, async () => {
      const store = open(await at(), { retryMs: 100, schema: newSchema() })
      const error = await store.get('t').catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'store_error', message: expect.stringMatching(says) })
      expect(error.message).not.toContain('secret')
    })

  it('a bad address', () => {
    for (const bad of ['localhost', 'mysql://x', 'postgres://', 5, undefined])
      expect(() => postgresStore(bad as string), String(bad)).toThrow(/must look like postgres:\/\//)
    expect(() => postgresStore(url, { conections: 3 } as PostgresStoreOptions)).toThrow(/connections/)
  })

  it('a server that never answers', async () => {
    const { createServer } = await import('node:net')
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as { port: number }
    const store = open(`postgres://u@127.0.0.1:${port}/x`, { timeoutMs: 50, retryMs: 100 })
    await expect(store.get('t')).rejects.toThrow(/cannot be reached/)
  })
})

describe('a store that cannot send notifications for a while', () => {
  it('listens again, and does not poll', async () => {
    const warnings: Error[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const proxy = await losingProxy(url)
    const schema = newSchema()
    const other = open(url, { schema })
    await other.create({ id: 't', agent: 'a' })
    const store = open(proxy.url, { schema, listenUrl: url, retryMs: 20 })
    proxy.loseIf(() => true)
    let missed = 0
    const heads: (number | undefined)[] = []
    const watch = store.watch({ changed: (_, head) => heads.push(head), missed: () => missed++ })
    watch.follow('t')
    await expect.poll(() => missed).toBeGreaterThan(1)
    proxy.loseIf(() => false)
    // It may not listen again yet.
    const signaled = async () => {
      await other.signal('t', crypto.randomUUID(), input('hello'))
      return heads.length
    }
    await expect.poll(signaled).toBeGreaterThan(0)
    expect(warnings).toEqual([])
    watch.close()
  })
})

describe('a server that may lose commits', () => {
  it('causes a warning', async () => {
    const warnings: string[] = []
    const warned = (warning: Error & { code?: string }) => warnings.push(`${warning.code} ${warning.message}`)
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const schema = newSchema()
    await open(`${url}?options=-csynchronous_commit%3Doff`, { schema }).get('t')
    await expect.poll(() => warnings).toEqual([expect.stringMatching(/^MILLRACE_NOT_DURABLE .*set it to on/)])
    await open(url, { schema }).get('t')
    expect(warnings).toHaveLength(1)
  })
})

describe('the tables', () => {
  it('are created once, when several processes start at the same time', async () => {
    const schema = newSchema()
    const stores = Array.from({ length: 6 }, () => open(url, { schema }))
    const created = await Promise.all(stores.map((store) => store.create({ id: 't', agent: 'a' })))
    expect(created.filter(Boolean)).toHaveLength(1)
    const admin = await client()
    const { rows } = await admin.query(`SELECT * FROM ${schema}.versions`)
    expect(rows).toEqual([{ version: 4, oldest: 1 }])
  })

  it('of the first version get indexes and tables, and the first version can still use them', async () => {
    const schema = newSchema()
    const first = open(url, { schema })
    await first.create({ id: 't', agent: 'a' })
    await first.signal('t', 'key', { type: 'stop', reason: 'enough' })
    const admin = await client()
    await admin.query(`DROP INDEX ${schema}.signals_key; DROP INDEX ${schema}.heads_n`)
    await admin.query(
      `DROP TABLE ${schema}.spending; DROP TABLE ${schema}.totals; DROP TABLE ${schema}.holds`,
    )
    await admin.query(
      `DROP TABLE ${schema}.texts; DROP TABLE ${schema}.tools;
       ALTER TABLE ${schema}.threads DROP COLUMN outcome, DROP COLUMN error, DROP COLUMN nanos`,
    )
    await admin.query(`UPDATE ${schema}.versions SET version = 1`)
    const current = open(url, { schema })
    expect(await current.findKey('key', 9)).toEqual([{ threadId: 't', seq: 1 }])
    expect(await current.spending({ by: ['day'] })).toEqual([])
    expect(await current.get('t')).not.toHaveProperty('knownUsd')
    const claim = await current.claim('t', 'worker', 5000)
    const texts = [{ seq: 1, text: 'Enough', search: 'ENOUGH' }]
    const facts = { outcome: 'completed', nanos: 5e8, tools: ['look'], texts } as const
    await current.release(claim?.lease as Lease, { head: 1, status: 'idle', facts })
    expect((await current.list({ limit: 9, search: ['ENOUGH'], tool: 'look' })).threads).toMatchObject([
      { id: 't', outcome: 'completed', knownUsd: 0.5, match: { seq: 1, text: 'Enough' } },
    ])
    const { rows } = await admin.query(`SELECT * FROM ${schema}.versions`)
    expect(rows).toEqual([{ version: 4, oldest: 1 }])
    const { rows: indexes } = await admin.query(
      `SELECT indexname FROM pg_indexes WHERE schemaname = $1 AND indexname IN ('signals_key', 'heads_n')`,
      [schema],
    )
    expect(indexes).toHaveLength(2)
    expect(await first.get('t')).toMatchObject({ id: 't', head: 1 })
  })

  it('lose messages and tools with a thread that a process of an older version removes', async () => {
    const schema = newSchema()
    const store = open(url, { schema })
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', 'key', { type: 'stop', reason: 'enough' })
    const claim = await store.claim('t', 'worker', 5000)
    const texts = [{ seq: 1, text: 'secret', search: 'SECRET' }]
    await store.saveFacts(claim?.lease as Lease, { nanos: 0, tools: ['look'], texts })
    const admin = await client()
    const rows = async (table: string) => (await admin.query(`SELECT FROM ${schema}.${table}`)).rows.length
    expect([await rows('texts'), await rows('tools')]).toEqual([1, 1])
    await admin.query(`DELETE FROM ${schema}.threads`)
    expect([await rows('texts'), await rows('tools')]).toEqual([0, 0])
  })

  it('lose messages and tools with a thread that is deleted', async () => {
    const schema = newSchema()
    const store = open(url, { schema })
    await store.create({ id: 't', agent: 'a' })
    for (const key of ['a', 'b', 'c']) await store.signal('t', key, { type: 'stop', reason: 'enough' })
    const claim = await store.claim('t', 'worker', 5000)
    const texts = [1, 2, 3].map((seq) => ({ seq, text: 'secret', search: 'SECRET' }))
    await store.saveFacts(claim?.lease as Lease, { nanos: 0, tools: ['look'], texts })
    await store.fork('t', 2, { id: 'f', agent: 'a' })
    const admin = await client()
    const rows = async (table: string) => (await admin.query(`SELECT FROM ${schema}.${table}`)).rows.length
    await store.delete('t')
    await expect.poll(() => rows('texts')).toBe(2)
    expect((await store.list({ limit: 9, search: ['SECRET'] })).threads).toMatchObject([
      { id: 'f', match: { seq: 2 } },
    ])
    await store.delete('f')
    await expect.poll(() => rows('threads')).toBe(0)
    expect([await rows('texts'), await rows('tools')]).toEqual([0, 0])
  })

  it('of a newer version can be used if they allow it, and are refused if not', async () => {
    const schema = newSchema()
    await open(url, { schema }).create({ id: 't', agent: 'a' })
    const admin = await client()
    await admin.query(`UPDATE ${schema}.versions SET version = 7`)
    expect(await open(url, { schema }).get('t')).toMatchObject({ id: 't' })
    await admin.query(`UPDATE ${schema}.versions SET oldest = 6`)
    await expect(open(url, { schema }).get('t')).rejects.toThrow(/version 7.*update @millrace\/postgres/)
  })
})

it('a search that takes long returns what it has found, and where to continue', async () => {
  const schema = newSchema()
  const filled = open(url, { schema })
  // More than one statement scans.
  const ids = Array.from({ length: 300 }, (_, index) => `t${index}`)
  for (const id of ids)
    await filled.create({ id, agent: 'a', label: { search: id.endsWith('7') ? 'needle' : 'hay' } })
  const timing = { connections: 1, timeoutMs: 10_000, retryMs: 5000, scanMs: 0 }
  const { store } = databaseStore({ url, listenUrl: url, schema, now: undefined, ...timing })
  onTestFinished(() => store.close())
  const pages: Awaited<ReturnType<ThreadStore['list']>>[] = []
  do pages.push(await store.list({ search: ['needle'], limit: 100, cursor: pages.at(-1)?.next }))
  while (pages.at(-1)?.next !== undefined)
  expect(pages.length).toBeGreaterThan(1)
  const found = pages.flatMap(({ threads }) => threads.map(({ id }) => id))
  expect(found).toEqual(ids.filter((id) => id.endsWith('7')).reverse())
})
