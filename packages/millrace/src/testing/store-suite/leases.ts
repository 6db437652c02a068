import assert from 'node:assert/strict'
import type { Lease } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, leaseMs, ownedThread, readAll, textDelta, userInput } from './context.ts'

async function statusOf(store: SuiteStore, id = 't') {
  return (await store.get(id))?.status
}

/** Checks that a lost lease cannot change anything. A release may be repeated until the next claim. */
async function expectFenced(
  store: SuiteStore,
  lease: Lease,
  { isReleased = false }: { readonly isReleased?: boolean } = {},
): Promise<void> {
  const result = isReleased ? 'released' : 'fenced'
  const before = await store.get(lease.threadId)
  assert.deepEqual(await store.append([{ lease, events: [textDelta('late')] }]), ['fenced'])
  assert.deepEqual(await store.append([{ lease, events: [] }]), ['fenced'])
  assert.deepEqual(await store.renew([lease], 1e6), [lease])
  for (const status of ['idle', 'waiting', 'runnable'] as const)
    assert.equal(await store.release(lease, { head: before?.head ?? 0, status }), result)
  assert.deepEqual(await store.get(lease.threadId), before)
}

export const leaseCases: Cases = {
  'a thread can be claimed when there is something to do, by one owner': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    assert.equal(await store.claim('t', 'worker', leaseMs), undefined)
    await other.signal('t', undefined, userInput('hello'))
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? store : other).claim('t', `w${index}`, leaseMs)),
    )
    const winners = claims.flatMap((claim) => (claim ? [claim] : []))
    assert.equal(winners.length, 1)
    assert.equal(winners[0]?.losses, 0)
    assert.equal(winners[0]?.lease.owner, `w${claims.findIndex(Boolean)}`)
    assert.equal(winners[0]?.lease.threadId, 't')
  },

  'an owner keeps its thread until the lease has expired': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 't', 'first')
    await other.signal('t', undefined, userInput('more'))
    advance(leaseMs - 1)
    assert.equal(await other.claim('t', 'second', leaseMs), undefined)
    assert.deepEqual(await other.runnableIds(10, ['a']), [])
    advance(1)
    assert.deepEqual(await other.runnableIds(10, ['a']), ['t'])
    const claim = await other.claim('t', 'second', leaseMs)
    assert.equal(claim?.losses, 1)
    assert.notEqual(claim?.lease.epoch, lease.epoch)
    await expectFenced(store, lease)
    const [entries] = await other.append([{ lease: claim?.lease as Lease, events: [textDelta('x')] }])
    assert.deepEqual(entries === 'fenced' ? entries : entries?.map(({ seq }) => seq), [3])
  },

  'a repeated claim returns the same lease, extended': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 't', 'same')
    advance(leaseMs - 1)
    assert.deepEqual(await store.claim('t', 'same', leaseMs, { perCaller: 0 }), { lease, losses: 0 })
    advance(leaseMs - 1)
    assert.equal(await other.claim('t', 'second', leaseMs), undefined)
    assert.deepEqual((await store.append([{ lease, events: [textDelta('x')] }])).length, 1)
    // Even after it has expired, if no other owner came.
    advance(leaseMs)
    assert.deepEqual(await store.claim('t', 'same', leaseMs), { lease, losses: 0 })
    await expectFenced(store, { ...lease, owner: 'another' })
    assert.equal(await store.release(lease, { head: 2, status: 'runnable' }), 'released')
    // After its release it is a new claim.
    const again = await store.claim('t', 'same', leaseMs)
    assert.notEqual(again?.lease.epoch, lease.epoch)
    await expectFenced(store, lease)
  },

  'a repeated release is one, until the next claim': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.deepEqual(await store.renew([lease], leaseMs), [lease])
    const next = await claimed(other, 't', 'next')
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'fenced')
    assert.equal(await other.release(next, { head: 1, status: 'idle' }), 'released')
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'fenced')
    assert.equal((await store.get('t'))?.status, 'idle')
  },

  'an agent has no more concurrent runs than allowed': async ({ store, other, advance }) => {
    const limits = { perAgent: { a: 2, c: 0 } }
    for (const [id, agent] of Object.entries({ t1: 'a', t2: 'a', t3: 'a', u: 'b', v: 'c' })) {
      await store.create({ id, agent })
      await store.signal(id, undefined, userInput('hello'))
      advance(1)
    }
    const names = ['a', 'b', 'c']
    assert.deepEqual((await other.runnableIds(10, names, limits)).sort(), ['t1', 't2', 't3', 'u'])
    const first = await store.claim('t1', 'w1', leaseMs, limits)
    assert.ok(first)
    assert.ok(await other.claim('t2', 'w2', leaseMs, limits))
    assert.equal(await store.claim('t3', 'w3', leaseMs, limits), undefined)
    assert.equal(await store.claim('v', 'w4', leaseMs, limits), undefined)
    assert.deepEqual(await store.runnableIds(10, names, limits), ['u'])
    assert.ok(await other.claim('u', 'w5', leaseMs, limits))
    assert.equal(await store.release(first.lease, { head: 1, status: 'idle' }), 'released')
    assert.ok(await store.claim('t3', 'w3', leaseMs, limits))
    // Expired leases do not count.
    advance(leaseMs)
    assert.ok(await store.claim('t2', 'w6', leaseMs, limits))
  },

  'interactive threads run before batches': async ({ store, other, advance }) => {
    const created = { b1: 'batch', i1: undefined, b2: 'batch', i2: 'interactive' } as const
    for (const [id, priority] of Object.entries(created)) {
      await store.create({ id, agent: 'a', priority, caller: 'ada' })
      const { agent, ...signaled } = await store.signal(id, undefined, userInput('hello'))
      assert.equal(agent, 'a')
      assert.equal(signaled.priority, priority ?? 'interactive')
      advance(1)
    }
    assert.deepEqual(await other.runnableIds(10, ['a']), ['i1', 'i2', 'b1', 'b2'])
    assert.deepEqual(await other.runnableIds(3, ['a']), ['i1', 'i2', 'b1'])
    assert.deepEqual(await other.runnableIds(10, ['a'], { perCaller: 3 }), ['i1', 'i2', 'b1'])
    const [found] = await store.findRunnable(1, ['a'])
    assert.deepEqual(found, { id: 'i1', agent: 'a', head: 1, priority: 'interactive', waitedMs: 3 })
    assert.equal((await store.get('b2'))?.priority, 'batch')
    assert.equal((await store.get('i1'))?.priority, 'interactive')
  },

  'losses counts consecutive owners that did not release the thread': async ({ store, other, advance }) => {
    await ownedThread(store, 't')
    for (const losses of [1, 2, 3]) {
      advance(leaseMs)
      assert.equal((await other.claim('t', `w${losses}`, leaseMs))?.losses, losses)
      await store.signal('t', undefined, userInput('meanwhile'))
    }
    advance(leaseMs)
    const claim = await store.claim('t', 'good', leaseMs)
    assert.equal(claim?.losses, 4)
    assert.equal(await store.release(claim.lease, { head: 4, status: 'runnable' }), 'released')
    assert.equal((await store.claim('t', 'next', leaseMs))?.losses, 0)
    advance(leaseMs)
    assert.equal((await other.claim('t', 'last', leaseMs))?.losses, 1)
  },

  'an expired lease stays valid until another owner claims the thread': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 't')
    advance(leaseMs * 10)
    const [entries] = await store.append([{ lease, events: [textDelta('x')] }])
    assert.notEqual(entries, 'fenced')
    assert.equal(await statusOf(other), 'queued')
    assert.deepEqual(await store.renew([lease], leaseMs), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    assert.equal(await statusOf(other), 'running')
    advance(leaseMs * 10)
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'released')
  },

  'a lease that ends too far in the future has expired, since the clock was set back': async ({
    store,
    other,
    advance,
  }) => {
    const lease = await ownedThread(store, 't')
    advance(-leaseMs)
    assert.equal(await statusOf(other), 'running')
    assert.deepEqual(await other.runnableIds(10, ['a']), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    advance(-1)
    assert.equal(await statusOf(other), 'queued')
    assert.deepEqual(await other.runnableIds(10, ['a']), ['t'])
    assert.equal((await other.list({ limit: 9, status: 'queued' })).threads.length, 1)
    assert.equal((await other.list({ limit: 9, status: 'running' })).threads.length, 0)
    // Its owner may still be alive.
    assert.deepEqual(await store.renew([lease], leaseMs), [])
    assert.equal(await statusOf(other), 'running')
    assert.equal((await other.list({ limit: 9, status: 'running' })).threads.length, 1)
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    advance(-30_000)
    assert.equal((await other.claim('t', 'other', leaseMs))?.losses, 1)
    await expectFenced(store, lease)
  },

  'renewing extends all leases except lost ones, and returns those': async ({ store, other, advance }) => {
    const leases = []
    for (const id of ['t0', 't1', 't2', 't3']) leases.push(await ownedThread(store, id))
    const [kept, taken, deleted, released] = leases as [Lease, Lease, Lease, Lease]
    advance(leaseMs - 1000)
    assert.deepEqual(await store.renew([kept, deleted, released], leaseMs), [])
    advance(1000)
    await claimed(other, 't1', 'other')
    await other.delete('t2')
    await store.release(released, { head: 1, status: 'idle' })
    assert.deepEqual(await store.renew(leases, leaseMs), [taken, deleted, released])
    advance(leaseMs - 1)
    assert.equal(await other.claim('t0', 'other', leaseMs), undefined)
    advance(1)
    assert.equal((await other.claim('t0', 'other', leaseMs))?.losses, 1)
    assert.deepEqual(await store.renew([], leaseMs), [])
  },

  'a thread is released only at the head that was folded': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await other.signal('t', undefined, userInput('just in time'))
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'moved')
    assert.equal(await statusOf(other), 'running')
    const [entries] = await store.append([{ lease, events: [textDelta('x')] }])
    assert.notEqual(entries, 'fenced')
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'moved')
    assert.equal(await store.release(lease, { head: 3, status: 'idle' }), 'released')
    assert.equal(await statusOf(other), 'idle')
    assert.deepEqual(await other.runnableIds(10, ['a']), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    await expectFenced(store, lease, { isReleased: true })
  },

  'no signal is lost while a thread is being released': async ({ store, other }) => {
    for (let round = 0; round < 25; round++) {
      const id = `t${round}`
      const lease = await ownedThread(store, id)
      const [, released] = await Promise.all([
        other.signal(id, undefined, userInput('now')),
        store.release(lease, { head: 1, status: 'idle' }),
      ])
      if (released === 'released') assert.deepEqual(await store.runnableIds(10, ['a']), [id])
      else assert.equal(released, 'moved')
      await store.delete(id)
    }
  },

  'a thread that waits for approval rests until the next signal': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 't')
    assert.equal(await store.release(lease, { head: 1, status: 'waiting' }), 'released')
    assert.equal(await statusOf(other), 'waiting')
    advance(leaseMs * 1000)
    assert.deepEqual(await other.runnableIds(10, ['a']), [])
    assert.equal(await other.claim('t', 'other', leaseMs), undefined)
    await other.signal('t', undefined, { type: 'approval', callId: 'c', approved: true })
    assert.equal(await statusOf(store), 'queued')
    assert.equal((await store.claim('t', 'worker', leaseMs))?.losses, 0)
    assert.equal(await statusOf(other), 'running')
  },

  'a thread that is handed over continues with the next owner, without a loss': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.equal(await statusOf(other), 'queued')
    assert.deepEqual(await other.runnableIds(10, ['a']), ['t'])
    await expectFenced(store, lease, { isReleased: true })
    assert.equal((await other.claim('t', 'other', leaseMs))?.losses, 0)
    await expectFenced(store, lease)
  },

  'signals to a running thread are there for the next owner': async ({ store, other, advance }) => {
    await ownedThread(store, 't')
    await store.signal('t', undefined, userInput('and this'))
    advance(leaseMs)
    const lease = await claimed(other, 't', 'other')
    const log = await readAll(other, 't')
    assert.equal(await other.release(lease, { head: log.length, status: 'idle' }), 'released')
    assert.equal(await statusOf(store), 'idle')
  },

  'runnable threads are found in the order in which they have waited': async ({ store, other, advance }) => {
    await ownedThread(store, 'lapses')
    await store.create({ id: 'idle', agent: 'a' })
    for (const id of ['first', 'second', 'handed over']) {
      advance(1000)
      await store.create({ id, agent: 'a' })
      await other.signal(id, undefined, userInput('hello'))
    }
    advance(1000)
    // Another message does not change how long the first one has waited.
    await store.signal('first', undefined, userInput('still there?'))
    const lease = await claimed(store, 'handed over', 'worker')
    assert.deepEqual(await other.runnableIds(10, ['a']), ['first', 'second'])
    advance(leaseMs - 4000)
    assert.deepEqual(await other.runnableIds(10, ['a']), ['first', 'second', 'lapses'])
    advance(1)
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.deepEqual(await other.runnableIds(10, ['a']), ['first', 'second', 'lapses', 'handed over'])
    assert.deepEqual(await other.runnableIds(1, ['a']), ['first'])
    await claimed(store, 'second', 'worker')
    assert.deepEqual(await other.runnableIds(10, ['a']), ['first', 'lapses', 'handed over'])
  },

  'runnable threads are found by agent': async ({ store, other }) => {
    for (const agent of ['a', 'b', 'a b', '"a"']) {
      await store.create({ id: `of ${agent}`, agent })
      await store.signal(`of ${agent}`, undefined, userInput('hello'))
    }
    assert.deepEqual(await other.runnableIds(10, ['a']), ['of a'])
    assert.deepEqual(await other.runnableIds(10, ['"a"', 'b', 'c']), ['of b', 'of "a"'])
    assert.deepEqual(await other.runnableIds(10, []), [])
  },

  'an owner is fenced when its thread is deleted': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await other.delete('t')
    assert.deepEqual(await store.append([{ lease, events: [textDelta('x')] }]), ['fenced'])
    assert.deepEqual(await store.renew([lease], leaseMs), [lease])
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'fenced')
    assert.equal(await store.get('t'), undefined)
  },
}
