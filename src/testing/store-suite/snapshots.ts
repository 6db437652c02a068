import assert from 'node:assert/strict'
import type { Cases } from './scene.ts'
import { claimed, leaseMs, ownedThread, said } from './scene.ts'

/** What a careless store could change, or take for something else. */
const texts = ['', '"quoted"', 'null', '12\n{"a":"é😀"}', 'a\0b', 'x'.repeat(300_000)]

export const snapshotCases: Cases = {
  'a snapshot comes back as it was saved, part by part': async ({ store, other }) => {
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
    await store.saveSnapshot(lease, { parts: [], head: { seq: 2, state: 'two' } })
    assert.deepEqual(await store.snapshot('t'), { seq: 2, state: 'two' })
  },

  'only the owner of a thread saves a snapshot': async ({ store, other, pass }) => {
    const lease = await ownedThread(store, 't')
    pass(leaseMs + 1)
    const next = await claimed(other, 't', 'next')
    const mine = { parts: [['a', 'mine']] as const, head: { seq: 1, state: 'mine' } }
    assert.equal(await store.saveSnapshot(lease, mine), 'fenced')
    assert.equal(await store.snapshot('t'), undefined)
    assert.equal(await store.snapshotPart('t', 'a'), undefined)
    assert.equal(await other.saveSnapshot(next, mine), 'saved')
  },

  'a snapshot goes with its thread, and changes nothing else about it': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const before = await store.get('t')
    await store.saveSnapshot(lease, { parts: [['a', '1']], head: { seq: 1, state: 'one' } })
    assert.deepEqual(await store.get('t'), before)
    await other.delete('t')
    assert.equal(await store.saveSnapshot(lease, { parts: [['a', '2']] }), 'fenced')
    assert.equal(await store.snapshot('t'), undefined)
    await other.create({ id: 't', agent: 'a' })
    await other.signal('t', undefined, said('anew'))
    assert.equal(await store.snapshot('t'), undefined)
    assert.equal(await store.snapshotPart('t', 'a'), undefined)
  },
}
