import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { JsonObject } from '../protocol/index.ts'
import { exportThread, maxMetadataBytes } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { applyEntry, createView } from '../view/index.ts'
import type { Thread, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { kinds, testApps } from './test-apps.test-kit.ts'
import { answering, eventsOf, heldTool, startApp, untilIdle } from './threads.test-kit.ts'

const { start, storeOf } = testApps()

/** A tool that counts in the metadata, and what it has read. */
function counter(more: { name?: string } = {}) {
  const read: JsonObject[] = []
  const count = tool({
    name: 'count',
    description: 'Counts in the metadata',
    input: z.object({}),
    ...more,
    run(_, context) {
      const before = context.metadata()
      read.push(before)
      context.updateMetadata({ count: Number(before.count ?? 0) + 1, last: null })
      read.push(context.metadata())
      return 'counted'
    },
  })
  return { read, count }
}

/** The metadata as the view folds it from the log alone. */
async function viewed(thread: Thread, upTo = Number.POSITIVE_INFINITY) {
  const view = createView()
  for (const entry of await thread.read()) if (entry.seq <= upTo) applyEntry(view, entry)
  return view.metadata
}

describe.each(kinds)('metadata of a thread in a %s store', (kind) => {
  test('is changed by programs, and the model does not see it', async () => {
    const seen: unknown[] = []
    const rounds = ({ messages }: { messages: readonly unknown[] }) => {
      seen.push(messages)
      return 'Yes.'
    }
    const { app } = start({ store: storeOf(kind), rounds })
    const thread = app.thread('t', { metadata: { color: 'red', size: { width: 1 } } })
    await thread.create()
    expect(await thread.updateMetadata({ color: null, size: { height: 2 }, city: 'Oslo' })).toBe(1)
    await thread.send('Hello')
    await untilIdle(thread)
    const changed = { size: { width: 1, height: 2 }, city: 'Oslo' }
    expect((await thread.info()).metadata).toEqual(changed)
    expect((await thread.state()).metadata).toEqual(changed)
    expect(await viewed(thread)).toEqual(changed)
    expect((await app.threads({ search: 'oslo' })).threads).toMatchObject([{ id: 't', metadata: changed }])
    expect((await app.threads({ search: 'red' })).threads).toEqual([])
    expect(JSON.stringify(seen)).toBe(JSON.stringify([[{ role: 'user', content: 'Hello' }]]))
    await thread.updateMetadata({ size: null, city: null })
    expect(await thread.info()).toMatchObject({ metadata: {} })
  })

  test('is read and changed by a running tool, and programs change it meanwhile', async () => {
    const { read, count } = counter()
    const held = heldTool('hold')
    const { app } = start({
      store: storeOf(kind),
      tools: [count, held.tool],
      rounds: [[{ call: 'count' }, { call: 'hold' }], [{ call: 'count' }], 'Done.'],
    })
    const thread = app.thread('t', { metadata: { count: 1, last: 'x', kept: true } })
    await thread.send('go')
    await held.startedTimes(1)
    for await (const { event } of thread.follow()) if (event.type === 'metadata') break
    await thread.updateMetadata({ count: 10 })
    held.runs[0]?.release()
    const entries = await untilIdle(thread)
    expect(read).toEqual([
      { count: 1, last: 'x', kept: true },
      { count: 2, kept: true },
      { count: 10, kept: true },
      { count: 11, kept: true },
    ])
    const initial = { count: 1, last: 'x', kept: true }
    expect(eventsOf(entries, 'metadata')).toEqual([
      { type: 'metadata', patch: { count: 2, last: null }, initial },
      { type: 'metadata', patch: { count: 10 } },
      { type: 'metadata', patch: { count: 11, last: null } },
    ])
    for (const metadata of [(await thread.info()).metadata, await viewed(thread)])
      expect(metadata).toEqual({ count: 11, kept: true })
  })

  test('of a fork is what it was at that entry', async () => {
    const { app } = start({ store: storeOf(kind) })
    const thread = app.thread('t', { metadata: { step: 0 } })
    await thread.create()
    await thread.send('Hello')
    await untilIdle(thread)
    const before = (await thread.info()).head
    for (const step of [1, 2]) await thread.updateMetadata({ step, [`field${step}`]: true })
    const steps = [{ step: 0 }, { step: 1, field1: true }, { step: 2, field1: true, field2: true }]
    for (const [index, metadata] of steps.entries()) {
      const fork = await thread.fork(before + index)
      expect((await fork.info()).metadata).toEqual(metadata)
      await fork.updateMetadata({ mine: 1 })
      expect((await fork.info()).metadata).toEqual({ ...metadata, mine: 1 })
      expect(await viewed(fork)).toEqual({ ...metadata, mine: 1 })
      const again = await fork.fork(before + index)
      expect((await again.info()).metadata).toEqual(metadata)
    }
    expect((await thread.info()).metadata).toEqual(steps[2])
  })

  test('of a long thread is folded from its snapshots, also in forks', async () => {
    const store = storeOf(kind)
    // A snapshot is saved after this much.
    const rounds = () => 'words '.repeat(60_000)
    const { app } = start({ store, rounds })
    const thread = app.thread('t', { metadata: { step: 0, color: 'red' } })
    const heads: number[] = []
    for (const step of [1, 2, 3]) {
      await thread.send('go on')
      await untilIdle(thread)
      // One is saved when an answer before the last one is not saved yet.
      if (step === 2) await vi.waitUntil(() => store.snapshot('t'), { timeout: 10_000 })
      heads.push(await thread.updateMetadata({ step }))
    }
    const other = start({ store, rounds }).app.thread('t')
    expect((await other.state()).metadata).toEqual({ step: 3, color: 'red' })
    for (const [index, head] of heads.entries())
      for (const [at, step] of [
        [head, index + 1],
        [head - 1, index],
      ] as const)
        expect((await (await other.fork(at)).info()).metadata).toEqual({ step, color: 'red' })
  })

  test('passes to an export and to the thread that is made of it', async () => {
    const { app } = start({ store: storeOf(kind) })
    const thread = app.thread('t', { metadata: { step: 0, color: 'red' } })
    await thread.send('Hello')
    await untilIdle(thread)
    await thread.updateMetadata({ step: 1 })
    const exported = await exportThread(thread)
    expect(exported.thread.metadata).toEqual({ step: 1, color: 'red' })
    // What the log says counts.
    const copy = app.thread('copy', { metadata: { step: 7 } })
    await copy.create({ exported })
    expect((await copy.info()).metadata).toEqual({ step: 1, color: 'red' })
    await copy.updateMetadata({ color: null })
    expect((await copy.info()).metadata).toEqual({ step: 1 })
    expect(await viewed(copy)).toEqual({ step: 1 })
    const fork = await copy.fork(1)
    expect((await fork.info()).metadata).toEqual({ step: 0, color: 'red' })
  })

  test('reaches the context of each run', async () => {
    const contexts: unknown[] = []
    const { app } = start({
      store: storeOf(kind),
      context: ({ metadata }) => void contexts.push(metadata),
      tools: [counter().count],
      rounds: ({ messages }) => (messages.length === 1 ? [{ call: 'count' }] : 'Done.'),
    })
    const thread = app.thread('t', { metadata: { plan: 'a' } })
    await thread.send('one')
    await thread.send('two')
    await untilIdle(thread)
    expect(contexts).toEqual([{ plan: 'a' }, { plan: 'a', count: 1 }])
  })
})

test('metadata that is invalid or too long is rejected, and changes nothing', async () => {
  const app = startApp({ agents: answering('Yes.') })
  const thread = app.thread('t')
  await expect(thread.updateMetadata({})).rejects.toMatchObject({ code: 'not_found' })
  await thread.create()
  for (const patch of [undefined, 'x', [1], { long: 'x'.repeat(maxMetadataBytes) }])
    await expect(thread.updateMetadata(patch as never)).rejects.toMatchObject({
      code: 'invalid_input',
      op: 'thread.updateMetadata',
    })
  await thread.updateMetadata({ long: 'x'.repeat(maxMetadataBytes - 20) })
  await expect(thread.updateMetadata({ more: 'y'.repeat(100) })).rejects.toThrow('too long')
  expect((await thread.info()).head).toBe(1)
})

test('a rewind does not change metadata', async () => {
  const app = startApp({ agents: answering('Yes.') })
  const thread = app.thread('t')
  const seq = await thread.send('Hello')
  await untilIdle(thread)
  await thread.updateMetadata({ step: 1 })
  await thread.rewind(seq)
  await untilIdle(thread)
  expect((await thread.info()).metadata).toEqual({ step: 1 })
  expect(await viewed(thread)).toEqual({ step: 1 })
})

test('a sub-agent shares the metadata of the thread', async () => {
  const { read, count } = counter()
  const inner = agent({
    name: 'inner',
    model: scriptedModel(script.tool('count', {}, 'Counted.')),
    tools: [count],
  })
  const outer = agent({
    model: scriptedModel(script.tool('inner', { prompt: 'count' }, 'Done.')),
    tools: [inner.asTool({ description: 'Counts' })],
  })
  const app = startApp({ agents: outer })
  const thread = app.thread('t', { metadata: { count: 5 } })
  await thread.send('go')
  const entries = await untilIdle(thread)
  expect(read).toEqual([{ count: 5 }, { count: 6 }])
  expect(eventsOf(entries, 'metadata')).toHaveLength(1)
  expect((await thread.info()).metadata).toEqual({ count: 6 })
})

test('a process that is lost after a change has made it once', async () => {
  let time = 1_000_000
  const store = memoryStore({ now: () => time })
  let thawed: Promise<void> = Promise.resolve()
  const freezable = new Proxy(store, {
    get(target, name: keyof ThreadStore) {
      const value = target[name]
      if (name === 'watch' || name === 'close') return value
      return async (...args: unknown[]) => {
        await thawed
        return (value as (...args: unknown[]) => Promise<unknown>)(...args)
      }
    },
  })
  const attempts: JsonObject[] = []
  const changed = Promise.withResolvers<void>()
  const make = (isFirst: boolean) =>
    tool({
      name: 'add',
      description: 'Adds once',
      input: z.object({}),
      repeat: 'safe',
      async run(_, context) {
        attempts.push(context.metadata())
        if (!isFirst) return 'added'
        context.updateMetadata({ total: 1 })
        await context.commit()
        changed.resolve()
        return new Promise<never>(() => {})
      },
    })
  const options = { flushMs: 0, recoverMs: 10, leaseMs: 60_000, onError: () => {} }
  const agents = (isFirst: boolean) =>
    agent({
      name: 'a',
      model: scriptedModel(({ messages }) => (messages.length === 1 ? [{ call: 'add' }] : 'Done.')),
      tools: [make(isFirst)],
    })
  const first = millrace({ ...options, store: freezable, agents: agents(true) })
  await first.thread('t').send('go')
  await changed.promise
  const { promise, resolve: thaw } = Promise.withResolvers<void>()
  thawed = promise
  time += 60_001
  const app = startApp({ ...options, store, agents: agents(false) })
  const entries = await untilIdle(app.thread('t'))
  expect(attempts).toEqual([{}, { total: 1 }])
  expect(eventsOf(entries, 'metadata')).toHaveLength(1)
  expect(await app.thread('t').info()).toMatchObject({ metadata: { total: 1 } })
  thaw()
  await first.close({ graceMs: 0 })
})
