import assert from 'node:assert/strict'
import type { NewThread, StoredThread } from '../../log/index.ts'
import type { Entry } from '../../protocol/index.ts'
import type { Cases } from './context.ts'
import { claimed, readAll, rejectsWith, textDelta, userInput } from './context.ts'

const odd = ['plain', '', '"quoted"', 'a\0b', 'lone \ud83d', 'lone \ud83e', '😀', "it's", '%', '{"a":1}']

/** Everything about a thread that a copy must have. */
function copied(thread: StoredThread | undefined) {
  const { id, status, bytes, ...rest } = thread ?? ({} as StoredThread)
  return rest
}

export const copyCases: Cases = {
  'a thread can be copied exactly': async ({ store, other, advance }) => {
    const thread: NewThread = {
      id: 'original',
      agent: 'a',
      user: 'ada',
      caller: 'team',
      metadata: { a: [1, null] },
      label: { title: 'Mills', search: 'mills' },
      priority: 'batch',
    }
    await store.create(thread)
    advance(1000)
    await store.signal('original', 'first', userInput('hello'))
    const lease = await claimed(store, 'original', 'worker')
    for (const text of ['one ', 'two ', 'three']) {
      advance(10)
      await store.append([{ lease, events: [textDelta(text)] }])
    }
    await other.signal('original', 'second', userInput('more'))
    await store.release(lease, { head: 5, status: 'idle' })
    await store.packDeltas('original', 5)
    const original = (await store.get('original')) as StoredThread
    advance(86_400_000)

    const entries = await readAll(store, 'original', { split: true })
    const keys = await store.keys('original')
    assert.deepEqual(
      keys,
      new Map([
        ['first', 1],
        ['second', 5],
      ]),
    )
    const { createdAt } = original
    assert.equal(await store.create({ ...thread, id: 'copy' }, { entries, keys, createdAt }), true)
    await store.packDeltas('copy', 5)

    assert.deepEqual(copied(await other.get('copy')), copied(original))
    assert.deepEqual(await other.keys('copy'), keys)
    for (const split of [true, false])
      assert.deepEqual(await readAll(other, 'copy', { split }), await readAll(store, 'original', { split }))
    // It may leave something to do, and that can wait from now on.
    const [runnable] = await other.findRunnable(1, ['a'])
    assert.deepEqual({ id: runnable?.id, waitedMs: runnable?.waitedMs }, { id: 'copy', waitedMs: 0 })
  },

  'a copy without entries keeps its times': async ({ store, other, now }) => {
    const createdAt = now() - 5000
    await store.create({ id: 't', agent: 'a' }, { createdAt })
    const { createdAt: created, updatedAt, status } = (await other.get('t')) ?? {}
    assert.deepEqual(
      { created, updatedAt, status },
      { created: createdAt, updatedAt: createdAt, status: 'idle' },
    )
  },

  'a key that was copied is not used again': async ({ store, other, now }) => {
    const entries: Entry[] = ['one', 'two'].map((text, index) => ({
      seq: index + 1,
      at: now() - 2 + index,
      event: userInput(text),
    }))
    await store.create({ id: 't', agent: 'a' }, { entries, keys: new Map([['two', 2]]) })
    const again = await other.signal('t', 'two', userInput('again'))
    assert.deepEqual(again, { entry: entries[1], repeated: true, agent: 'a', priority: 'interactive' })
    const { entry, repeated } = await other.signal('t', 'three', userInput('three'))
    assert.deepEqual({ seq: entry.seq, repeated }, { seq: 3, repeated: false })
    assert.deepEqual(
      await store.keys('t'),
      new Map([
        ['two', 2],
        ['three', 3],
      ]),
    )
  },

  'keys are stored exactly': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    for (const key of odd) await store.signal('t', key, userInput(key))
    const expected = new Map(odd.map((key, index) => [key, index + 1]))
    const keys = await other.keys('t')
    assert.deepEqual(keys, expected)
    for (const [key, seq] of expected) assert.deepEqual(await other.keys('t', key), new Map([[key, seq]]))
    assert.deepEqual(await other.keys('t', 'another'), new Map())
    const entries = await readAll(store, 't')
    await other.create({ id: 'copy', agent: 'a' }, { entries, keys })
    assert.deepEqual(await store.keys('copy'), expected)
  },

  'keys belong to one thread': async ({ store, other }) => {
    await rejectsWith('not_found', store.keys('t'))
    await rejectsWith('not_found', store.keys('t', 'key'))
    await store.create({ id: 't', agent: 'a' })
    assert.deepEqual(await other.keys('t'), new Map())
    await store.signal('t', 'key', userInput('hello'))
    await store.fork('t', 1, { id: 'fork', agent: 'a', forkedFrom: { id: 't', seq: 1 } })
    assert.deepEqual(await other.keys('fork'), new Map())
    await store.delete('t')
    await rejectsWith('not_found', other.keys('t'))
    await store.create({ id: 't', agent: 'a' })
    assert.deepEqual(await other.keys('t'), new Map())
  },

  'a key finds the threads that have it, those created last first': async ({ store, other, now }) => {
    assert.deepEqual(await store.findKey('key', 10), [])
    const entries = [{ seq: 1, at: now(), event: userInput('one') }]
    for (const id of ['first', 'second', 'third']) await store.create({ id, agent: 'a' })
    await other.create({ id: 'copy', agent: 'a' }, { entries, keys: new Map([['key', 1]]) })
    await store.signal('third', 'key', userInput('hello'))
    await other.signal('first', 'another', userInput('hello'))
    await other.signal('first', 'key', userInput('hello'))
    const found = [
      { threadId: 'copy', seq: 1 },
      { threadId: 'third', seq: 1 },
      { threadId: 'first', seq: 2 },
    ]
    assert.deepEqual(await store.findKey('key', 10), found)
    assert.deepEqual(await other.findKey('key', 2), found.slice(0, 2))
    assert.deepEqual(await store.findKey('ke', 10), [])
    await store.fork('first', 2, { id: 'fork', agent: 'a', forkedFrom: { id: 'first', seq: 2 } })
    await store.delete('copy')
    // The entries of a thread that a fork needs are kept after it was deleted.
    await store.delete('first')
    assert.deepEqual(await other.findKey('key', 10), [{ threadId: 'third', seq: 1 }])
    await store.create({ id: 'first', agent: 'a' })
    assert.deepEqual(await other.findKey('key', 10), [{ threadId: 'third', seq: 1 }])
    for (const key of odd) await store.signal('second', key, userInput('odd'))
    for (const [index, key] of odd.entries())
      assert.deepEqual(await other.findKey(key, 10), [{ threadId: 'second', seq: index + 1 }])
  },

  'a key must name an entry': async ({ store, other, now }) => {
    const entries = [{ seq: 1, at: now(), event: userInput('hello') }]
    for (const seq of [0, 2, 0.5]) {
      const keys = new Map([['key', seq]])
      await rejectsWith('store_error', store.create({ id: 't', agent: 'a' }, { entries, keys }))
    }
    assert.equal(await other.get('t'), undefined)
  },
}
