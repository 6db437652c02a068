import assert from 'node:assert/strict'
import type { Entry, RunStartEvent, ThreadEvent } from '../../protocol/index.ts'
import type { ThreadStore } from '../../threads/index.ts'
import type { Cases } from './scene.ts'
import { claimed, infoOf, ownedThread, readAll, rejectsWith, said, word } from './scene.ts'

const runStart: RunStartEvent = {
  type: 'run-start',
  version: 1,
  runId: 'r',
  agent: 'a',
  input: [],
  heard: [1],
}

const usage = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

/** A thread in which a run has begun, said something and ended. */
async function talk(store: ThreadStore, pass: (ms: number) => void): Promise<Entry[]> {
  const lease = await ownedThread(store, 't')
  const events: ThreadEvent[] = [
    runStart,
    ...[...'millrace'].map(word),
    { type: 'run-end', outcome: 'completed', usage },
  ]
  for (const event of events) {
    await store.append([{ lease, events: [event] }])
    pass(3)
  }
  await store.signal('t', undefined, said('and this'))
  return readAll(store, 't', { split: true })
}

export const forkCases: Cases = {
  'a fork has the log up to its number, and goes on by itself': async ({ store, other, now, pass }) => {
    const log = await talk(store, pass)
    const last = log.length
    const thread = {
      id: 'f',
      agent: 'a',
      user: 'ada',
      metadata: { x: 1 },
      forkedFrom: { id: 't', seq: last },
    }
    assert.equal(await store.fork('t', last, thread), true)
    assert.deepEqual(await readAll(other, 'f', { split: true }), log)
    assert.deepEqual(await infoOf(other, 'f'), {
      ...thread,
      title: 'hello',
      createdAt: now(),
      updatedAt: log.at(-1)?.at,
      head: last,
      status: 'queued',
    })
    assert.equal((await other.usage('ada')).waiting, 1)
    assert.deepEqual(
      (await other.list({ limit: 1, search: 'hello f' })).threads.map(({ id }) => id),
      ['f'],
    )
    const { entry } = await other.signal('f', undefined, said('more'))
    assert.equal(entry.seq, last + 1)
    assert.equal((await store.get('t'))?.head, last)
    await store.delete('t')
    assert.equal((await readAll(other, 'f', { split: true })).length, last + 1)
    await claimed(other, 'f', 'worker')
  },

  'a fork at any number, also inside of what was joined, reads as the thread did up to there': async ({
    store,
    other,
    pass,
  }) => {
    const log = await talk(store, pass)
    await store.compact('t', log.length)
    for (let at = 0; at <= log.length; at++) {
      const id = `f${at}`
      assert.equal(await other.fork('t', at, { id, agent: 'a' }), true)
      const isRunning = at >= 2 && at < 11
      const entries = await readAll(store, id, { split: true })
      assert.deepEqual(entries.slice(0, at), log.slice(0, at))
      assert.deepEqual(
        entries.slice(at).map(({ seq, at, event }) => [seq, at, event.type]),
        isRunning ? [[at + 1, log[at - 1]?.at, 'stop']] : [],
      )
      const info = await store.get(id)
      assert.equal(info?.head, entries.length)
      assert.equal(info?.status, at === 0 ? 'idle' : 'queued')
      assert.equal(info?.title, at === 0 ? undefined : 'hello')
    }
  },

  'a fork is refused if its id is taken, or there is nothing to fork': async ({ store, other, pass }) => {
    const log = await talk(store, pass)
    await store.create({ id: 'taken', agent: 'a' })
    assert.equal(await other.fork('t', 3, { id: 'taken', agent: 'a' }), false)
    assert.equal(await other.fork('t', 3, { id: 't', agent: 'a' }), false)
    await rejectsWith('not_found', other.fork('no thread', 0, { id: 'f', agent: 'a' }))
    await rejectsWith('invalid_input', other.fork('t', log.length + 1, { id: 'f', agent: 'a' }))
    assert.equal(await store.get('f'), undefined)
    const made = await Promise.all([1, 2, 3].map((at) => store.fork('t', at, { id: 'one', agent: 'a' })))
    assert.equal(made.filter(Boolean).length, 1)
  },

  'a fork counts for its caller, within its quotas': async ({ store, other, pass }) => {
    const log = await talk(store, pass)
    const quotas = {
      runs: 1,
      waiting: 0,
      storedBytes: 400,
      bytesPerMinute: 1e9,
      tokensPerMinute: 1e9,
    }
    assert.equal(await store.fork('t', log.length, { id: 'f', agent: 'a', caller: 'ada' }, quotas), true)
    const { bytes } = (await other.get('f')) ?? {}
    assert.equal((await other.usage('ada')).storedBytes, bytes)
    assert.equal(bytes, (await other.get('t'))?.bytes)
    await rejectsWith('rate_limit', store.fork('t', 1, { id: 'g', agent: 'a', caller: 'ada' }, quotas))
    assert.equal(await other.get('g'), undefined)
    await store.delete('f')
    assert.equal((await other.usage('ada')).storedBytes, 0)
  },

  'a long thread is forked while it is written to and compacted': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const events = Array.from({ length: 5000 }, (_, index) => word(`${index} `))
    await store.append([{ lease, events }])
    const [made] = await Promise.all([
      store.fork('t', 4500, { id: 'f', agent: 'a' }),
      other.compact('t', 5001),
      other.signal('t', undefined, said('meanwhile')),
    ])
    assert.equal(made, true)
    const log = await readAll(other, 'f', { split: true, limit: 999 })
    assert.deepEqual(
      log.slice(1).map(({ event }) => event),
      events.slice(0, 4499),
    )
    await store.compact('f', 4500)
    assert.equal((await readAll(other, 'f', { split: true, limit: 999 })).length, 4500)
  },
}
