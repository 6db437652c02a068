import assert from 'node:assert/strict'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, leaseMs, ownedThread, textDelta, userInput } from './context.ts'

const dayMs = 86_400_000

function unchanged(store: SuiteStore, { forMs = dayMs, limit = 100 } = {}) {
  return store.findUnchanged(forMs, limit)
}

/** Lets a thread that has something to do come to rest. */
async function settle(store: SuiteStore, id: string, status: 'idle' | 'waiting' = 'idle') {
  const lease = await claimed(store, id, `settler of ${id}`)
  const { head = 0 } = (await store.get(id)) ?? {}
  assert.equal(await store.release(lease, { head, status }), 'released')
}

export const retentionCases: Cases = {
  'threads that have not changed for long are found, the oldest first': async ({ store, other, advance }) => {
    for (const id of ['a', 'b', 'c', 'd']) {
      await store.create({ id, agent: 'a' })
      advance(1000)
    }
    assert.deepEqual(await unchanged(other), [])
    advance(dayMs - 4000)
    assert.deepEqual(await unchanged(other), ['a'])
    advance(2999)
    assert.deepEqual(await unchanged(other), ['a', 'b', 'c'])
    advance(1)
    assert.deepEqual(await unchanged(other), ['a', 'b', 'c', 'd'])
    assert.deepEqual(await unchanged(other, { limit: 2 }), ['a', 'b'])
    assert.deepEqual(await unchanged(other, { forMs: 2 * dayMs }), [])
    await store.delete('a')
    assert.deepEqual(await unchanged(other, { limit: 2 }), ['b', 'c'])
  },

  'every entry is a change': async ({ store, other, advance }) => {
    for (const id of ['signaled', 'appended', 'untouched']) await store.create({ id, agent: 'a' })
    await store.signal('appended', undefined, userInput('hello'))
    const lease = await claimed(store, 'appended', 'worker')
    advance(dayMs)
    await other.signal('signaled', undefined, userInput('hello'))
    await settle(store, 'signaled')
    await store.append([{ lease, events: [textDelta('hello')] }])
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'released')
    assert.deepEqual(await unchanged(other), ['untouched'])
    advance(dayMs)
    assert.deepEqual(await unchanged(other), ['untouched', 'signaled', 'appended'])
  },

  'a thread that has something to do is not found, however old it is': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 'running')
    await store.create({ id: 'queued', agent: 'a' })
    await store.signal('queued', undefined, userInput('hello'))
    await store.create({ id: 'waiting', agent: 'a' })
    await store.signal('waiting', undefined, userInput('hello'))
    await settle(store, 'waiting', 'waiting')
    await store.create({ id: 'idle', agent: 'a' })
    advance(dayMs)
    assert.deepEqual(await store.renew([lease], leaseMs), [])
    assert.deepEqual(await unchanged(other), ['waiting', 'idle'])
    assert.deepEqual(await unchanged(other, { limit: 1 }), ['waiting'])
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'released')
    assert.deepEqual(await unchanged(other), ['running', 'waiting', 'idle'])
  },

  'a copy or a fork counts as changed when it was created here': async ({ store, other, now, advance }) => {
    const at = now() - 100 * dayMs
    await store.create({ id: 'before', agent: 'a' })
    const entries = [{ seq: 1, at, event: userInput('hello') }]
    await store.create({ id: 'copy', agent: 'a' }, { entries, createdAt: at })
    await store.create({ id: 'empty copy', agent: 'a' }, { createdAt: at })
    // From a machine whose clock was wrong.
    const future = [{ seq: 1, at: now() + 100 * dayMs, event: userInput('hello') }]
    await store.create({ id: 'future copy', agent: 'a' }, { entries: future, createdAt: now() + 50 * dayMs })
    await store.fork('copy', 1, { id: 'fork', agent: 'a', forkedFrom: { id: 'copy', seq: 1 } })
    for (const id of ['copy', 'future copy', 'fork']) await settle(store, id)
    await store.create({ id: 'after', agent: 'a' })
    await store.create({ id: 'continued copy', agent: 'a' }, { entries, createdAt: at })
    advance(dayMs - 1)
    assert.deepEqual(await unchanged(other), [])
    advance(1)
    const all = ['before', 'copy', 'empty copy', 'future copy', 'fork', 'after']
    assert.deepEqual(await unchanged(other), all)

    await store.signal('copy', undefined, userInput('again'))
    await settle(store, 'copy')
    const others = all.filter((id) => id !== 'copy')
    assert.deepEqual(await unchanged(other), others)
    await store.delete('copy')
    const lease = await claimed(store, 'continued copy', 'worker')
    await store.append([{ lease, events: [textDelta('hello')] }])
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'released')
    assert.deepEqual(await unchanged(other), others)
    advance(dayMs)
    assert.deepEqual(await unchanged(other), [...others, 'continued copy'])
  },
}
