import { expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { Entry } from '../protocol/index.ts'
import { searchWords } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { ThreadStore } from '../threads/index.ts'
import { memoryStore, millrace } from '../threads/index.ts'
import { tool } from '../tools/index.ts'
import { copyThreads } from './copy-threads.ts'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  input: { jsonSchema: { type: 'object' } },
  approve: () => true,
  run: () => 'refunded',
})

function desk(store: ThreadStore) {
  const model = scriptedModel(
    (request) => {
      const last = request.messages.at(-1)
      if (last?.role === 'tool') return 'It is done.'
      return JSON.stringify(last).includes('refund')
        ? (script.tool('refund', {}, '')[0] ?? '')
        : 'A long enough answer.'
    },
    { deltaChars: 3 },
  )
  return millrace({ agents: agent({ name: 'desk', model, tools: [refund] }), store })
}

async function ask(store: ThreadStore, id: string, message: string, options = {}) {
  const app = desk(store)
  const thread = app.thread(id, options)
  const seq = await thread.send(message, { key: `key of ${message}` })
  for await (const _ of thread.follow({ until: seq }));
  await app.close()
}

async function logOf(store: ThreadStore, id: string): Promise<readonly Entry[]> {
  return store.read(id, { after: 0, limit: 10_000, split: true })
}

const copy = (source: ThreadStore, target: ThreadStore) =>
  copyThreads({ source, target, signal: new AbortController().signal, onProgress() {} })

async function idsOf(store: ThreadStore) {
  return (await store.list({ limit: 100 })).threads.map(({ id }) => id)
}

test('everything about a thread is copied', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Where is order 42?', {
    user: 'ada',
    caller: 'team',
    metadata: { tier: 'gold' },
    priority: 'batch',
  })
  await ask(source, 'b', 'Hello')
  await ask(source, 'a', 'And now?')
  const label = { title: 'Late order', search: 'LATE ORDER' }
  await source.signal('b', 'key', { type: 'title', title: 'Late order' }, { label, relabel: true })
  await source.signal('a', 'metadata', { type: 'metadata', patch: { tier: 'silver' } })
  await source.fork('a', 5, { id: 'c', agent: 'desk', forkedFrom: { id: 'a', seq: 5 } })
  expect(await copy(source, target)).toEqual({ total: 3, copied: 3, present: 0, conflicts: [] })
  expect(await idsOf(target)).toEqual(await idsOf(source))
  for (const id of ['a', 'b', 'c']) {
    expect(await logOf(target, id)).toEqual(await logOf(source, id))
    expect(await target.keys(id)).toEqual(await source.keys(id))
    // Its next owner saves what lists and searches need to know.
    const { status, bytes, title, outcome, knownUsd, ...before } = (await source.get(id)) ?? {}
    expect(await target.get(id)).toMatchObject(before)
  }
  expect(await target.get('a')).toMatchObject({ title: 'Where is order 42?' })
  expect(await target.get('b')).toMatchObject({ title: 'Late order' })
  expect((await target.list({ limit: 9, search: searchWords('silver 42') })).threads).toMatchObject([
    { id: 'a' },
  ])
})

test('a message that is sent again after the move is recognized', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Hello')
  await copy(source, target)
  const { head } = (await target.get('a')) ?? {}
  await ask(target, 'a', 'Hello')
  expect(await target.get('a')).toMatchObject({ head })
})

test('an approval that waits can be given after the move', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Please refund it')
  expect(await source.get('a')).toMatchObject({ status: 'waiting' })
  await copy(source, target)
  const app = desk(target)
  const thread = app.thread('a')
  const [request] = (await thread.state()).approvals
  const seq = await thread.approve(request?.callId ?? '', { approved: true })
  for await (const _ of thread.follow({ until: seq }));
  expect(JSON.stringify((await thread.state()).messages.at(-1))).toContain('It is done.')
  await app.close()
})

test('threads that are already there are not copied again, even if they were continued there', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Hello')
  await ask(source, 'b', 'Hello')
  await copy(source, target)
  await ask(target, 'b', 'And now?')
  const before = await logOf(target, 'b')
  expect(await copy(source, target)).toEqual({ total: 2, copied: 0, present: 2, conflicts: [] })
  expect(await logOf(target, 'b')).toEqual(before)
})

test('a thread that was continued in the source is copied again', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Hello')
  await copy(source, target)
  await ask(source, 'a', 'And now?')
  expect(await copy(source, target)).toMatchObject({ copied: 1, conflicts: [] })
  expect(await logOf(target, 'a')).toEqual(await logOf(source, 'a'))
})

test('a thread with the same id and another log is a conflict, and is not touched', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Hello')
  await ask(source, 'b', 'Hello')
  await copy(source, target)
  await ask(source, 'a', 'One way')
  await ask(target, 'a', 'Another way')
  await target.create({ id: 'empty', agent: 'desk' }, { createdAt: 1 })
  await source.create({ id: 'empty', agent: 'desk' }, { createdAt: 2 })
  const before = await logOf(target, 'a')
  expect(await copy(source, target)).toMatchObject({ present: 1, copied: 0, conflicts: ['a', 'empty'] })
  expect(await logOf(target, 'a')).toEqual(before)
})

test('nothing is copied while a process works on the source', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'b', 'Hello')
  await ask(source, 'a', 'Hello')
  const input = { type: 'input', message: { role: 'user', content: 'x' }, mode: 'queue' } as const
  await source.signal('a', 'key', input)
  await source.claim('a', 'worker', 60_000)
  await expect(copy(source, target)).rejects.toThrow(
    "a process works on thread 'a' of the source: end all processes that use the source",
  )
  expect(await idsOf(target)).toEqual([])
})

test('a thread that changes while it is copied ends the copy', async () => {
  const [source, target] = [memoryStore(), memoryStore()]
  await ask(source, 'a', 'Hello')
  const changing: ThreadStore = {
    ...source,
    async keys(id) {
      await source.signal(id, 'late', { type: 'stop', reason: 'enough' })
      return source.keys(id)
    },
  }
  await expect(copy(changing, target)).rejects.toMatchObject({ code: 'conflict' })
  expect(await idsOf(target)).toEqual([])
})
