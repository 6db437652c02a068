import assert from 'node:assert/strict'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import type { Cases, SuiteContext, SuiteStore } from './context.ts'
import { infoOf, ownedThread, readAll, rejectsWith, textDelta, textIn, userInput } from './context.ts'

/**
 * Writes a log with deltas of several texts, each at its own time, and other events between them.
 */
async function writeLog({ store, advance }: SuiteContext, id = 't') {
  const lease = await ownedThread(store, id)
  const events: ThreadEvent[] = [
    ...[...'mill\ud83d'].map(textDelta),
    textDelta('\ude00race'),
    { type: 'reasoning', text: 'h' },
    { type: 'reasoning', text: 'm' },
    { type: 'tool-input', callId: 'c1', delta: '{"a"' },
    { type: 'tool-input', callId: 'c1', delta: ':1}' },
    { type: 'tool-input', callId: 'c2', delta: '{}' },
    { type: 'tool-progress', callId: 'c1', event: textDelta('sub') },
    { type: 'tool-progress', callId: 'c1', event: textDelta('agent') },
    { type: 'tool-progress', callId: 'c1', data: 1 },
    { type: 'tool-progress', callId: 'c1', data: 2 },
    { type: 'part-end', part: 'text' },
    ...[...'and more'].map(textDelta),
  ]
  for (const event of events) {
    await store.append([{ lease, events: [event] }])
    advance(3)
  }
  return { lease, log: await readAll(store, id) }
}

/** Checks that reading from any number returns the exact rest. Deltas may be joined or not. */
async function expectSameLog(store: SuiteStore, id: string, log: readonly Entry[]): Promise<void> {
  for (let after = 0; after <= log.length; after++) {
    assert.deepEqual(await readAll(store, id, { after, split: true, limit: 4 }), log.slice(after))
    const read = await readAll(store, id, { after })
    assert.deepEqual(textsOf(read), textsOf(log.slice(after)), `after ${after}`)
    for (const entry of read)
      assert.deepEqual(Object.keys(entry).sort(), ['at', 'event', ...(entry.from ? ['from'] : []), 'seq'])
  }
}

/** The texts of a log, with the number at which each one ends. */
function textsOf(entries: readonly Entry[]): unknown[] {
  const texts: { kind: string; text: string; seq: number }[] = []
  for (const { seq, event } of entries) {
    const inner = event.type === 'tool-progress' && event.event ? event.event : event
    const text = 'text' in inner ? inner.text : 'delta' in inner ? inner.delta : undefined
    const kind = JSON.stringify(event, (key, value) =>
      key === 'text' || key === 'delta' ? undefined : value,
    )
    const last = texts.at(-1)
    if (text !== undefined && last?.kind === kind) Object.assign(last, { text: last.text + text, seq })
    else texts.push({ kind, text: text ?? '', seq })
  }
  return texts
}

export const packingCases: Cases = {
  'packing joins deltas, and readers get the same content': async (context) => {
    const { store, other } = context
    const { log } = await writeLog(context)
    const before = await infoOf(store, 't')
    await expectSameLog(store, 't', log)
    await store.packDeltas('t', log.length)
    const joined = await readAll(other, 't')
    assert.ok(joined.length < log.length, 'must take fewer entries')
    assert.ok(joined.some(({ from }) => from === 2))
    await expectSameLog(other, 't', log)
    assert.deepEqual(await infoOf(store, 't'), before)
  },

  'packing leaves entries after its number alone, and can be repeated': async (context) => {
    const { store, other } = context
    const { log } = await writeLog(context)
    for (const upTo of [1, 3, 3, 6, 9, log.length - 2, log.length, log.length + 100]) {
      await store.packDeltas('t', upTo)
      const read = await readAll(other, 't')
      assert.deepEqual(
        read.filter(({ seq }) => seq > upTo),
        log.slice(upTo),
        `up to ${upTo}`,
      )
      await expectSameLog(other, 't', log)
    }
    const once = await writeLog(context, 'once')
    await store.packDeltas('once', once.log.length)
    const inSteps = await readAll(store, 't')
    assert.deepEqual(
      inSteps.map(({ seq }) => seq),
      (await readAll(store, 'once')).map(({ seq }) => seq),
    )
  },

  'a log can be packed while its owner writes': async (context) => {
    const { store, other } = context
    const { lease, log } = await writeLog(context)
    const rounds = Array.from({ length: 30 }, (_, index) => index)
    await Promise.all(
      rounds.flatMap((index) => [
        store.append([{ lease, events: [textDelta(`w${index} `)] }]),
        other.packDeltas('t', log.length + index),
      ]),
    )
    const all = await readAll(store, 't')
    assert.equal(all.at(-1)?.seq, log.length + rounds.length)
    assert.ok(textIn(all).endsWith(rounds.map((index) => `w${index} `).join('')))
    assert.equal(await store.release(lease, { head: log.length + rounds.length, status: 'idle' }), 'released')
    await expectSameLog(other, 't', await readAll(store, 't', { split: true }))
  },

  'a long answer is packed, read in pages and split': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 5000 }, (_, index) => textDelta(`${index} `))
    await store.append([{ lease, events }])
    await store.packDeltas('t', 5001)
    const whole = await readAll(other, 't')
    assert.ok(whole.length < 100)
    assert.equal(textIn(whole), textIn(events.map((event, index) => ({ seq: index + 2, at: 0, event }))))
    const split = await readAll(other, 't', { split: true, limit: 999 })
    assert.deepEqual(
      split.slice(1).map(({ event }) => event),
      events,
    )
    for (const after of [0, 1, 2, 2500, 4999, 5000]) {
      const rest = await readAll(other, 't', { after })
      assert.equal(
        textIn(rest),
        events
          .slice(Math.max(0, after - 1))
          .map(({ text }) => text)
          .join(''),
      )
    }
  },

  'a long log with nothing to join stays unchanged': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 2500 }, (_, index) => userInput(`${index}`))
    await store.append([{ lease, events }])
    const before = await readAll(store, 't')
    await store.packDeltas('t', 2000)
    await store.packDeltas('t', 2501)
    assert.deepEqual(await readAll(other, 't'), before)
  },

  'a key still refers to its event after packing': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    await store.append([{ lease, events: [textDelta('a')] }])
    const first = await store.signal('t', 'key', textDelta('b'))
    await store.append([{ lease, events: [textDelta('c')] }])
    await store.packDeltas('t', 4)
    assert.deepEqual(await other.signal('t', 'key', userInput('again')), { ...first, repeated: true })
  },

  'a thread can be packed and deleted at the same time': async (context) => {
    const { store, other } = context
    const { log } = await writeLog(context)
    const packing = store.packDeltas('t', log.length).catch((error: unknown) => error)
    await other.delete('t')
    await packing
    assert.equal(await store.get('t'), undefined)
    await rejectsWith('not_found', store.packDeltas('t', 1))
    await store.create({ id: 't', agent: 'a' })
    assert.deepEqual(await store.read('t', { after: 0, limit: 10 }), [])
  },
}
