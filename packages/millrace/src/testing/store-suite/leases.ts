import assert from 'node:assert/strict'
import type { Lease, ThreadStore } from '../../threads/index.ts'
import type { Cases } from './scene.ts'
import { claimed, leaseMs, ownedThread, readAll, said, word } from './scene.ts'

async function statusOf(store: ThreadStore, id = 't') {
  return (await store.get(id))?.status
}

/** A lease that has been lost may not change anything, in any way. */
async function isFenced(store: ThreadStore, lease: Lease): Promise<void> {
  const before = await store.get(lease.threadId)
  assert.deepEqual(await store.append([{ lease, events: [word('late')] }]), ['fenced'])
  assert.deepEqual(await store.append([{ lease, events: [] }]), ['fenced'])
  assert.deepEqual(await store.renew([lease], 1e6), [lease])
  for (const status of ['idle', 'waiting', 'runnable'] as const)
    assert.equal(await store.release(lease, { head: before?.head ?? 0, status }), 'fenced')
  assert.deepEqual(await store.get(lease.threadId), before)
}

export const leaseCases: Cases = {
  'a thread is claimed when there is something to do, and by one': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    assert.equal(await store.claim('t', 'worker', leaseMs), undefined)
    await other.signal('t', undefined, said('hello'))
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? store : other).claim('t', `w${index}`, leaseMs)),
    )
    const winners = claims.flatMap((claim) => (claim ? [claim] : []))
    assert.equal(winners.length, 1)
    assert.equal(winners[0]?.losses, 0)
    assert.equal(winners[0]?.lease.owner, `w${claims.findIndex(Boolean)}`)
    assert.equal(winners[0]?.lease.threadId, 't')
  },

  'whoever works on a thread is left alone until the lease has run out': async ({ store, other, pass }) => {
    const lease = await ownedThread(store, 't', 'first')
    await other.signal('t', undefined, said('more'))
    pass(leaseMs - 1)
    assert.equal(await other.claim('t', 'second', leaseMs), undefined)
    assert.equal(await store.claim('t', 'first', leaseMs), undefined)
    assert.deepEqual(await other.stranded(10, ['a']), [])
    pass(1)
    assert.deepEqual(await other.stranded(10, ['a']), ['t'])
    const claim = await other.claim('t', 'second', leaseMs)
    assert.equal(claim?.losses, 1)
    assert.notEqual(claim?.lease.epoch, lease.epoch)
    await isFenced(store, lease)
    const [entries] = await other.append([{ lease: claim?.lease as Lease, events: [word('x')] }])
    assert.deepEqual(entries === 'fenced' ? entries : entries?.map(({ seq }) => seq), [3])
  },

  'an owner that comes back is fenced from its own earlier lease too': async ({ store, pass }) => {
    const lease = await ownedThread(store, 't', 'same')
    pass(leaseMs)
    const again = await store.claim('t', 'same', leaseMs)
    assert.equal(again?.losses, 1)
    await isFenced(store, lease)
    await isFenced(store, { ...(again?.lease as Lease), owner: 'another' })
  },

  'losses are the owners in a row that did not give the thread back': async ({ store, other, pass }) => {
    await ownedThread(store, 't')
    for (const losses of [1, 2, 3]) {
      pass(leaseMs)
      assert.equal((await other.claim('t', `w${losses}`, leaseMs))?.losses, losses)
      await store.signal('t', undefined, said('meanwhile'))
    }
    pass(leaseMs)
    const claim = await store.claim('t', 'good', leaseMs)
    assert.equal(claim?.losses, 4)
    assert.equal(await store.release(claim.lease, { head: 4, status: 'runnable' }), 'released')
    assert.equal((await store.claim('t', 'next', leaseMs))?.losses, 0)
    pass(leaseMs)
    assert.equal((await other.claim('t', 'last', leaseMs))?.losses, 1)
  },

  'a lease that has run out is as good as ever until somebody claims the thread': async ({
    store,
    other,
    pass,
  }) => {
    const lease = await ownedThread(store, 't')
    pass(leaseMs * 10)
    const [entries] = await store.append([{ lease, events: [word('x')] }])
    assert.notEqual(entries, 'fenced')
    assert.equal(await statusOf(other), 'queued')
    assert.deepEqual(await store.renew([lease], leaseMs), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    assert.equal(await statusOf(other), 'running')
    pass(leaseMs * 10)
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'released')
  },

  'a lease that ends more than twice as late as it was given for has expired: the clock was set back':
    async ({ store, other, pass }) => {
      const lease = await ownedThread(store, 't')
      pass(-leaseMs)
      assert.equal(await statusOf(other), 'running')
      assert.deepEqual(await other.stranded(10, ['a']), [])
      assert.equal(await other.claim('t', 'other', leaseMs), undefined)
      pass(-1)
      assert.equal(await statusOf(other), 'queued')
      assert.deepEqual(await other.stranded(10, ['a']), ['t'])
      assert.equal((await other.list({ limit: 9, status: 'queued' })).threads.length, 1)
      assert.equal((await other.list({ limit: 9, status: 'running' })).threads.length, 0)
      // Its owner may still be there.
      assert.deepEqual(await store.renew([lease], leaseMs), [])
      assert.equal(await statusOf(other), 'running')
      assert.equal((await other.list({ limit: 9, status: 'running' })).threads.length, 1)
      assert.equal(await other.claim('t', 'other', leaseMs), undefined)
      pass(-30_000)
      assert.equal((await other.claim('t', 'other', leaseMs))?.losses, 1)
      await isFenced(store, lease)
    },

  'renewing lengthens all leases but those that are lost, and says which': async ({ store, other, pass }) => {
    const leases = []
    for (const id of ['t0', 't1', 't2', 't3']) leases.push(await ownedThread(store, id))
    const [kept, taken, deleted, released] = leases as [Lease, Lease, Lease, Lease]
    pass(leaseMs - 1000)
    assert.deepEqual(await store.renew([kept, deleted, released], leaseMs), [])
    pass(1000)
    await claimed(other, 't1', 'other')
    await other.delete('t2')
    await store.release(released, { head: 1, status: 'idle' })
    assert.deepEqual(await store.renew(leases, leaseMs), [taken, deleted, released])
    pass(leaseMs - 1)
    assert.equal(await other.claim('t0', 'other', leaseMs), undefined)
    pass(1)
    assert.equal((await other.claim('t0', 'other', leaseMs))?.losses, 1)
    assert.deepEqual(await store.renew([], leaseMs), [])
  },

  'a thread is released only at the head that was seen': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await other.signal('t', undefined, said('just in time'))
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'moved')
    assert.equal(await statusOf(other), 'running')
    const [entries] = await store.append([{ lease, events: [word('x')] }])
    assert.notEqual(entries, 'fenced')
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'moved')
    assert.equal(await store.release(lease, { head: 3, status: 'idle' }), 'released')
    assert.equal(await statusOf(other), 'idle')
    assert.deepEqual(await other.stranded(10, ['a']), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    await isFenced(store, lease)
  },

  'nothing that is said while a thread is being released is forgotten': async ({ store, other }) => {
    for (let round = 0; round < 25; round++) {
      const id = `t${round}`
      const lease = await ownedThread(store, id)
      const [, released] = await Promise.all([
        other.signal(id, undefined, said('now')),
        store.release(lease, { head: 1, status: 'idle' }),
      ])
      if (released === 'released') assert.deepEqual(await store.stranded(10, ['a']), [id])
      else assert.equal(released, 'moved')
      await store.delete(id)
    }
  },

  'a thread that waits for a person rests until something is said': async ({ store, other, pass }) => {
    const lease = await ownedThread(store, 't')
    assert.equal(await store.release(lease, { head: 1, status: 'waiting' }), 'released')
    assert.equal(await statusOf(other), 'waiting')
    pass(leaseMs * 1000)
    assert.deepEqual(await other.stranded(10, ['a']), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    await other.signal('t', undefined, { type: 'approval', callId: 'c', approved: true })
    assert.equal(await statusOf(store), 'queued')
    assert.equal((await store.claim('t', 'worker', leaseMs))?.losses, 0)
    assert.equal(await statusOf(other), 'running')
  },

  'a thread that is handed over goes on with the next owner, and is not lost': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.equal(await statusOf(other), 'queued')
    assert.deepEqual(await other.stranded(10, ['a']), ['t'])
    await isFenced(store, lease)
    assert.equal((await other.claim('t', 'other', leaseMs))?.losses, 0)
  },

  'what was said to a running thread is there for whoever takes over': async ({ store, other, pass }) => {
    await ownedThread(store, 't')
    await store.signal('t', undefined, said('and this'))
    pass(leaseMs)
    const lease = await claimed(other, 't', 'other')
    const log = await readAll(other, 't')
    assert.equal(await other.release(lease, { head: log.length, status: 'idle' }), 'released')
    assert.equal(await statusOf(store), 'idle')
  },

  'stranded threads come in the order in which they have waited': async ({ store, other, pass }) => {
    await ownedThread(store, 'lapses')
    await store.create({ id: 'idle', agent: 'a' })
    for (const id of ['first', 'second', 'handed over']) {
      pass(1000)
      await store.create({ id, agent: 'a' })
      await other.signal(id, undefined, said('hello'))
    }
    pass(1000)
    // The first one is told more, and has waited no shorter for it.
    await store.signal('first', undefined, said('still there?'))
    const lease = await claimed(store, 'handed over', 'worker')
    assert.deepEqual(await other.stranded(10, ['a']), ['first', 'second'])
    pass(leaseMs - 4000)
    assert.deepEqual(await other.stranded(10, ['a']), ['first', 'second', 'lapses'])
    pass(1)
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.deepEqual(await other.stranded(10, ['a']), ['first', 'second', 'lapses', 'handed over'])
    assert.deepEqual(await other.stranded(1, ['a']), ['first'])
    await claimed(store, 'second', 'worker')
    assert.deepEqual(await other.stranded(10, ['a']), ['first', 'lapses', 'handed over'])
  },

  'stranded threads are told to those that have their agent': async ({ store, other }) => {
    for (const agent of ['a', 'b', 'a b', '"a"']) {
      await store.create({ id: `of ${agent}`, agent })
      await store.signal(`of ${agent}`, undefined, said('hello'))
    }
    assert.deepEqual(await other.stranded(10, ['a']), ['of a'])
    assert.deepEqual(await other.stranded(10, ['"a"', 'b', 'c']), ['of b', 'of "a"'])
    assert.deepEqual(await other.stranded(10, []), [])
  },

  'an owner is fenced when its thread is deleted': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await other.delete('t')
    assert.deepEqual(await store.append([{ lease, events: [word('x')] }]), ['fenced'])
    assert.deepEqual(await store.renew([lease], leaseMs), [lease])
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'fenced')
    assert.equal(await store.get('t'), undefined)
  },
}
