import assert from 'node:assert/strict'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import type { ThreadStore } from '../../threads/index.ts'
import type { Cases, Scene } from './scene.ts'
import { infoOf, ownedThread, readAll, rejectsWith, said, word, wordsOf } from './scene.ts'

/** A log with deltas of several voices, each written at its own time, and what stands between them. */
async function talk({ store, pass }: Scene, id = 't') {
  const lease = await ownedThread(store, id)
  const events: ThreadEvent[] = [
    ...[...'mill\ud83d'].map(word),
    word('\ude00race'),
    { type: 'reasoning', text: 'h' },
    { type: 'reasoning', text: 'm' },
    { type: 'tool-input', callId: 'c1', delta: '{"a"' },
    { type: 'tool-input', callId: 'c1', delta: ':1}' },
    { type: 'tool-input', callId: 'c2', delta: '{}' },
    { type: 'tool-progress', callId: 'c1', event: word('sub') },
    { type: 'tool-progress', callId: 'c1', event: word('agent') },
    { type: 'tool-progress', callId: 'c1', data: 1 },
    { type: 'tool-progress', callId: 'c1', data: 2 },
    { type: 'part-end', part: 'text' },
    ...[...'goes on'].map(word),
  ]
  for (const event of events) {
    await store.append([{ lease, events: [event] }])
    pass(3)
  }
  return { lease, log: await readAll(store, id) }
}

/** From each number on: the exact rest. Whether deltas are joined is the store's affair. */
async function readsTheSame(store: ThreadStore, id: string, log: readonly Entry[]): Promise<void> {
  for (let after = 0; after <= log.length; after++) {
    assert.deepEqual(await readAll(store, id, { after, split: true, limit: 4 }), log.slice(after))
    const read = await readAll(store, id, { after })
    assert.deepEqual(voicesOf(read), voicesOf(log.slice(after)), `after ${after}`)
    for (const entry of read)
      assert.deepEqual(Object.keys(entry).sort(), ['at', 'event', ...(entry.from ? ['from'] : []), 'seq'])
  }
}

/** What was said, with the number at which each voice came to its end. */
function voicesOf(entries: readonly Entry[]): unknown[] {
  const voices: { kind: string; text: string; seq: number }[] = []
  for (const { seq, event } of entries) {
    const inner = event.type === 'tool-progress' && event.event ? event.event : event
    const text = 'text' in inner ? inner.text : 'delta' in inner ? inner.delta : undefined
    const kind = JSON.stringify(event, (key, value) =>
      key === 'text' || key === 'delta' ? undefined : value,
    )
    const last = voices.at(-1)
    if (text !== undefined && last?.kind === kind) Object.assign(last, { text: last.text + text, seq })
    else voices.push({ kind, text: text ?? '', seq })
  }
  return voices
}

export const compactionCases: Cases = {
  'compacting joins deltas, and no reader can tell from what it gets': async (scene) => {
    const { store, other } = scene
    const { log } = await talk(scene)
    const before = await infoOf(store, 't')
    await readsTheSame(store, 't', log)
    await store.compact('t', log.length)
    const joined = await readAll(other, 't')
    assert.ok(joined.length < log.length, 'must take fewer entries')
    assert.ok(joined.some(({ from }) => from === 2))
    await readsTheSame(other, 't', log)
    assert.deepEqual(await infoOf(store, 't'), before)
  },

  'compacting leaves what comes after its number, and may be done again and again': async (scene) => {
    const { store, other } = scene
    const { log } = await talk(scene)
    for (const upTo of [1, 3, 3, 6, 9, log.length - 2, log.length, log.length + 100]) {
      await store.compact('t', upTo)
      const read = await readAll(other, 't')
      assert.deepEqual(
        read.filter(({ seq }) => seq > upTo),
        log.slice(upTo),
        `up to ${upTo}`,
      )
      await readsTheSame(other, 't', log)
    }
    const once = await talk(scene, 'once')
    await store.compact('once', once.log.length)
    const inSteps = await readAll(store, 't')
    assert.deepEqual(
      inSteps.map(({ seq }) => seq),
      (await readAll(store, 'once')).map(({ seq }) => seq),
    )
  },

  'a log is compacted while its owner writes': async (scene) => {
    const { store, other } = scene
    const { lease, log } = await talk(scene)
    const rounds = Array.from({ length: 30 }, (_, index) => index)
    await Promise.all(
      rounds.flatMap((index) => [
        store.append([{ lease, events: [word(`w${index} `)] }]),
        other.compact('t', log.length + index),
      ]),
    )
    const all = await readAll(store, 't')
    assert.equal(all.at(-1)?.seq, log.length + rounds.length)
    assert.ok(wordsOf(all).endsWith(rounds.map((index) => `w${index} `).join('')))
    assert.equal(await store.release(lease, { head: log.length + rounds.length, status: 'idle' }), 'released')
    await readsTheSame(other, 't', await readAll(store, 't', { split: true }))
  },

  'a long answer is compacted, read in pages and split': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 5000 }, (_, index) => word(`${index} `))
    await store.append([{ lease, events }])
    await store.compact('t', 5001)
    const whole = await readAll(other, 't')
    assert.ok(whole.length < 100)
    assert.equal(wordsOf(whole), wordsOf(events.map((event, index) => ({ seq: index + 2, at: 0, event }))))
    const split = await readAll(other, 't', { split: true, limit: 999 })
    assert.deepEqual(
      split.slice(1).map(({ event }) => event),
      events,
    )
    for (const after of [0, 1, 2, 2500, 4999, 5000]) {
      const rest = await readAll(other, 't', { after })
      assert.equal(
        wordsOf(rest),
        events
          .slice(Math.max(0, after - 1))
          .map(({ text }) => text)
          .join(''),
      )
    }
  },

  'a long log in which nothing can be joined is left as it is': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 2500 }, (_, index) => said(`${index}`))
    await store.append([{ lease, events }])
    const before = await readAll(store, 't')
    await store.compact('t', 2000)
    await store.compact('t', 2501)
    assert.deepEqual(await readAll(other, 't'), before)
  },

  'a key still stands for its event when that has been compacted': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await store.append([{ lease, events: [word('a')] }])
    const first = await store.signal('t', 'key', word('b'))
    await store.append([{ lease, events: [word('c')] }])
    await store.compact('t', 4)
    assert.deepEqual(await other.signal('t', 'key', said('again')), { entry: first.entry, repeated: true })
  },

  'a thread is compacted and deleted at once without harm': async (scene) => {
    const { store, other } = scene
    const { log } = await talk(scene)
    const compacted = store.compact('t', log.length).catch((error: unknown) => error)
    await other.delete('t')
    await compacted
    assert.equal(await store.get('t'), undefined)
    await rejectsWith('not_found', store.compact('t', 1))
    await store.create({ id: 't', agent: 'a' })
    assert.deepEqual(await store.read('t', { after: 0, limit: 10 }), [])
  },
}
