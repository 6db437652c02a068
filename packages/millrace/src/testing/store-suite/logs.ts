import assert from 'node:assert/strict'
import type { ThreadEvent } from '../../protocol/index.ts'
import type { Cases } from './context.ts'
import {
  claimed,
  leaseMs,
  ownedThread,
  readAll,
  rejectsWith,
  textDelta,
  textIn,
  userInput,
} from './context.ts'

export const logCases: Cases = {
  'events are numbered from 1, with the time of the store, and read as they were written': async ({
    store,
    other,
    now,
    advance,
  }) => {
    const lease = await ownedThread(store, 't')
    advance(7)
    const events: ThreadEvent[] = [
      textDelta('mill'),
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

  'numbers have no gaps or duplicates while an owner and others write concurrently': async ({
    store,
    other,
  }) => {
    const lease = await ownedThread(store, 't')
    const rounds = Array.from({ length: 40 }, (_, index) => index)
    const written = await Promise.all([
      ...rounds.map((index) =>
        store.append([{ lease, events: [textDelta(`a${index}`), textDelta(`b${index}`)] }]),
      ),
      ...rounds.map((index) => other.append([{ lease, events: [textDelta(`c${index}`)] }])),
      ...rounds.map((index) => store.signal('t', `s${index}`, userInput('from here'))),
      ...rounds.map((index) => other.signal('t', `o${index}`, userInput('from there'))),
    ])
    const numbers = written
      .flatMap((result) => ('entry' in result ? [result.entry] : result.flat()))
      .map((entry) => (entry === 'fenced' ? assert.fail('no other owner has claimed the thread') : entry.seq))
    assert.deepEqual(
      numbers.toSorted((one, next) => one - next),
      Array.from({ length: 200 }, (_, index) => index + 2),
    )
    const log = await readAll(other, 't', { limit: 7 })
    assert.equal(log.at(-1)?.seq, 201)
    assert.equal((await store.get('t'))?.head, 201)
    // Writes of one writer keep their order, and batches stay together.
    const words = log.flatMap(({ event }) => (event.type === 'text' ? [event.text] : []))
    const own = words.filter((text) => !text.startsWith('c'))
    assert.deepEqual(
      own,
      rounds.flatMap((index) => [`a${index}`, `b${index}`]),
    )
  },

  'one append writes to many threads, and a fenced one does not affect the others': async ({
    store,
    other,
    advance,
  }) => {
    const leases = []
    for (let index = 0; index < 20; index++) leases.push(await ownedThread(store, `t${index}`))
    advance(leaseMs)
    await claimed(other, 't7', 'another owner')
    const results = await store.append(
      leases.map((lease) => ({ lease, events: [textDelta('x'), textDelta('y')] })),
    )
    for (const [index, result] of results.entries()) {
      if (index === 7) assert.equal(result, 'fenced')
      else assert.deepEqual(result === 'fenced' ? result : result.map(({ seq }) => seq), [2, 3])
      assert.equal((await other.get(`t${index}`))?.head, index === 7 ? 1 : 3)
    }
    assert.equal((await readAll(other, 't7')).length, 1)
  },

  'an append may have batches without events, or no batches': async ({ store }) => {
    const lease = await ownedThread(store, 't')
    const [silent, stale] = [await ownedThread(store, 'u'), { ...lease, epoch: lease.epoch - 1 }]
    const results = await store.append([
      { lease: silent, events: [] },
      { lease, events: [textDelta('x')] },
      { lease: stale, events: [] },
    ])
    assert.deepEqual(
      results.map((result) => (result === 'fenced' ? result : result.map(({ seq }) => seq))),
      [[], [2], 'fenced'],
    )
    assert.equal((await store.get('u'))?.head, 1)
    assert.deepEqual(await store.append([]), [])
  },

  'a key is one event, however often and from wherever it is sent': async ({ store, other, advance }) => {
    await store.create({ id: 't', agent: 'a' })
    const first = await store.signal('t', 'key', userInput('first'))
    assert.equal(first.repeated, false)
    advance(5)
    assert.deepEqual(await other.signal('t', 'key', userInput('second')), { ...first, repeated: true })
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).signal('t', 'race', userInput(`${index}`)),
      ),
    )
    assert.equal(many.filter(({ repeated }) => !repeated).length, 1)
    for (const { entry } of many) assert.equal(entry.seq, 2)
    assert.equal((await readAll(store, 't')).length, 2)

    await store.create({ id: 'u', agent: 'a' })
    assert.equal((await store.signal('u', 'key', userInput('its own'))).repeated, false)
    await store.signal('u', undefined, userInput('without'))
    assert.equal((await store.signal('u', undefined, userInput('without'))).entry.seq, 3)
  },

  'a repeated key makes nothing runnable': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', 'key', userInput('hello'))
    const lease = await claimed(store, 't', 'worker')
    assert.equal(await store.release(lease, { head: 1, status: 'idle' }), 'released')
    await other.signal('t', 'key', userInput('hello'))
    assert.equal((await store.get('t'))?.status, 'idle')
    assert.equal(await store.claim('t', 'worker', leaseMs), undefined)
  },

  'a reader gets the entries after its number, in pages': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await store.append([{ lease, events: Array.from({ length: 50 }, (_, index) => userInput(`${index}`)) }])
    const log = await readAll(store, 't')
    assert.equal(log.length, 51)
    for (const after of [0, 1, 25, 50]) {
      assert.deepEqual(await other.read('t', { after, limit: 100 }), log.slice(after))
      assert.deepEqual(await other.read('t', { after, limit: 3 }), log.slice(after, after + 3))
    }
    assert.deepEqual(await other.read('t', { after: 51, limit: 3 }), [])
    assert.deepEqual(await other.read('t', { after: 99, limit: 3 }), [])
  },

  'a page of a log ends after a few hundred kilobytes, and the next continues there': async ({
    store,
    other,
  }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 12 }, (_, index) => userInput(`${index} ${'x'.repeat(100_000)}`))
    await store.append([{ lease, events }])
    for (const split of [false, true]) {
      const page = await other.read('t', { after: 0, limit: 100, split })
      assert.ok(page.length > 1 && page.length < 10, `${page.length} entries`)
      assert.equal((await readAll(other, 't', { split })).length, 13)
    }
  },

  'any text is stored exactly: large, odd, and cut inside a character': async ({ store, other }) => {
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
    const events = texts.flatMap((text): ThreadEvent[] => [textDelta(text), userInput(text)])
    await store.append([{ lease, events }])
    const read = (await readAll(other, 't')).slice(1).map(({ event }) => event)
    assert.ok(JSON.stringify(read) === JSON.stringify(events), 'must be the same')
    await store.signal('t', 'large', userInput('y'.repeat(1_000_000)))
    const [entry] = await other.read('t', { after: events.length + 1, limit: 1 })
    assert.equal(JSON.stringify(entry?.event), JSON.stringify(userInput('y'.repeat(1_000_000))))
  },

  'a repeated batch is written once, and the next one must follow': async ({ store, other, advance }) => {
    const lease = await ownedThread(store, 't')
    const first = { lease, number: 1, events: [textDelta('a'), textDelta('b')] }
    for (const number of [0, 2]) await rejectsWith('store_error', store.append([{ ...first, number }]))
    const [entries] = await store.append([first])
    advance(5)
    await other.signal('t', undefined, userInput('meanwhile'))
    // The acknowledgement was lost: the same numbers and times again.
    assert.deepEqual(await store.append([first]), [entries])
    assert.equal((await store.get('t'))?.head, 4)
    for (const number of [3, 7])
      await rejectsWith('store_error', store.append([{ lease, number, events: [textDelta('x')] }]))
    const [second] = await store.append([{ lease, number: 2, events: [textDelta('c')] }])
    assert.deepEqual(second === 'fenced' ? second : second?.map(({ seq }) => seq), [5])
    await rejectsWith('store_error', store.append([first]))
    // A batch without events only asks whether the lease is valid.
    assert.deepEqual(await store.append([{ lease, number: 0, events: [] }]), [[]])
    assert.equal(textIn(await readAll(store, 't')), 'abc')
    // Numbers start over with the next lease.
    assert.equal(await store.release(lease, { head: 5, status: 'runnable' }), 'released')
    const next = await claimed(other, 't', 'next')
    assert.deepEqual(await store.append([first]), ['fenced'])
    const [third] = await other.append([{ lease: next, number: 1, events: [textDelta('d')] }])
    assert.deepEqual(third === 'fenced' ? third : third?.map(({ seq }) => seq), [6])
  },

  'the lengths of logs are known': async ({ store, other }) => {
    await ownedThread(store, 't')
    await store.create({ id: 'u', agent: 'a' })
    assert.deepEqual(
      await other.heads(['t', 'missing', 'u']),
      new Map([
        ['t', 1],
        ['u', 0],
      ]),
    )
    assert.deepEqual(await other.heads([]), new Map())
    await store.delete('t')
    assert.deepEqual(await other.heads(['t']), new Map())
  },
}
