import assert from 'node:assert/strict'
import type { Entry, StopEvent, ThreadEvent } from '../../protocol/index.ts'
import type { Lease } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, infoOf, ownedThread, readAll, rejectsWith, soon, textDelta, userInput } from './context.ts'

const stop: StopEvent = { type: 'stop', reason: 'forked' }

/** Writes a thread with deltas that can be joined, each with its own time. */
async function writeLog(store: SuiteStore, advance: (ms: number) => void): Promise<Entry[]> {
  const lease = await ownedThread(store, 't')
  const events: ThreadEvent[] = [...[...'millrace'].map(textDelta), userInput('and this')]
  for (const event of events) {
    advance(3)
    await store.append([{ lease, events: [event] }])
  }
  return readAll(store, 't', { split: true })
}

/** Forks of forks, each with two more deltas than the one before. */
async function forksOf(store: SuiteStore, id: string, depth: number): Promise<string> {
  let last = id
  for (let level = 1; level <= depth; level++) {
    const fork = `${id}/${level}`
    const { head = 0 } = (await store.get(last)) ?? {}
    assert.equal(await store.fork(last, head, { id: fork, agent: 'a' }), true)
    await writeTo(store, fork, [textDelta(`${level}`), textDelta(' ')])
    last = fork
  }
  return last
}

async function writeTo(store: SuiteStore, id: string, events: readonly ThreadEvent[]): Promise<Lease> {
  const lease = await claimed(store, id, 'worker')
  await store.append([{ lease, events }])
  return lease
}

