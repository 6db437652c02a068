import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { noUsage, textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { App, Thread, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'

const open: { close(options?: { graceMs: number }): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close({ graceMs: 0 })
})

const pay = tool({ name: 'pay', description: 'Pays', input: z.object({}), approve: true, run: () => 'paid' })

/** A log of this many answered questions. */
function pastOf(runs: number): Entry[] {
  const events: ThreadEvent[] = []
  for (let run = 0; run < runs; run++)
    events.push(
      { type: 'input', mode: 'queue', message: { role: 'user', content: `question ${run}` } },
      {
        type: 'run-start',
        version: 1,
        agent: 'desk',
        input: [],
        runId: `run_${run}`,
        inputs: [events.length + 1],
      },
      { type: 'round-start', round: 1, model: 'm' },
      { type: 'text', text: `answer ${run}` },
      { type: 'round-end', round: 1, model: 'm', finish: 'stop' },
      { type: 'run-end', usage: noUsage, outcome: 'completed' },
    )
  return events.map((event, index) => ({ seq: index + 1, at: 1000, event }))
}

/** A store that counts the entries it returns. */
function counting(store: ThreadStore) {
  const count = { entries: 0 }
  const counted: ThreadStore = {
    ...store,
    async read(threadId, options) {
      const entries = await store.read(threadId, options)
      count.entries += entries.length
      return entries
    },
  }
  return { store: counted, count }
}

function appOver(store: ThreadStore): App {
  const model = scriptedModel(({ messages }) =>
    textOf(messages.at(-1) as never) === 'Pay.' ? [{ call: 'pay', input: {} }] : 'Fine.',
  )
  const app = millrace({ agents: agent({ name: 'desk', model, tools: [pay] }), store })
  open.push(app)
  return app
}

async function sendAndWait(thread: Thread, text: string): Promise<void> {
  const seq = await thread.send(text)
  for await (const _ of thread.follow({ after: seq - 1, until: seq })) {
  }
}

async function atRest(thread: Thread, status = 'idle'): Promise<void> {
  while ((await thread.info()).status !== status) await new Promise((resolve) => setTimeout(resolve, 2))
}

/**
 * How many entries each operation reads in a thread with this many runs, in a process that has it
 * in memory (`isWarm`) or not.
 */
async function costs(runs: number, { isWarm }: { isWarm: boolean }) {
  const stored = memoryStore()
  open.push(stored)
  const first = appOver(stored)
  await stored.create({ id: 't', agent: 'desk' }, { entries: pastOf(runs) })
  await sendAndWait(first.thread('t'), 'Hello.')
  await atRest(first.thread('t'))
  await first.close()

  const { store, count } = counting(stored)
  let app = appOver(store)
  /** Reads without counting. */
  async function lastOf<Type extends ThreadEvent['type']>(type: Type) {
    const head = (await stored.get('t'))?.head ?? 0
    const entries = await stored.read('t', { after: head - 20, limit: 20 })
    return entries.findLast(({ event }) => event.type === type)?.event as Extract<ThreadEvent, { type: Type }>
  }

  async function cost(work: (thread: Thread) => Promise<unknown>): Promise<number> {
    if (!isWarm) {
      await app.close()
      app = appOver(store)
    }
    const before = count.entries
    await work(app.thread('t'))
    return count.entries - before
  }
  if (isWarm) await sendAndWait(app.thread('t'), 'Hello again.')

  const message = await cost((thread) => sendAndWait(thread, 'And now?'))
  await cost(async (thread) => {
    await thread.send('Pay.')
    await atRest(thread, 'waiting')
  })
  const { callId } = await lastOf('approval-request')
  const approval = await cost(async (thread) => {
    await thread.approve(callId, { approved: true })
    await atRest(thread)
  })
  const report = await cost(async (thread) => {
    const run = await lastOf('run-start')
    await thread.reportPlayback({ run: run.resumes ?? run.runId, round: 2, chars: 2 })
    await atRest(thread)
  })
  const stop = await cost(async (thread) => {
    await thread.send('Pay.')
    await atRest(thread, 'waiting')
    await thread.stop()
    await atRest(thread)
  })
  return { message, approval, report, stop }
}

test('a resumed run reads only what came after the snapshot saved during it', async () => {
  const stored = memoryStore()
  open.push(stored)
  let worked = 0
  const work = tool({
    name: 'work',
    description: 'Reports a lot',
    input: z.object({}),
    async run(_, { progress, commit }) {
      worked++
      for (let step = 0; step < 6000; step++) progress(step)
      await commit()
      return 'worked'
    },
  })
  const opened = (store: ThreadStore) => {
    const model = scriptedModel(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length
      return results === 2 ? 'Done.' : [{ call: results === 0 ? 'work' : 'pay', input: {} }]
    })
    const app = millrace({ agents: agent({ name: 'desk', model, tools: [work, pay] }), store })
    open.push(app)
    return app
  }
  const first = opened(stored)
  await first.thread('t').send('Go.')
  await atRest(first.thread('t'), 'waiting')
  await first.close()
  const { seq = 0 } = (await stored.snapshot('t')) ?? {}
  expect(seq).toBeGreaterThan(5000)

  const { store, count } = counting(stored)
  const thread = opened(store).thread('t')
  await thread.approve('call_2', { approved: true })
  await atRest(thread)
  expect(textOf((await thread.state({ bytes: 100 })).messages.at(-1) as never)).toBe('Done.')
  expect(worked).toBe(1)
  expect(count.entries).toBeLessThan(1500)
})

test('a round too large for a snapshot is checked occasionally, not with every commit', async () => {
  const store = memoryStore()
  open.push(store)
  const work = tool({
    name: 'work',
    description: 'Works',
    input: z.object({ note: z.string() }),
    run: (_, { commit }) => commit().then(() => 'worked'),
  })
  const calls = Array.from({ length: 3000 }, () => ({ call: 'work', input: { note: 'x'.repeat(300) } }))
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : calls))
  const app = millrace({
    agents: agent({ name: 'desk', model, tools: [work], maxCallsPerRound: calls.length }),
    store,
  })
  open.push(app)
  const clone = vi.spyOn(globalThis, 'structuredClone')
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => void vi.restoreAllMocks())
  await app.thread('t').send('Go.')
  await atRest(app.thread('t'))
  const isCall = (value: unknown) => typeof value === 'object' && value !== null && 'inFlight' in value
  const isRound = (value: unknown) => typeof value === 'object' && value !== null && 'round' in value
  expect((await app.thread('t').info()).head).toBeGreaterThan(9000)
  expect(stringify.mock.calls.filter(([value]) => isCall(value)).length).toBeLessThan(2 * calls.length)
  expect(clone.mock.calls.filter(([value]) => isRound(value)).length).toBe(0)
})

describe('the entries an operation reads do not grow with the age of its thread', () => {
  test.for([200, 2000])(
    'after %i runs, in a process that has the thread in memory: only what is new',
    async (runs) => {
      for (const [name, count] of Object.entries(await costs(runs, { isWarm: true })))
        expect(count, name).toBeLessThan(60)
    },
  )

  test.for([200, 2000])('after %i runs, in another process: what came after the snapshot', async (runs) => {
    for (const [name, count] of Object.entries(await costs(runs, { isWarm: false })))
      expect(count, name).toBeLessThan(120)
  })
})
