import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresStore } from '@millrace/postgres'
import { afterAll, beforeAll, describe, expect, onTestFailed, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../../packages/millrace/src/log/sqlite.ts'
import type { Spent, ThreadEvent } from '../../packages/millrace/src/protocol/index.ts'
import {
  addSpent,
  countSpend,
  nothingSpent,
  spendOf,
  toNanos,
} from '../../packages/millrace/src/protocol/index.ts'
import type { ThreadStore } from '../../packages/millrace/src/threads/index.ts'
import { millrace } from '../../packages/millrace/src/threads/index.ts'
import { bundled } from '../bundle.ts'
import type { PostgresServer } from '../postgres-server.ts'
import { postgresServer } from '../postgres-server.ts'
import { sized } from '../size.ts'
import { budgetAgent } from './budget-worker.ts'
import { pricedProvider } from './priced-provider.ts'
import type { ServerProcess } from './server-process.ts'
import { startServer } from './server-process.ts'

const program = () => bundled(fileURLToPath(new URL('./budget-worker.ts', import.meta.url)))

const processCount = 4
/** A user may have 20 runs at once. With more threads, the ones whose process was killed could wait a minute. */
const threadCount = 20
const kills = Math.max(8, sized(40))

interface Place {
  readonly store: ThreadStore
  readonly config: { readonly file: string; readonly postgres?: string }
}

/** Four processes work on the threads of one user, and are killed and replaced. */
async function runBudgeted(
  { store, config }: Place,
  limits: { readonly user: number; readonly agent: number },
) {
  const provider = await pricedProvider()
  const budgets = { userPerDay: { usd: limits.user }, agentPerDay: { usd: limits.agent } }
  const bundle = await program()
  const started: ServerProcess[] = []
  const start = () => {
    const settings = { ...config, ...budgets, port: 0, provider: provider.url, leaseMs: 400 }
    const process = startServer(bundle, settings)
    started.push(process)
    return process
  }
  const app = millrace({ agents: budgetAgent({ provider: provider.url, ...budgets }), store, works: false })
  onTestFinished(async () => {
    await Promise.all(started.map((one) => one.kill()))
    await app.close()
    await store.close()
    await provider.close()
  })
  onTestFailed(() => {
    for (const { pid, stderr } of started) if (stderr()) process.stderr.write(`${pid}: ${stderr()}`)
  })

  const threads = Array.from({ length: threadCount }, (_, index) => app.thread(`t${index}`, { user: 'ann' }))
  for (const thread of threads) await thread.send(`${thread.id}: go`)
  let left = kills
  await Promise.all(
    Array.from({ length: processCount }, async () => {
      let process = start()
      while (left-- > 0) {
        await process.ready
        await delay(Math.random() * 400)
        await process.kill()
        process = start()
      }
    }),
  )
  const areIdle = async () => {
    const infos = await Promise.all(threads.map((thread) => thread.info()))
    return infos.filter(({ status }) => status !== 'idle').map(({ id, status }) => `${id} ${status}`)
  }
  await expect.poll(areIdle, { interval: 100 }).toEqual([])
  const logs = await Promise.all(
    threads.map(async ({ id }) => {
      const entries = await store.read(id, { after: 0, limit: 1_000_000 })
      return { id, events: entries.map(({ event }) => event) }
    }),
  )
  const [total] = await store.spending({ by: [] })
  const [user] = await store.spending({ by: ['user'], user: 'ann' })
  const [agent] = await store.spending({ by: ['agent'], agent: 'desk' })
  return { billed: provider.billed, logs, totals: [total, user, agent] }
}

type Outcome = Awaited<ReturnType<typeof runBudgeted>>

const requestsIn = (events: readonly ThreadEvent[]) => {
  const spends = events.flatMap((event) => spendOf(event) ?? [])
  return spends.filter(({ model, usage }) => model !== undefined && usage.inputTokens !== undefined).length
}

function check({ billed, logs, totals }: Outcome, limit: number): void {
  const outcomes = logs.map(({ events }) => {
    const end = events.findLast((event) => event.type === 'run-end')
    return end?.type === 'run-end' ? end.outcome : undefined
  })
  expect(outcomes.filter((outcome) => outcome !== 'completed' && outcome !== 'budget')).toEqual([])
  expect(outcomes).toContain('budget')

  let spent: Spent = nothingSpent()
  for (const { events } of logs) {
    const own = nothingSpent()
    for (const event of events) countSpend(own, event)
    spent = addSpent(spent, own)
  }
  for (const total of totals)
    expect(total && { nanos: toNanos(total.usd), tokens: total.inputTokens + total.outputTokens }).toEqual({
      nanos: spent.nanos,
      tokens: spent.tokens,
    })

  const tokens = billed.map(({ inputTokens, outputTokens }) => inputTokens + outputTokens)
  const largest = Math.max(...tokens) / 1e6
  const most = limit + largest * (processCount + kills)
  expect(spent.nanos / 1e9).toBeLessThanOrEqual(most)
  expect(tokens.reduce((sum, count) => sum + count, 0) / 1e6).toBeLessThanOrEqual(most)

  let missing = 0
  for (const { id, events } of logs) {
    const served = billed.filter(({ thread }) => thread === id)
    const counted = requestsIn(events)
    // A process may be killed before it sends a request whose start it has written.
    const losses = events.filter((event) => event.type === 'run-start' && event.resumes !== undefined).length
    expect(counted, `requests of ${id}`).toBeLessThanOrEqual(served.length + losses)
    missing += Math.max(0, served.filter(({ completed }) => completed).length - counted)
  }
  // The start of a round may not have been written when its process was killed.
  expect(missing).toBeLessThanOrEqual(kills)
}

/** All threads together would take about three requests each, of more than 60 tokens. */
const limits = { user: 0.002, agent: 0.0025 }

describe('four processes that are killed keep to the budgets that they share', () => {
  test('over SQLite', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-budget-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'threads.db')
    check(await runBudgeted({ store: sqliteStore(file), config: { file } }, limits), limits.user)
  })

  describe('over PostgreSQL', () => {
    let server: PostgresServer
    beforeAll(async () => {
      server = await postgresServer()
    })
    afterAll(() => server.close())

    test('with the budget of the agent as the lower one', async () => {
      const postgres = await server.database('budget')
      const place = { store: postgresStore(postgres), config: { file: '', postgres } }
      check(await runBudgeted(place, { user: limits.agent, agent: limits.user }), limits.user)
    })
  })
})
