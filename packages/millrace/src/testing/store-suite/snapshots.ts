import assert from 'node:assert/strict'
import type { Cases } from './context.ts'
import { claimed, leaseMs, ownedThread, textDelta, userInput } from './context.ts'

/** Text that a careless store could change or misinterpret. */
const texts = ['', '"quoted"', 'null', '12\n{"a":"é😀"}', 'a\0b', 'x'.repeat(300_000)]

export const snapshotCases: Cases = {
  'a snapshot is read as it was saved, part by part': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    assert.equal(await other.snapshot('t'), undefined)
    assert.equal(await other.snapshotPart('t', 'a/0'), undefined)
    const parts = texts.map((text, index) => [`a/${index}`, text] as const)
    const head = { seq: 1, state: texts.join('|') }
    assert.equal(await store.saveSnapshot(lease, { parts, head }), 'saved')
    assert.deepEqual(await other.snapshot('t'), head)
    for (const [name, text] of parts) assert.equal(await other.snapshotPart('t', name), text)
    assert.equal(await other.snapshotPart('t', ''), undefined)
  },

  'without a head the last snapshot stays, and so do parts that are not written': async ({ store }) => {
    const lease = await ownedThread(store, 't')
    const head = { seq: 1, state: 'one' }
    await store.saveSnapshot(lease, { parts: new Map(Object.entries({ a: '1', b: '1' })), head })
    await store.saveSnapshot(lease, { parts: [['b', '2']] })
    assert.deepEqual(await store.snapshot('t'), head)
    assert.equal(await store.snapshotPart('t', 'a'), '1')
    assert.equal(await store.snapshotPart('t', 'b'), '2')
    await store.append([{ lease, events: [textDelta('x')] }])
    await store.saveSnapshot(lease, { parts: [], head: { seq: 2, state: 'two' } })
    assert.deepEqual(await store.snapshot('t'), { seq: 2, state: 'two' })
  },

  'the last snapshot up to a number is found': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const words = Array.from({ length: 1000 }, () => textDelta('x'))
    await store.append([{ lease, events: words }])
    for (const seq of [2, 10, 100, 1000])
      await store.saveSnapshot(lease, { parts: [], head: { seq, state: `at ${seq}` } })
    await store.saveSnapshot(lease, { parts: [], head: { seq: 10, state: 'at 10 again' } })
    for (const [upTo, state] of [
      [0, undefined],
      [1, undefined],
      [2, 'at 2'],
      [9, 'at 2'],
      [10, 'at 10 again'],
      [99, 'at 10 again'],
      [100, 'at 100'],
      [5000, 'at 1000'],
      [undefined, 'at 1000'],
    ] as const)
      assert.equal((await other.snapshot('t', upTo))?.state, state, `up to ${upTo}`)
  },

  'a fork starts with the snapshots of its thread, and then saves its own': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await store.append([{ lease, events: [textDelta('x'), textDelta('x'), textDelta('x')] }])
    const save = (seq: number, parts: Record<string, string>, owner = lease, to = store) =>
      to.saveSnapshot(owner, {
        parts: Object.entries(parts),
        head: { seq, state: `${owner.threadId} ${seq}` },
      })
    await save(1, { a: 't1' })
    await save(3, { a: 't3', b: 't3' })
    const states = async (id: string) => [
      (await other.snapshot(id))?.state,
      (await other.snapshot(id, 2))?.state,
      await other.snapshotPart(id, 'a'),
      await other.snapshotPart(id, 'b'),
    ]
    for (const at of [0, 2, 4]) await store.fork('t', at, { id: `f${at}`, agent: 'a' })
    assert.deepEqual(await states('f0'), [undefined, undefined, undefined, undefined])
    assert.deepEqual(await states('f2'), ['t 1', 't 1', 't3', 't3'])
    assert.deepEqual(await states('f4'), ['t 3', 't 1', 't3', 't3'])
    // Saves of one do not affect the other, and a fork of the fork has what both have saved.
    const forked = await claimed(other, 'f4', 'worker')
    await store.append([{ lease: forked, events: [textDelta('y')] }])
    await save(5, { b: 'f5' }, forked, other)
    await save(4, { a: 't4' })
    assert.deepEqual(await states('f4'), ['f4 5', 't 1', 't4', 'f5'])
    assert.deepEqual(await states('t'), ['t 4', 't 1', 't4', 't3'])
    await other.fork('f4', 5, { id: 'g', agent: 'a' })
    await store.delete('t')
    await store.delete('f4')
    for (let round = 0; round < 10; round++) {
      assert.deepEqual(await states('g'), ['f4 5', 't 1', 't4', 'f5'])
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    assert.deepEqual(await states('t'), [undefined, undefined, undefined, undefined])
  },

  'only the owner of a thread saves a snapshot': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 't')
    advance(leaseMs + 1)
    const next = await claimed(other, 't', 'next')
    const mine = { parts: [['a', 'mine']] as const, head: { seq: 1, state: 'mine' } }
    assert.equal(await store.saveSnapshot(lease, mine), 'fenced')
    assert.equal(await store.snapshot('t'), undefined)
    assert.equal(await store.snapshotPart('t', 'a'), undefined)
    assert.equal(await other.saveSnapshot(next, mine), 'saved')
  },

  'a snapshot is deleted with its thread, and changes nothing else about it': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const before = await store.get('t')
    await store.saveSnapshot(lease, { parts: [['a', '1']], head: { seq: 1, state: 'one' } })
    assert.deepEqual(await store.get('t'), before)
    await other.delete('t')
    assert.equal(await store.saveSnapshot(lease, { parts: [['a', '2']] }), 'fenced')
    assert.equal(await store.snapshot('t'), undefined)
    await other.create({ id: 't', agent: 'a' })
    await other.signal('t', undefined, userInput('again'))
    assert.equal(await store.snapshot('t'), undefined)
    assert.equal(await store.snapshotPart('t', 'a'), undefined)
  },
}
