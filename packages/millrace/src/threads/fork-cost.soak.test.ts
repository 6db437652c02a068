import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { memoryStore } from '../log/memory.ts'
import { temporaryFolder } from '../log/sqlite/sqlite.test-kit.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { noUsage, textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Thread, ThreadStore } from './index.ts'
import { millrace } from './index.ts'

// The cost of a fork is counted, not timed: entries read from the store, and rows read from SQLite.

const folder = temporaryFolder()
const open: { close(): Promise<unknown> }[] = []
let files = 0
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const stores = {
  memory: () => memoryStore(),
  SQLite: () => sqliteStore(join(folder, `${++files}.db`)),
} as const

/** Runs of ten entries each. The model reads a summary and the last ones. */
function pastOf(entries: number): Entry[] {
  const events: ThreadEvent[] = []
  for (let run = 0; events.length < entries; run++) {
    events.push(
      { type: 'input', mode: 'queue', message: { role: 'user', content: `question ${run}` } },
      {
        type: 'run-start',
        version: 1,
        runId: `run_${run}`,
        agent: 'a',
        input: [],
        inputs: [events.length + 1],
      },
      { type: 'summary', replaces: run === 0 ? 0 : 2, message: { role: 'user', content: 'summary' } },
      { type: 'round-start', round: 1, model: 'm' },
      ...Array.from({ length: 4 }, (): ThreadEvent => ({ type: 'text', text: `answer ${run}. ` })),
      { type: 'round-end', round: 1, model: 'm', finish: 'stop' },
      { type: 'run-end', outcome: 'completed', usage: noUsage },
    )
  }
  return events.map((event, index) => ({ seq: index + 1, at: 1000, event }))
}

/** An app on a store that counts the entries read. */
function counted(whole: ThreadStore) {
  const count = { entries: 0 }
  const store: ThreadStore = {
    ...whole,
    async read(...args) {
      const entries = await whole.read(...args)
      count.entries += entries.length
      return entries
    },
  }
  const model = scriptedModel(() => 'Fine.')
  const app = millrace({ agents: agent({ name: 'a', model }), store })
  open.push(whole, { close: () => app.close({ graceMs: 0 }) })
  return { app, store, model, count }
}

async function atRest(thread: Thread): Promise<void> {
  while ((await thread.info()).status !== 'idle') await new Promise((resolve) => setTimeout(resolve, 2))
}

/** The entries read for a fork, and for the first message in it. */
async function costOf(whole: ThreadStore, length: number, { isEarlier = false } = {}) {
  const { app, store, model, count } = counted(whole)
  await store.create({ id: 't', agent: 'a' }, { entries: pastOf(length) })
  const thread = app.thread('t')
  await app.thread('t').send('settle')
  await atRest(thread)
  expect(await store.snapshot('t')).toBeDefined()
  const { head } = await thread.info()
  // Each is large enough for another snapshot.
  for (let more = 0; isEarlier && more < 3; more++) {
    await thread.send('x'.repeat(300_000))
    await atRest(thread)
  }
  expect(((await store.snapshot('t'))?.seq ?? 0) > head).toBe(isEarlier)
  count.entries = 0
  const fork = await thread.fork(head)
  const forking = count.entries
  await atRest(fork)
  count.entries = 0
  const seq = await fork.send('and now?')
  for await (const _ of fork.follow({ after: seq - 1, until: seq }));
  await atRest(fork)
  const { messages } = await fork.state({ bytes: 500 })
  expect(messages.slice(-2).map(textOf)).toEqual(['and now?', 'Fine.'])
  expect(model.requests.at(-1)?.messages.map(textOf)).toContain('and now?')
  return { forking, firstMessage: count.entries }
}

describe.each(Object.entries(stores))('in the %s store', (_, openStore) => {
  test.each([false, true])(
    'a fork and its first message read as little of a long thread as of a short one (at an earlier number: %s)',
    async (isEarlier) => {
      const short = await costOf(openStore(), 2000, { isEarlier })
      const long = await costOf(openStore(), 20_000, { isEarlier })
      // How concurrent deltas are joined differs a little.
      expect(long.forking).toBeLessThan(short.forking + 100)
      expect(long.firstMessage).toBeLessThan(short.firstMessage + 100)
      expect(long.forking + long.firstMessage).toBeLessThan(1500)
    },
  )
})

type Method = (this: StatementSync, ...args: unknown[]) => unknown

/** Counts the rows that SQLite returns and changes during `work`. */
async function rowsIn(work: () => Promise<void>): Promise<number> {
  let rows = 0
  const methods = StatementSync.prototype as unknown as Record<'iterate' | 'all' | 'get' | 'run', Method>
  const { iterate, all, get, run } = methods
  methods.iterate = function* (...args) {
    for (const row of iterate.apply(this, args) as Iterable<unknown>) {
      rows++
      yield row
    }
  }
  methods.all = function (...args) {
    const found = all.apply(this, args) as unknown[]
    rows += found.length
    return found
  }
  methods.get = function (...args) {
    rows++
    return get.apply(this, args)
  }
  methods.run = function (...args) {
    const result = run.apply(this, args) as { changes: number }
    rows += Number(result.changes)
    return result
  }
  await work()
  Object.assign(methods, { iterate, all, get, run })
  return rows
}

test('a fork touches as many rows of a long thread as of a short one', async () => {
  const counts: number[] = []
  for (const length of [1000, 20_000]) {
    const store = sqliteStore(join(folder, `${++files}.db`))
    open.push(store)
    await store.create({ id: 't', agent: 'a' }, { entries: pastOf(length) })
    const rows = await rowsIn(async () => {
      expect(await store.fork('t', length - 2, { id: 'f', agent: 'a' })).toBe(true)
      expect(await store.read('f', { after: 0, limit: 1 })).toMatchObject([{ seq: 1 }])
    })
    counts.push(rows)
  }
  expect(counts[1]).toBe(counts[0])
  expect(counts[0]).toBeLessThan(40)
})
