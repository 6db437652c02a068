import assert from 'node:assert/strict'
import type { DayLimit, Hold, Lease } from '../../log/index.ts'
import type { Limits } from '../../protocol/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, leaseMs, textDelta } from './context.ts'
import { ownedBy, roundEnd, toolResult } from './spending.ts'

const minuteMs = 60_000

/** What an agent may spend per day. */
function agentLimit(limits: Limits, name = 'a'): DayLimit {
  return { scope: 'agent', name, limits }
}

/** A request that costs between 1 and 4 dollars, if the agent may spend 10 a day. */
function request(id: string, more: Partial<Hold> = {}): Hold {
  return { id, least: { usd: 1 }, most: { usd: 4 }, limits: [agentLimit({ usd: 10 })], ...more }
}

async function typeOf(store: SuiteStore, lease: Lease, hold: Hold): Promise<string> {
  return (await store.hold(lease, hold)).type
}

/** Whether all of the budget is free. */
async function isFree(store: SuiteStore, lease: Lease): Promise<boolean> {
  const type = await typeOf(store, lease, request('probe', { most: { usd: 10 } }))
  if (type === 'held') await store.append([{ lease, events: [], freed: ['probe'] }])
  return type === 'held'
}

export const holdCases: Cases = {
  'requests are sent as long as all of them together stay below the limits': async ({ store, other }) => {
    const first = await ownedBy(store, 't')
    const second = await ownedBy(store, 'u')
    assert.deepEqual(await store.hold(first, request('one')), { type: 'held' })
    assert.deepEqual(await other.hold(second, request('one')), { type: 'held' })
    assert.deepEqual(await store.hold(first, request('two')), { type: 'wait' })
    assert.deepEqual(await store.hold(first, request('two', { most: { usd: 2 } })), { type: 'held' })
    assert.deepEqual(await other.hold(second, request('two', { most: { usd: 0.1 } })), { type: 'wait' })
    const elsewhere = request('two', { limits: [agentLimit({ usd: 10 }, 'b')] })
    assert.deepEqual(await other.hold(second, elsewhere), { type: 'held' })
  },

  'a hold ends with the batch that says what was spent': async ({ store, other }) => {
    const lease = await ownedBy(store, 't', { user: 'ada' })
    const waiting = await ownedBy(store, 'u', { user: 'ada' })
    const limits: DayLimit[] = [agentLimit({ usd: 100 }), { scope: 'user', name: 'ada', limits: { usd: 10 } }]
    const large = (id: string) => request(id, { most: { usd: 8 }, limits })
    assert.equal(await typeOf(store, lease, large('one')), 'held')
    assert.equal(await typeOf(other, waiting, large('one')), 'wait')
    await store.append([{ lease, events: [textDelta('hi')] }])
    assert.equal(await typeOf(other, waiting, large('one')), 'wait')
    await store.append([{ lease, events: [roundEnd(2)], freed: ['one', 'unknown'] }])
    assert.equal(await typeOf(other, waiting, large('one')), 'held')
    // Without events, as for a request that failed before it was paid for.
    await other.append([{ lease: waiting, events: [], freed: ['one'] }])
    assert.equal(await typeOf(store, lease, large('two')), 'held')
    await store.append([{ lease, events: [roundEnd(8)], freed: ['two'] }])
    assert.deepEqual(await other.hold(waiting, large('two')), {
      type: 'reached',
      limit: { scope: 'user', kind: 'usd', limit: 10, spent: 10 },
    })
  },

  'the only request may be sent if the limits are not reached, whatever it uses': async ({
    store,
    other,
  }) => {
    const lease = await ownedBy(store, 't')
    const another = await ownedBy(store, 'u')
    await store.append([{ lease, events: [roundEnd(8)] }])
    assert.equal(await typeOf(store, lease, request('one', { most: { usd: 500 } })), 'held')
    assert.equal(await typeOf(other, another, request('one', { least: {}, most: {} })), 'wait')
    await store.append([{ lease, events: [roundEnd(1.5)], freed: ['one'] }])
    assert.deepEqual(await other.hold(another, request('one')), {
      type: 'reached',
      limit: { scope: 'agent', kind: 'usd', limit: 10, spent: 9.5 },
    })
    assert.equal(await typeOf(other, another, request('one', { least: { usd: 0.5 } })), 'held')
  },

  'tokens, rounds, calls and time are limited too': async ({ store }) => {
    const lease = await ownedBy(store, 't')
    const another = await ownedBy(store, 'u')
    const wants = (limits: Limits, most: Limits = {}) =>
      request('one', { least: {}, most, limits: [agentLimit(limits)] })
    await store.append([
      { lease, events: [roundEnd(1), toolResult('search'), { type: 'run-start', lostMs: 70 } as never] },
    ])
    const result = (limits: Limits) => store.hold(lease, wants(limits))
    const reached = (kind: keyof Limits, spent: number) => ({
      type: 'reached',
      limit: { scope: 'agent', kind, limit: spent, spent },
    })
    assert.deepEqual(await result({ tokens: 110 }), reached('tokens', 110))
    assert.deepEqual(await result({ rounds: 1 }), reached('rounds', 1))
    assert.deepEqual(await result({ ms: 70 }), reached('ms', 70))
    assert.deepEqual(await result({ tokens: 111, rounds: 2, ms: 71, usd: 2 }), { type: 'held' })
    assert.deepEqual(await result({ toolCalls: 3 }), {
      type: 'held',
      toolCalls: { scope: 'agent', kind: 'toolCalls', limit: 3, spent: 1 },
    })
    assert.equal(await typeOf(store, another, wants({}, { tokens: 500, rounds: 1 })), 'held')
    assert.equal(await typeOf(store, lease, wants({ tokens: 610 }, { tokens: 1 })), 'wait')
    assert.equal(await typeOf(store, lease, wants({ tokens: 611 }, { tokens: 1 })), 'held')
    assert.equal(await typeOf(store, lease, wants({ rounds: 2 }, { rounds: 1 })), 'wait')
    assert.equal(await typeOf(store, lease, wants({ rounds: 3 }, { rounds: 1 })), 'held')
  },

  'repeating an id replaces the hold, or removes it if there is no room': async ({ store, other }) => {
    const lease = await ownedBy(store, 't')
    const another = await ownedBy(store, 'u')
    assert.equal(await typeOf(store, lease, request('one', { most: { usd: 9 } })), 'held')
    assert.equal(await typeOf(store, lease, request('one', { most: { usd: 2 } })), 'held')
    assert.equal(await typeOf(other, another, request('one', { most: { usd: 8 } })), 'held')
    assert.equal(await typeOf(store, lease, request('one', { most: { usd: 3 } })), 'wait')
    assert.equal(await typeOf(other, another, request('one', { most: { usd: 10 } })), 'held')
    await other.append([{ lease: another, events: [], freed: ['one'] }])
    assert.ok(await isFree(store, lease))
    // It holds no longer what it does not name.
    const twice = [agentLimit({ usd: 10 }), agentLimit({ usd: 10 }, 'b'), agentLimit({ usd: 9 })]
    assert.equal(await typeOf(store, lease, request('two', { limits: twice })), 'held')
    assert.equal(await isFree(other, another), false)
    assert.equal(await typeOf(store, lease, request('two', { limits: [] })), 'held')
    assert.ok(await isFree(other, another))
  },

  'the holds of a thread end when it is released or deleted': async ({ store, other }) => {
    const lease = await ownedBy(store, 't')
    const another = await ownedBy(store, 'u')
    assert.equal(await typeOf(store, lease, request('one')), 'held')
    assert.equal(await typeOf(store, lease, request('two')), 'held')
    assert.equal(await isFree(other, another), false)
    assert.equal(await store.release(lease, { head: 0, status: 'idle' }), 'moved')
    assert.equal(await isFree(other, another), false)
    assert.equal(await store.release(lease, { head: 1, status: 'runnable' }), 'released')
    assert.ok(await isFree(other, another))
    assert.deepEqual(await store.hold(lease, request('one')), { type: 'fenced' })
    const next = await claimed(store, 't', 'another worker')
    assert.equal(await typeOf(store, next, request('one')), 'held')
    assert.equal(await isFree(other, another), false)
    await store.delete('t')
    assert.ok(await isFree(other, another))
    assert.deepEqual(await store.hold(next, request('one')), { type: 'fenced' })
  },

  'a new owner keeps the holds of the one before, until its own first hold': async ({
    store,
    other,
    advance,
  }) => {
    const lost = await ownedBy(store, 't')
    assert.equal(await typeOf(store, lost, request('one')), 'held')
    advance(leaseMs)
    const another = await ownedBy(store, 'u')
    const lease = await claimed(other, 't', 'another worker')
    assert.equal(await isFree(store, another), false)
    assert.deepEqual(await store.hold(lost, request('one')), { type: 'fenced' })
    assert.deepEqual(await store.append([{ lease: lost, events: [], freed: ['one'] }]), ['fenced'])
    assert.equal(await isFree(store, another), false)
    assert.equal(await typeOf(other, lease, request('two', { most: { usd: 10 } })), 'held')
    await other.append([{ lease, events: [], freed: ['two'] }])
    assert.ok(await isFree(store, another))
    assert.equal(await typeOf(other, lease, request('one')), 'held')
    assert.equal(await isFree(store, another), false)
  },

  'a hold is ignored when its lease has been expired for a minute': async ({ store, other, advance }) => {
    const lost = await ownedBy(store, 't')
    assert.equal(await typeOf(store, lost, request('one')), 'held')
    advance(leaseMs + minuteMs - 1)
    const another = await ownedBy(store, 'u')
    assert.equal(await isFree(other, another), false)
    advance(1)
    assert.ok(await isFree(other, another))
    // The process was only slow, and no other has claimed the thread.
    await store.renew([lost], leaseMs)
    assert.equal(await isFree(other, another), false)
  },

  'a new day starts with nothing spent, and what is held stays held': async ({ store, advance, now }) => {
    const lease = await ownedBy(store, 't')
    const another = await ownedBy(store, 'u')
    advance(Date.parse('2023-11-15') - now() - 1)
    await store.renew([lease, another], leaseMs)
    await store.append([{ lease, events: [roundEnd(10)] }])
    assert.equal(await typeOf(store, another, request('one')), 'reached')
    assert.equal(await typeOf(store, lease, request('one', { limits: [agentLimit({ usd: 20 })] })), 'held')
    advance(1)
    // Its request is paid today.
    assert.equal(await isFree(store, another), false)
    await store.append([{ lease, events: [roundEnd(1)], freed: ['one'] }])
    assert.equal(await typeOf(store, another, request('one')), 'held')
    assert.deepEqual(await store.hold(lease, request('two', { limits: [agentLimit({ usd: 1 })] })), {
      type: 'reached',
      limit: { scope: 'agent', kind: 'usd', limit: 1, spent: 1 },
    })
  },

  'requests at the same moment hold no more than there is': async ({ store, other }) => {
    const leases = await Promise.all(
      Array.from({ length: 12 }, (_, index) => ownedBy(store, `t${index}`, { user: 'ada' })),
    )
    // Named in different orders.
    const limits: DayLimit[] = [agentLimit({ usd: 10 }), { scope: 'user', name: 'ada', limits: { usd: 10 } }]
    for (let round = 1; round <= 5; round++) {
      const ids = [`${round}`]
      const types = await Promise.all(
        leases.map((lease, index) =>
          typeOf(index % 2 ? store : other, lease, {
            ...request(`${round}`, { least: { usd: 0.5 }, most: { usd: 3 } }),
            limits: index % 3 ? limits : limits.toReversed(),
          }),
        ),
      )
      const held = leases.filter((_, index) => types[index] === 'held')
      assert.equal(held.length, Math.floor((10 - 1.5 * (round - 1)) / 3) || 1, `round ${round}: ${types}`)
      const paid = held.slice(0, 1)
      await Promise.all(
        held.map((lease, index) =>
          (index % 2 ? store : other).append([
            { lease, events: paid.includes(lease) ? [roundEnd(1.5)] : [], freed: ids },
          ]),
        ),
      )
    }
    const [total] = await store.spending({ by: [] })
    assert.equal(total?.usd, 7.5)
  },
}
