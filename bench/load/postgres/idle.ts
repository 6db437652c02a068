import { postgresStore } from '@millrace/postgres'
import type { Lease, ThreadStore } from 'millrace/store'
import { median } from '../../harness/measure.ts'
import type { IdleFigures } from './figures.ts'
import type { Context } from './part.ts'
import { query } from './server.ts'

export interface IdleSize {
  readonly threads: readonly number[]
  /** How often each call is timed. */
  readonly times: number
}

/** Threads that can run, and threads that run. */
const active = 100
const leaseMs = 3_600_000
const agents = ['desk']

/** What calls cost in a database with many threads that do nothing. */
export function measureIdle({ threads, times }: IdleSize, context: Context): Promise<IdleFigures[]> {
  return context.server.withDatabase(async (url) => {
    const store = postgresStore(url)
    try {
      const leases = await start(store)
      const figures: IdleFigures[] = []
      let idle = 0
      for (const count of threads) {
        context.onStep(`${count} idle threads`)
        await query(url, idleThreads(idle, count))
        await query(url, 'VACUUM ANALYZE')
        idle = count
        const calls: IdleFigures['calls'][number][] = []
        for (const [name, call] of Object.entries(callsOf(store, leases))) {
          const taken: number[] = []
          for (let time = 0; time < times; time++) {
            context.signal.throwIfAborted()
            const before = performance.now()
            await call(time)
            taken.push(performance.now() - before)
          }
          calls.push({ name, min: Math.min(...taken), median: median(taken) })
        }
        figures.push({ threads: count, calls })
      }
      return figures
    } finally {
      await store.close()
    }
  })
}

/** Creates the active threads. Returns the leases of those that run. */
async function start(store: ThreadStore): Promise<Lease[]> {
  const input = { type: 'input', message: { role: 'user', content: 'Go.' }, mode: 'queue' } as const
  const leases: Lease[] = []
  for (let index = 0; index < 2 * active; index++) {
    const id = `active-${index}`
    await store.create({ id, agent: 'desk', user: `user-${index}` })
    await store.signal(id, 'first', input)
    const claim = index < active ? await store.claim(id, 'bench', leaseMs) : undefined
    if (claim) leases.push(claim.lease)
  }
  return leases
}

const limits = { perCaller: 20 }

function callsOf(
  store: ThreadStore,
  leases: readonly Lease[],
): Readonly<Record<string, (time: number) => Promise<unknown>>> {
  return {
    'claim and release a thread': async (time) => {
      const id = `active-${active + (time % active)}`
      const claim = await store.claim(id, `bench ${time}`, leaseMs, limits)
      if (!claim) throw new Error(`cannot claim ${id}`)
      await store.release(claim.lease, { head: 1, status: 'runnable' })
    },
    [`renew ${active} leases`]: () => store.renew(leases, leaseMs),
    [`find ${active} threads that can run`]: () => store.findRunnable(active, agents, limits),
    'list 50 threads': () => store.list({ limit: 50 }),
    'list 50 threads of a user': (time) => store.list({ limit: 50, user: `user-${time % 1000}` }),
    'list 50 threads that wait': () => store.list({ limit: 50, status: 'waiting' }),
    'read a thread': (time) => store.get(`active-${time % active}`),
  }
}

/** Rows as `create()` leaves them, of 1,000 users; creating so many one by one takes too long. */
const idleThreads = (from: number, to: number) => `
  INSERT INTO millrace.callers (name) SELECT 'user-' || i FROM generate_series(0, 999) AS i ON CONFLICT DO NOTHING;
  WITH numbered AS (
    SELECT i, 'user-' || i % 1000 AS "user", nextval('millrace.places') AS place
    FROM generate_series(${from + 1}, ${to}) AS i
  ),
  added AS (
    INSERT INTO millrace.threads (token, created_at, title, search, base_seq, compacted)
    SELECT 'idle-' || i, 1700000000000 + i, 'Thread ' || i, 'thread ' || i, 0, 0 FROM numbered RETURNING n, token
  )
  INSERT INTO millrace.heads
    (id, n, agent, "user", caller, background, base_seq, head, updated_at, changed_at, bytes, queued, changed, listed, epoch)
  SELECT a.token, a.n, 'desk', i."user", c.n, false, 0, 0, 1700000000000 + i.i, 1700000000000 + i.i, 256, 0, place, place, 1
  FROM added AS a JOIN numbered AS i ON a.token = 'idle-' || i.i JOIN millrace.callers AS c ON c.name = i."user"`