export const forkCases: Cases = {
  'a fork has the log up to its number, and is independent from there': async ({
    store,
    other,
    now,
    advance,
  }) => {
    const log = await writeLog(store, advance)
    const last = log.length
    const thread = {
      id: 'f',
      agent: 'a',
      user: 'ada',
      metadata: { x: 1 },
      forkedFrom: { id: 't', seq: last },
    }
    const label = { title: 'Hello', search: 'found' }
    advance(100)
    assert.equal(await store.fork('t', last, { ...thread, label }, { waiting: 2 }), true)
    assert.deepEqual(await readAll(other, 'f', { split: true }), log)
    assert.deepEqual(await infoOf(other, 'f'), {
      ...thread,
      title: 'Hello',
      createdAt: now(),
      updatedAt: log.at(-1)?.at,
      head: last,
      status: 'queued',
    })
    assert.equal((await other.usage('ada')).waiting, 2)
    assert.deepEqual(
      (await other.list({ limit: 1, search: ['found'] })).threads.map(({ id }) => id),
      ['f'],
    )
    const { entry } = await other.signal('f', 'key', userInput('more'))
    assert.equal(entry.seq, last + 1)
    assert.deepEqual((await store.signal('f', 'key', userInput('again'))).entry, entry)
    assert.equal((await store.get('t'))?.head, last)
    await store.signal('t', undefined, userInput('only there'))
    assert.deepEqual(await readAll(other, 'f', { split: true }), [...log, entry])
    await claimed(other, 'f', 'worker')
  },

  'a fork at any number, even inside joined deltas, reads like the thread up to there': async ({
    store,
    other,
    advance,
  }) => {
    const log = await writeLog(store, advance)
    const forks = log.map((_, at) => [`before ${at}`, at] as const)
    for (const [id, at] of forks) await other.fork('t', at, { id, agent: 'a' }, { events: [stop] })
    await store.packDeltas('t', log.length)
    for (const [, at] of forks)
      await other.fork('t', at, { id: `after ${at}`, agent: 'a' }, { events: [stop] })
    for (const [, at] of forks)
      for (const id of [`before ${at}`, `after ${at}`]) {
        const end = { seq: at + 1, at: log[at - 1]?.at ?? (await store.get(id))?.createdAt, event: stop }
        const expected = [...log.slice(0, at), end]
        assert.deepEqual(await readAll(store, id, { split: true }), expected, id)
        for (let after = 0; after <= at; after++) {
          const rest = await readAll(store, id, { after, split: true, limit: 3 })
          assert.deepEqual(rest, expected.slice(after), `${id}, after ${after}`)
          // Joined or not, no entry extends beyond the number.
          const joined = await readAll(store, id, { after })
          assert.deepEqual(joined.at(-1), end)
          assert.ok(joined.slice(0, -1).every(({ seq }) => seq <= at))
        }
        assert.deepEqual([(await store.get(id))?.head, (await store.get(id))?.status], [at + 1, 'queued'])
      }
    await other.fork('t', 0, { id: 'empty', agent: 'a' })
    assert.deepEqual([(await store.get('empty'))?.head, (await store.get('empty'))?.status], [0, 'idle'])
    assert.deepEqual(await store.read('empty', { after: 0, limit: 9 }), [])
  },

  'a fork of a fork of a fork has everything before it': async ({ store, other, advance }) => {
    const log = await writeLog(store, advance)
    const deepest = await forksOf(store, 't', 100)
    const whole = await readAll(other, deepest, { split: true, limit: 1000 })
    assert.deepEqual(whole.slice(0, log.length), log)
    assert.equal(whole.length, log.length + 200)
    for (const after of [0, 5, log.length - 1, log.length + 1, log.length + 77, whole.length])
      assert.deepEqual(await readAll(other, deepest, { after, split: true, limit: 9 }), whole.slice(after))
    // A page is full even if it comes from many threads.
    assert.equal((await other.read(deepest, { after: log.length, limit: 150, split: true })).length, 150)
    // A fork of any of them at a shared number.
    await store.fork(deepest, log.length + 3, { id: 'early', agent: 'a' })
    assert.deepEqual(await readAll(other, 'early', { split: true }), whole.slice(0, log.length + 3))
    await store.packDeltas(deepest, whole.length)
    await store.packDeltas('t', log.length)
    assert.deepEqual(await readAll(other, deepest, { split: true, limit: 1000 }), whole)
  },

  'a deleted thread is gone, and its forks keep what they share with it': async ({
    store,
    other,
    advance,
  }) => {
    const log = await writeLog(store, advance)
    await store.packDeltas('t', log.length)
    await other.fork('t', 4, { id: 'f', agent: 'a' })
    await writeTo(store, 'f', [textDelta('own')])
    await other.fork('f', 5, { id: 'g', agent: 'a' })
    await other.fork('f', 2, { id: 'h', agent: 'a' })
    const kept = { f: await readAll(store, 'f', { split: true }), g: [] as Entry[], h: log.slice(0, 2) }
    kept.g = kept.f
    for (const id of ['t', 'f'] as const) {
      assert.equal(await store.delete(id), true)
      assert.equal(await other.get(id), undefined)
      assert.equal(await other.claim(id, 'worker', 1000), undefined)
      await rejectsWith('not_found', other.read(id, { after: 0, limit: 1 }))
      await rejectsWith('not_found', other.fork(id, 1, { id: 'x', agent: 'a' }))
    }
    assert.deepEqual((await other.list({ limit: 9 })).threads.map(({ id }) => id).sort(), ['g', 'h'])
    // Its id is free, and a thread created under it is another one.
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('again'))
    for (const id of ['g', 'h'] as const) {
      // While unneeded entries are removed, and after that.
      for (let round = 0; round < 20; round++) {
        assert.deepEqual(await readAll(other, id, { split: true }), kept[id])
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    await other.fork('g', 3, { id: 'again', agent: 'a' })
    await store.delete('g')
    await store.delete('h')
    assert.deepEqual(await readAll(other, 'again', { split: true }), log.slice(0, 3))
    await store.delete('again')
    assert.deepEqual(
      (await other.list({ limit: 9 })).threads.map(({ id }) => id),
      ['t'],
    )
    assert.equal((await readAll(other, 't')).length, 1)
  },

  'deleting a fork does not affect what it shares': async ({ store, other, advance }) => {
    const log = await writeLog(store, advance)
    const deepest = await forksOf(store, 't', 3)
    const whole = await readAll(store, deepest, { split: true })
    await store.delete('t/2')
    await store.delete('t/1')
    await soon('the deletion', async () => (await other.get('t/1')) === undefined)
    assert.deepEqual(await readAll(other, deepest, { split: true }), whole)
    await store.delete(deepest)
    assert.deepEqual(await readAll(other, 't', { split: true }), log)
  },

  'a fork is rejected if its id is taken, or there is nothing to fork': async ({ store, other, advance }) => {
    const log = await writeLog(store, advance)
    await store.create({ id: 'taken', agent: 'a' })
    assert.equal(await other.fork('t', 3, { id: 'taken', agent: 'a' }), false)
    assert.equal(await other.fork('t', 3, { id: 't', agent: 'a' }), false)
    await rejectsWith('not_found', other.fork('no thread', 0, { id: 'f', agent: 'a' }))
    await rejectsWith('invalid_input', other.fork('t', log.length + 1, { id: 'f', agent: 'a' }))
    assert.equal(await store.get('f'), undefined)
    const created = await Promise.all([1, 2, 3].map((at) => store.fork('t', at, { id: 'one', agent: 'a' })))
    assert.equal(created.filter(Boolean).length, 1)
  },

  'a fork counts what it shares for its caller, within the quotas': async ({ store, other, advance }) => {
    const log = await writeLog(store, advance)
    const whole = (await other.get('t'))?.bytes ?? 0
    const quotas = {
      runs: 1,
      waiting: 0,
      storedBytes: whole + 1,
      bytesPerMinute: 1e9,
      tokensPerMinute: 1e9,
    }
    const caller = 'ada'
    const fork = (id: string) => store.fork('t', log.length, { id, agent: 'a', caller }, { quotas })
    assert.equal(await fork('f'), true)
    assert.ok(((await other.get('f'))?.bytes ?? 0) >= whole, 'the whole log is as long as before')
    const { storedBytes } = await other.usage('ada')
    assert.ok(storedBytes >= whole, `${storedBytes} bytes`)
    // What a fork keeps of a deleted thread still counts.
    await store.delete('t')
    assert.equal((await other.usage('ada')).storedBytes, storedBytes)
    await writeTo(store, 'f', [textDelta('x'.repeat(1000))])
    assert.ok((await other.usage('ada')).storedBytes > storedBytes + 1000)
    await rejectsWith('rate_limit', store.fork('f', 1, { id: 'g', agent: 'a', caller }, { quotas }))
    assert.equal(await other.get('g'), undefined)
    await store.delete('f')
    assert.equal((await other.usage('ada')).storedBytes, 0)
  },

  'a long thread can be forked while it is written to and packed': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 5000 }, (_, index) => textDelta(`${index} `))
    await store.append([{ lease, events }])
    const [created] = await Promise.all([
      store.fork('t', 4500, { id: 'f', agent: 'a' }),
      other.packDeltas('t', 5001),
      other.signal('t', undefined, userInput('meanwhile')),
    ])
    assert.equal(created, true)
    const log = await readAll(other, 'f', { split: true, limit: 999 })
    assert.deepEqual(
      log.slice(1).map(({ event }) => event),
      events.slice(0, 4499),
    )
    await writeTo(store, 'f', [textDelta('a'), textDelta('b'), textDelta('c')])
    await store.packDeltas('f', 4503)
    const joined = await other.read('f', { after: 4500, limit: 9 })
    assert.deepEqual(
      joined.map(({ from, seq, event }) => [from, seq, event]),
      [[4501, 4503, textDelta('abc')]],
    )
    assert.equal((await readAll(other, 'f', { split: true, limit: 999 })).length, 4503)
  },
}
