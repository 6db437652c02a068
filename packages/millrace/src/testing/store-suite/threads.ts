import assert from 'node:assert/strict'
import type { Entry } from '../../protocol/index.ts'
import type { Lease } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import {
  claimed,
  infoOf,
  leaseMs,
  ownedThread,
  readAll,
  rejectsWith,
  textDelta,
  userInput,
} from './context.ts'

const log: Entry[] = [
  { seq: 1, at: 1000, event: userInput('hello') },
  { seq: 4, from: 2, at: 1003, event: textDelta('three deltas') },
  { seq: 5, at: 1004, event: { type: 'part-end', part: 'text' } },
]

/** Names that a careless store could confuse. */
const oddNames = [
  'a',
  'A',
  'a ',
  "'; DROP TABLE threads; --",
  '"quoted"',
  '%',
  '_',
  '..',
  'é',
  'e\u0301',
  'ß',
  '😀',
  'a\0b',
  'a\0c',
  '\ud83d',
  '\ud83e',
  'x'.repeat(2000),
]

export const threadCases: Cases = {
  'a new thread is empty, idle, and has the given properties': async ({ store, other, now }) => {
    const thread = { id: 't', agent: 'a', user: 'u', metadata: { deep: [1, { x: null }] } }
    assert.equal(await store.create({ ...thread, forkedFrom: { id: 'o', seq: 7 } }), true)
    assert.deepEqual(await infoOf(other, 't'), {
      ...thread,
      forkedFrom: { id: 'o', seq: 7 },
      createdAt: now(),
      updatedAt: now(),
      head: 0,
      status: 'idle',
    })
    assert.deepEqual(await store.read('t', { after: 0, limit: 10 }), [])
    assert.equal(await store.claim('t', 'worker', leaseMs), undefined)
    await store.create({ id: 'bare', agent: 'a' })
    assert.deepEqual(Object.keys((await infoOf(store, 'bare')) ?? {}).sort(), [
      'agent',
      'createdAt',
      'head',
      'id',
      'status',
      'updatedAt',
    ])
  },

  'an existing thread is not created again, and stays unchanged': async ({ store, other, advance }) => {
    await store.create({ id: 't', agent: 'first' })
    await store.signal('t', undefined, userInput('hello'))
    const before = await store.get('t')
    advance(10)
    assert.equal(await other.create({ id: 't', agent: 'second' }), false)
    assert.equal(await store.create({ id: 't', agent: 'second' }, { entries: log }), false)
    assert.deepEqual(await store.get('t'), before)
    assert.equal((await readAll(store, 't')).length, 1)
  },

  'of many concurrent creates, one succeeds': async ({ store, other }) => {
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).create({ id: 't', agent: `${index}` }),
      ),
    )
    assert.equal(created.filter(Boolean).length, 1)
    assert.equal((await store.get('t'))?.agent, String(created.indexOf(true)))
  },

  'a thread created with entries continues after them': async ({ store, other, now }) => {
    assert.equal(await store.create({ id: 't', agent: 'a' }, { entries: log }), true)
    assert.deepEqual(await readAll(other, 't'), log)
    const info = await other.get('t')
    assert.deepEqual(
      { head: info?.head, createdAt: info?.createdAt, updatedAt: info?.updatedAt, status: info?.status },
      { head: 5, createdAt: now(), updatedAt: 1004, status: 'queued' },
    )
    assert.deepEqual(await other.runnableIds(10, ['a']), ['t'])
    const { entry } = await store.signal('t', undefined, userInput('continue'))
    assert.equal(entry.seq, 6)
    // A number inside joined deltas without cuts returns a part of the text, always the same.
    const [rest] = await store.read('t', { after: 2, limit: 1 })
    assert.equal(rest?.from, 3)
    assert.ok(rest.event.type === 'text' && 'three deltas'.endsWith(rest.event.text))
    assert.deepEqual(
      (await readAll(store, 't', { split: true })).map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6],
    )
  },

  'a log with a gap is rejected, and no thread is created': async ({ store }) => {
    const [first, second, third] = log as [Entry, Entry, Entry]
    for (const entries of [[second], [first, third], [first, first], [{ ...third, seq: 2, from: 1 }]])
      await rejectsWith('store_error', store.create({ id: 't', agent: 'a' }, { entries }))
    assert.equal(await store.get('t'), undefined)
  },

  'calls about a missing thread report that': async ({ store }) => {
    const lease: Lease = { threadId: 'missing', owner: 'worker', epoch: 1 }
    assert.equal(await store.get('missing'), undefined)
    assert.equal(await store.delete('missing'), false)
    assert.equal(await store.claim('missing', 'worker', leaseMs), undefined)
    assert.deepEqual(await store.append([{ lease, events: [textDelta('x')] }]), ['fenced'])
    assert.deepEqual(await store.renew([lease], leaseMs), [lease])
    assert.equal(await store.release(lease, { head: 0, status: 'idle' }), 'fenced')
    await rejectsWith('not_found', store.read('missing', { after: 0, limit: 1 }))
    await rejectsWith('not_found', store.signal('missing', 'key', userInput('x')))
    await rejectsWith('not_found', store.packDeltas('missing', 5))
    assert.equal(await store.get('missing'), undefined)
  },

  'a deleted thread is gone with its log and its keys, and its id is free': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await store.signal('t', 'key', userInput('again'))
    assert.equal(await other.delete('t'), true)
    assert.equal(await other.delete('t'), false)
    assert.equal(await store.get('t'), undefined)
    assert.deepEqual((await store.list({ limit: 10 })).threads, [])
    assert.deepEqual(await store.runnableIds(10, ['a']), [])
    await rejectsWith('not_found', store.read('t', { after: 0, limit: 1 }))

    assert.equal(await store.create({ id: 't', agent: 'a' }), true)
    assert.deepEqual(await store.read('t', { after: 0, limit: 10 }), [])
    const { entry, repeated } = await store.signal('t', 'key', userInput('new'))
    assert.deepEqual({ seq: entry.seq, repeated }, { seq: 1, repeated: false })
    // The old thread's owner is fenced from the new one, even with the same owner name.
    const next = await claimed(store, 't', lease.owner)
    assert.deepEqual(await store.append([{ lease, events: [textDelta('ghost')] }]), ['fenced'])
    assert.deepEqual(await store.renew([lease, next], leaseMs), [lease])
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'fenced')
  },

  'similar names are different threads, owners and keys': async ({ store, other }) => {
    for (const id of oddNames) assert.equal(await store.create({ id, agent: id, user: id }), true, id)
    for (const id of oddNames) {
      const { seq } = (await other.signal(id, id, userInput(id))).entry
      assert.equal(seq, 1, id)
      assert.equal((await store.signal(id, id, userInput(id))).repeated, true)
      const { lease } = (await store.claim(id, id, leaseMs)) ?? {}
      assert.deepEqual({ id: lease?.threadId, owner: lease?.owner }, { id, owner: id })
    }
    for (const id of oddNames) {
      const info = await other.get(id)
      assert.deepEqual([info?.id, info?.agent, info?.user, info?.head], [id, id, id, 1])
      const { threads } = await store.list({ limit: 100, user: id })
      assert.deepEqual(
        threads.map((thread) => thread.id),
        [id],
      )
    }
    const keys = await Promise.all(oddNames.map((key) => store.signal('a', `k${key}`, userInput(key))))
    assert.equal(new Set(keys.map(({ entry }) => entry.seq)).size, oddNames.length)
  },

  'a closed store rejects everything, and another one stays open': async ({
    store,
    other,
    severalHandles,
  }) => {
    const lease = await ownedThread(store, 't')
    const changed: string[] = []
    const watcher = { changed: (id: string) => changed.push(id), runnable: () => changed.push('runnable') }
    store.watch(watcher).follow('t')
    await store.close()
    await store.close()
    const calls: ((store: SuiteStore) => Promise<unknown>)[] = [
      (store) => store.create({ id: 'u', agent: 'a' }),
      (store) => store.get('t'),
      (store) => store.list({ limit: 1 }),
      (store) => store.delete('t'),
      (store) => store.append([{ lease, events: [textDelta('x')] }]),
      (store) => store.signal('t', undefined, userInput('x')),
      (store) => store.read('t', { after: 0, limit: 1 }),
      (store) => store.claim('t', 'worker', leaseMs),
      (store) => store.renew([lease], leaseMs),
      (store) => store.release(lease, { head: 1, status: 'idle' }),
      (store) => store.runnableIds(1, ['a']),
      (store) => store.heads(['t']),
      (store) => store.packDeltas('t', 1),
    ]
    for (const call of calls) await rejectsWith('store_error', call(store))
    const watch = store.watch(watcher)
    watch.follow('t')
    assert.deepEqual(changed, [])
    if (!severalHandles) return
    assert.equal((await other.get('t'))?.head, 1)
    const [written] = await other.append([{ lease, events: [textDelta('x')] }])
    assert.notEqual(written, 'fenced')
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.deepEqual(changed, [])
    watch.close()
  },

  'calls made before closing are still completed': async ({ store, other, severalHandles }) => {
    const lease = await ownedThread(store, 't')
    await store.create({ id: 'u', agent: 'a' })
    const pending = [
      store.append([{ lease, events: [textDelta('x')] }]),
      ...Array.from({ length: 5 }, () => store.signal('u', undefined, userInput('last'))),
    ]
    await store.close()
    await Promise.all(pending)
    if (severalHandles) assert.deepEqual([...(await other.heads(['t', 'u'])).values()], [2, 5])
  },
}
