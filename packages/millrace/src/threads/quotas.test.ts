import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { AppOptions } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { heldTool, untilIdle } from './threads.test-kit.ts'

/** Every run calls a tool that waits until it is released. There are no periodic scans. */
function opened(options: Omit<AppOptions, 'agents'>) {
  const held = heldTool('held')
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'held', input: {} }],
  )
  const desk = agent({ name: 'desk', model, tools: [held.tool] })
  const app = millrace({ agents: desk, flushMs: 0, recoverMs: 600_000, onError: () => {}, ...options })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return { app, held }
}

test('a thread held back by a quota runs as soon as a run of its caller ends', async () => {
  const { app, held } = opened({ quotas: { runs: 1 } })
  const [one, two, bobs] = ['ann', 'ann', 'bob'].map((user) => app.thread(undefined, { user }))
  await one?.send('go')
  await held.startedTimes(1)
  await two?.send('go')
  await bobs?.send('go')
  await held.startedTimes(2)
  expect((await app.usage('ann')).runs).toEqual({ used: 1, limit: 1 })
  expect((await app.usage('ann')).waiting.used).toBe(1)
  expect((await bobs?.info())?.status).toBe('running')
  expect((await two?.info())?.status).toBe('queued')
  held.runs[0]?.release()
  await held.startedTimes(3)
  expect((await two?.info())?.status).toBe('running')
  for (const run of held.runs) run.release()
  for (const thread of [one, two, bobs]) if (thread) await untilIdle(thread)
  expect((await app.usage('ann')).runs.used).toBe(0)
})

test('when all slots are taken, the next run goes to the caller with the fewest', async () => {
  const { app, held } = opened({ maxRuns: 2 })
  const threads = ['ann', 'ann', 'ann', 'bob'].map((user, index) => app.thread(`${user}-${index}`, { user }))
  for (const [index, thread] of threads.entries()) {
    await thread.send('go')
    if (index < 2) await held.startedTimes(index + 1)
  }
  held.runs[0]?.release()
  await held.startedTimes(3)
  const { threads: running } = await app.threads({ status: 'running' })
  expect(running.map(({ user }) => user).sort()).toEqual(['ann', 'bob'])
})

test('threads whose logs are too large together run one after the other; one that is too large runs alone', async () => {
  const { app, held } = opened({ maxRunBytes: 2000 })
  const [large, small] = [app.thread('large'), app.thread('small')]
  await large.send(`go ${'x'.repeat(5000)}`)
  await held.startedTimes(1)
  await small.send('go')
  await expect.poll(async () => (await small.info()).status).toBe('queued')
  held.runs[0]?.release()
  await held.startedTimes(2)
  expect((await small.info()).status).toBe('running')
  held.runs[1]?.release()
  await untilIdle(small)
})

test('threads without a caller are not counted or limited', async () => {
  const { app, held } = opened({ quotas: { runs: 1, waiting: 1, storedBytes: 1 } })
  for (let count = 0; count < 3; count++) await app.thread(`t${count}`).send('go')
  await held.startedTimes(3)
})

test('telemetry gets the name of a quota that rejected a message', async () => {
  const rejected: string[] = []
  const { app } = opened({
    quotas: { storedBytes: 1 },
    telemetry: {
      startRun: () => ({
        event() {},
        modelCall: () => ({ end() {} }),
        runInContext: (_, work) => work(),
        nested: () => ({}) as never,
        handedOver() {},
      }),
      openApp: () => ({ flushed() {}, failed() {}, closed() {}, rejected: (limit) => rejected.push(limit) }),
    },
  })
  const thread = app.thread('t', { user: 'ann' })
  await thread.create()
  await expect(thread.send('go')).rejects.toMatchObject({ code: 'rate_limit', limit: 'storedBytes' })
  expect(rejected).toEqual(['storedBytes'])
})

test('metadata is limited to 16 KiB of JSON', async () => {
  const { app } = opened({ store: memoryStore() })
  const of = (length: number) => ({ note: 'ü'.repeat(length / 2) })
  expect((await app.thread('t', { metadata: of(16_000) }).create()).metadata).toBeDefined()
  expect(() => app.thread('u', { metadata: of(17_000) })).toThrow(
    "the option 'metadata' must be at most 16384 bytes of JSON, not 17011",
  )
})
