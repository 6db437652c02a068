import assert from 'node:assert/strict'
import type { JsonObject, ThreadEvent } from '../../protocol/index.ts'
import { searchText } from '../../protocol/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, infoOf, textDelta, userInput } from './context.ts'

const change = (patch: JsonObject): ThreadEvent => ({ type: 'metadata', patch })

const found = async (store: SuiteStore, word: string) => {
  const { threads } = await store.list({ limit: 10, search: [word.toUpperCase()] })
  return threads.map(({ id }) => id)
}

export const metadataCases: Cases = {
  'a signal changes the metadata': async ({ store, other }) => {
    const metadata = { color: 'red', size: { width: 1, height: 2 }, tags: ['a'] }
    await store.create({ id: 't', agent: 'a', metadata })
    await store.create({ id: 'u', agent: 'a' })
    await store.signal(
      't',
      'one',
      change({ color: null, size: { height: null, depth: 3 }, tags: ['b', 'c'] }),
    )
    await other.signal('u', 'two', change({ color: 'blue', none: null }))
    const changed = { size: { width: 1, depth: 3 }, tags: ['b', 'c'] }
    assert.deepEqual((await other.get('t'))?.metadata, changed)
    assert.deepEqual((await store.get('u'))?.metadata, { color: 'blue' })
    const [, listed] = (await other.list({ limit: 10 })).threads
    assert.deepEqual(listed, await infoOf(store, 't'))
    await store.signal('u', 'three', change({ color: null }))
    assert.deepEqual((await other.get('u'))?.metadata, {})
  },

  'a batch changes the metadata': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a', metadata: { step: 1, color: 'red' } })
    await store.create({ id: 'u', agent: 'a' })
    for (const id of ['t', 'u']) await store.signal(id, undefined, userInput('x'))
    const [lease, stale] = [await claimed(store, 't', 'w'), await claimed(store, 'u', 'w')]
    await store.append([
      {
        lease,
        events: [textDelta('a'), change({ step: 2 }), textDelta('b'), change({ step: 3, done: false })],
      },
      { lease: stale, events: [textDelta('c')] },
    ])
    assert.deepEqual((await other.get('t'))?.metadata, { step: 3, color: 'red', done: false })
    assert.ok(!('metadata' in ((await other.get('u')) ?? {})))
    // Between two batches, something else may change it.
    await other.signal('t', undefined, change({ step: 10, color: null }))
    await store.append([{ lease, events: [change({ done: true })] }])
    assert.deepEqual((await other.get('t'))?.metadata, { step: 10, done: true })
    // A process that lost the thread changes nothing.
    const fenced = { ...stale, epoch: stale.epoch - 1 }
    assert.deepEqual(await store.append([{ lease: fenced, number: 2, events: [change({ a: 1 })] }]), [
      'fenced',
    ])
    assert.ok(!('metadata' in ((await other.get('u')) ?? {})))
  },

  'a batch that is repeated changes the metadata once': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('x'))
    const lease = await claimed(store, 't', 'w')
    const batch = { lease, number: 1, events: [change({ step: 1 })] }
    await store.append([batch])
    await other.signal('t', undefined, change({ step: 2 }))
    await store.append([batch])
    assert.deepEqual((await other.get('t'))?.metadata, { step: 2 })
  },

  'a signal that is repeated changes the metadata once': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', 'key', change({ step: 1 }))
    await other.signal('t', 'other', change({ step: 2 }))
    await store.signal('t', 'key', change({ step: 1 }))
    assert.deepEqual((await other.get('t'))?.metadata, { step: 2 })
  },

  'searches find metadata as it is now': async ({ store, other }) => {
    const thread = { id: 't', agent: 'a', metadata: { city: 'Oslo', year: 1999 } }
    await store.create({ ...thread, label: { search: searchText(thread) } })
    const label = { title: 'Fish', search: searchText({ ...thread, title: 'Fish' }) }
    await store.signal('t', undefined, userInput('x'), { label })
    await other.signal('t', undefined, change({ city: 'Bergen' }))
    for (const word of ['bergen', '1999', 'fish']) assert.deepEqual(await found(store, word), ['t'], word)
    assert.deepEqual(await found(store, 'oslo'), [])
    const lease = await claimed(store, 't', 'w')
    await store.append([{ lease, events: [change({ city: null, river: 'Otra' })] }])
    assert.deepEqual(await found(other, 'otra'), ['t'])
    assert.deepEqual(await found(other, 'bergen'), [])
    assert.equal((await other.get('t'))?.title, 'Fish')
  },

  'fields of metadata can have any name': async ({ store, other }) => {
    const metadata = JSON.parse('{"__proto__": {"a": 1}, "\\u0000": "\\ud800", "": 0}')
    await store.create({ id: 't', agent: 'a', metadata })
    await store.signal('t', undefined, change(JSON.parse('{"__proto__": {"b": 2}, "constructor": "x"}')))
    const text = JSON.stringify((await other.get('t'))?.metadata)
    assert.equal(text, '{"__proto__":{"a":1,"b":2},"\\u0000":"\\ud800","":0,"constructor":"x"}')
  },

  'a fork has the metadata that it is given, and changes its own': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a', metadata: { step: 1 } })
    await store.signal('t', undefined, change({ step: 2 }))
    await store.signal('t', undefined, change({ step: 3 }))
    await store.fork('t', 1, { id: 'f', agent: 'a', metadata: { step: 2 } })
    await other.signal('f', undefined, change({ step: 20 }))
    assert.deepEqual((await store.get('f'))?.metadata, { step: 20 })
    assert.deepEqual((await store.get('t'))?.metadata, { step: 3 })
  },

  'a thread that is created with a log has the metadata that it is given': async ({ store, other }) => {
    const entries = [{ seq: 1, at: 1, event: change({ step: 2 }) }]
    await store.create({ id: 't', agent: 'a', metadata: { step: 2, color: 'red' } }, { entries })
    assert.deepEqual((await other.get('t'))?.metadata, { step: 2, color: 'red' })
  },
}
