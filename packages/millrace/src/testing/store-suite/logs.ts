import assert from 'node:assert/strict'
import type { ThreadEvent } from '../../protocol/index.ts'
import type { Cases } from './scene.ts'
import { claimed, leaseMs, ownedThread, readAll, said, word } from './scene.ts'

export const logCases: Cases = {
  'events are numbered from 1 on, with the time of the store, and read as they were written': async ({
    store,
    other,
    now,
    pass,
  }) => {
    const lease = await ownedThread(store, 't')
    pass(7)
    const events: ThreadEvent[] = [
      word('mill'),
      { type: 'tool-call', callId: 'c/1', name: 'f', input: { deep: [null, true, 1.5e300, '', { '': {} }] } },
      {
        type: 'tool-result',
        callId: 'c/1',
        name: 'f',
        output: [],
        status: 'ok',
        isError: false,
        ms: 0.25,
        overlapMs: 0,
      },
    ]
    const [entries] = await store.append([{ lease, events }])
    assert.deepEqual(
      entries,
      events.map((event, index) => ({ seq: index + 2, at: now(), event })),
    )
    assert.deepEqual((await readAll(other, 't')).slice(1), entries)
    const info = await other.get('t')
    assert.deepEqual([info?.head, info?.updatedAt], [4, now()])
  },

  'numbers have no gap and no repeat while an owner and others write at once': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const rounds = Array.from({ length: 40 }, (_, index) => index)
    const written = await Promise.all([
      ...rounds.map((index) => store.append([{ lease, events: [word(`a${index}`), word(`b${index}`)] }])),
      ...rounds.map((index) => other.append([{ lease, events: [word(`c${index}`)] }])),
      ...rounds.map((index) => store.signal('t', `s${index}`, said('from here'))),
      ...rounds.map((index) => other.signal('t', `o${index}`, said('from there'))),
    ])
    const numbers = written
      .flatMap((result) => ('entry' in result ? [result.entry] : result.flat()))
      .map((entry) => (entry === 'fenced' ? assert.fail('nobody took over') : entry.seq))
    assert.deepEqual(
      numbers.toSorted((one, next) => one - next),
      Array.from({ length: 200 }, (_, index) => index + 2),
    )
    const log = await readAll(other, 't', { limit: 7 })
    assert.equal(log.at(-1)?.seq, 201)
    assert.equal((await store.get('t'))?.head, 201)
    // What one writer asks for in order is written in order, and what it hands over together stays together.
    const words = log.flatMap(({ event }) => (event.type === 'text' ? [event.text] : []))
    const own = words.filter((text) => !text.startsWith('c'))
    assert.deepEqual(
      own,
      rounds.flatMap((index) => [`a${index}`, `b${index}`]),
    )
  },

  'one append writes to many threads, and a fenced one among them does not keep the others from it': async ({
    store,
    other,
    pass,
  }) => {
    const leases = []
    for (let index = 0; index < 20; index++) leases.push(await ownedThread(store, `t${index}`))
    pass(leaseMs)
    await claimed(other, 't7', 'somebody else')
    const results = await store.append(leases.map((lease) => ({ lease, events: [word('x'), word('y')] })))
    for (const [index, result] of results.entries()) {
      if (index === 7) assert.equal(result, 'fenced')
      else assert.deepEqual(result === 'fenced' ? result : result.map(({ seq }) => seq), [2, 3])
      assert.equal((await other.get(`t${index}`))?.head, index === 7 ? 1 : 3)
    }
    assert.equal((await readAll(other, 't7')).length, 1)
  },

  'one append may have several batches for a thread, and batches without events': async ({ store }) => {
    const lease = await ownedThread(store, 't')
    const gone = { ...lease, epoch: lease.epoch - 1 }
    const results = await store.append([
      { lease, events: [word('x')] },
      { lease, events: [] },
      { lease: gone, events: [] },
      { lease, events: [word('y')] },
    ])
    assert.deepEqual(
      results.map((result) => (result === 'fenced' ? result : result.map(({ seq }) => seq))),
      [[2], [], 'fenced', [3]],
    )
    assert.deepEqual(await store.append([]), [])
  },

  'the same key is one event, whoever sends it and however often': async ({ store, other, pass }) => {
    await store.create({ id: 't', agent: 'a' })
    const first = await store.signal('t', 'key', said('first'))
    assert.equal(first.repeated, false)
    pass(5)
    assert.deepEqual(await other.signal('t', 'key', said('second')), { entry: first.entry, repeated: true })
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).signal('t', 'race', said(`${index}`)),
      ),
    )
    assert.equal(many.filter(({ repeated }) => !repeated).length, 1)
    for (const { entry } of many) assert.equal(entry.seq, 2)
    assert.equal((await readAll(store, 't')).length, 2)

    await store.create({ id: 'u', agent: 'a' })
    assert.equal((await store.signal('u', 'key', said('its own'))).repeated, false)
    await store.signal('u', undefined, said('without'))
    assert.equal((await store.signal('u', undefined, said('without'))).entry.seq, 3)
  },

  'a key that comes again makes nothing runnable': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', 'key', said('hello'))
    const lease = await claimed(store, 't', 'worker')
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'released')
    await other.signal('t', 'key', said('hello'))
    assert.equal((await store.get('t'))?.status, 'idle')
    assert.equal(await store.claim('t', 'worker', leaseMs), undefined)
  },

  'a reader gets what comes after its number, in pages': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await store.append([{ lease, events: Array.from({ length: 50 }, (_, index) => said(`${index}`)) }])
    const log = await readAll(store, 't')
    assert.equal(log.length, 51)
    for (const after of [0, 1, 25, 50]) {
      assert.deepEqual(await other.read('t', { after, limit: 100 }), log.slice(after))
      assert.deepEqual(await other.read('t', { after, limit: 3 }), log.slice(after, after + 3))
    }
    assert.deepEqual(await other.read('t', { after: 51, limit: 3 }), [])
    assert.deepEqual(await other.read('t', { after: 99, limit: 3 }), [])
  },

  'a page of a log ends after a few hundred kilobytes, and the next goes on there': async ({
    store,
    other,
  }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 12 }, (_, index) => said(`${index} ${'x'.repeat(100_000)}`))
    await store.append([{ lease, events }])
    for (const split of [false, true]) {
      const page = await other.read('t', { after: 0, limit: 100, split })
      assert.ok(page.length > 1 && page.length < 10, `${page.length} entries`)
      assert.equal((await readAll(other, 't', { split })).length, 13)
    }
  },

  'any text comes back as it was: large, odd, and cut inside of a character': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const texts = [
      'x'.repeat(1_000_000),
      '😀'.repeat(50_000),
      '\ud83d',
      '\ude00',
      'a\0b',
      '\u2028\u2029\ufeff',
      '\\u0000"\'',
      'e\u0301',
    ]
    const events = texts.flatMap((text): ThreadEvent[] => [word(text), said(text)])
    await store.append([{ lease, events }])
    const read = (await readAll(other, 't')).slice(1).map(({ event }) => event)
    assert.ok(JSON.stringify(read) === JSON.stringify(events), 'must be the same')
    await store.signal('t', 'large', said('y'.repeat(1_000_000)))
    const [entry] = await other.read('t', { after: events.length + 1, limit: 1 })
    assert.equal(JSON.stringify(entry?.event), JSON.stringify(said('y'.repeat(1_000_000))))
  },
}
