import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { temporaryFolder } from '../log/sqlite/sqlite.test-kit.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { Entry, MillraceError, ThreadEvent } from '../protocol/index.ts'
import { noUsage, textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Thread, ThreadStore } from './index.ts'
import { millrace } from './index.ts'

const folder = temporaryFolder()
const open: { close(): Promise<unknown> }[] = []
let files = 0
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/**
 * A log of this many runs, each with an approved payment. The model reads a summary of all but the
 * last ten.
 */
function pastOf(runs: number): Entry[] {
  const events: ThreadEvent[] = []
  for (let run = 0; run < runs; run++) {
    const runId = `run_${run}`
    const call = { callId: `call_${run}`, name: 'pay' }
    const start = { type: 'run-start', version: 1, agent: 'helper', input: [] } as const
    const end = { type: 'run-end', usage: noUsage } as const
    events.push(
      { type: 'input', mode: 'queue', message: { role: 'user', content: `question ${run}` } },
      { ...start, runId, inputs: [events.length + 1] },
    )
    if (run === runs - 10) {
      const message = { role: 'user', content: 'summary' } as const
      events.push({ type: 'summary', replaces: 4 * run, message })
    }
    events.push(
      { type: 'round-start', round: 1, model: 'm' },
      { type: 'tool-call', ...call, input: {} },
      { type: 'round-end', round: 1, model: 'm', finish: 'tool-calls' },
      { type: 'approval-request', ...call, input: {} },
      { ...end, outcome: 'suspended' },
      { type: 'approval', callId: call.callId, approved: true },
      { ...start, runId: `${runId}b`, resumes: runId },
      { type: 'tool-start', ...call, attempt: 1 },
      { type: 'tool-result', ...call, output: [], status: 'ok', isError: false, ms: 1, overlapMs: 0 },
      { type: 'round-start', round: 2, model: 'm' },
      { type: 'text', text: `answer ${run}` },
      { type: 'round-end', round: 2, model: 'm', finish: 'stop' },
      { ...end, outcome: 'completed' },
    )
  }
  return events.map((event, index) => ({ seq: index + 1, at: 1000, event }))
}

/** A separate app on a file, as in another process. It records where logs are read from. */
function opened(path: string, change: Partial<ThreadStore> = {}) {
  const file = sqliteStore(path)
  const reads: number[] = []
  const errors: MillraceError[] = []
  const store: ThreadStore = {
    ...file,
    read(threadId, options) {
      reads.push(options.after)
      return file.read(threadId, options)
    },
    ...change,
  }
  const model = scriptedModel(() => 'Fine.')
  const app = millrace({
    agents: agent({ name: 'helper', model }),
    store,
    recoverMs: 20,
    onError: (error) => errors.push(error),
  })
  open.push(file, { close: () => app.close({ graceMs: 0 }) })
  return { app, store, model, reads, errors, thread: app.thread('t') }
}

/** Waits until a thread is released. A snapshot is saved before that. */
async function released(thread: Thread): Promise<void> {
  while ((await thread.info()).status !== 'idle') await new Promise((resolve) => setTimeout(resolve, 2))
}

/** A thread with a history, which an app has opened and released. */
async function withHistory(change: Partial<ThreadStore> = {}, runs = 200) {
  const path = join(folder, `${++files}.db`)
  const entries = pastOf(runs)
  const first = opened(path, change)
  await first.store.create({ id: 't', agent: 'helper' }, { entries })
  await released(first.thread)
  await first.app.close()
  return { path, entries, ...first }
}

test('a message to a long thread reads only what came after the snapshot', async () => {
  const { path, entries } = await withHistory()
  const { thread, model, reads, store } = opened(path)
  expect(await store.snapshot('t')).toMatchObject({ seq: entries.length })
  const seq = await thread.send('and now?')
  for await (const _ of thread.follow({ after: seq - 1, until: seq })) {
  }
  const { messages, earlier } = await thread.state({ bytes: 1000 })
  expect(Math.min(...reads)).toBeGreaterThan(entries.length - 500)
  const prompt = model.requests[0]?.messages ?? []
  expect(prompt.map(textOf).filter(Boolean)).toEqual([
    'summary',
    'question 190',
    ...Array.from({ length: 9 }, (_, index) => [`answer ${190 + index}`, `question ${191 + index}`]).flat(),
    'answer 199',
    'and now?',
  ])
  expect(messages.slice(-2).map(textOf)).toEqual(['and now?', 'Fine.'])
  expect(earlier).toEqual({ messages: 802 - messages.length })
})

test('playback of an answer in the snapshot reaches the next prompt, and the next snapshot', async () => {
  const { path, entries } = await withHistory()
  const second = opened(path)
  await second.thread.reportPlayback({ run: 'run_199', round: 2, chars: 3 })
  await second.thread.reportPlayback({ run: 'run_5', round: 2, chars: 2 })
  expect((await second.thread.state()).messages[23]).toMatchObject({
    content: [{ text: 'an', unplayed: 'swer 5' }],
  })
  const large = 'x'.repeat(300_000)
  await second.thread.send(large)
  await released(second.thread)
  expect(second.model.requests[0]?.messages.map(textOf).at(-2)).toBe('ans')
  await second.app.close()
  const third = opened(path)
  // The message was large enough for another snapshot.
  expect((await third.store.snapshot('t'))?.seq).toBeGreaterThan(entries.length + 2)
  const { messages } = await third.thread.state()
  expect(messages.slice(-3).map(textOf)).toEqual(['ans', large, 'Fine.'])
  expect(messages[23]).toMatchObject({ content: [{ text: 'an', unplayed: 'swer 5' }] })
})

test('a decision from before the snapshot is still known', async () => {
  const { path, entries } = await withHistory()
  const { thread, reads } = opened(path)
  const { seq } = entries.find(({ event }) => event.type === 'approval' && event.callId === 'call_7') as Entry
  expect(await thread.approve('call_7', { approved: true })).toBe(seq)
  await expect(thread.approve('call_7', { approved: false })).rejects.toMatchObject({ code: 'conflict' })
  reads.length = 0
  const unknown = thread.approve('call_x', { approved: true })
  await expect(unknown).rejects.toMatchObject({ code: 'invalid_input' })
  expect(Math.min(...reads)).toBeGreaterThan(entries.length - 500)
})

test('a thread works even if its snapshot cannot be saved', async () => {
  const saveSnapshot = async () => {
    throw new Error('no room')
  }
  const { path, errors, entries } = await withHistory({ saveSnapshot })
  expect(errors.map(({ message }) => message)).toEqual(['no room'])
  const { thread, model, store } = opened(path)
  await thread.send('and now?')
  await released(thread)
  expect(model.requests[0]?.messages).toHaveLength(1 + 1 + 4 * 10 - 1 + 1)
  expect((await store.snapshot('t'))?.seq).toBeGreaterThan(entries.length)
})

test('a short thread has no snapshot', async () => {
  const { store } = await withHistory({}, 20)
  expect(await store.snapshot('t')).toBeUndefined()
})
