import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import type { ThreadStore } from '../store.ts'
import { expectIntact, other, soon, temporaryFolder, wholeLog } from './sqlite.test-kit.ts'

const folder = temporaryFolder()
const ids = ['a', 'b', 'c']

async function threads(store: ThreadStore): Promise<void> {
  for (const id of ids) {
    await store.create({ id, agent: 'agent' })
    await store.signal(id, crypto.randomUUID(), { type: 'stop', reason: 'start' })
  }
}

describe('several processes with one file', () => {
  it('lose nothing acknowledged when a writer is killed between any two commits', async () => {
    const path = join(folder, 'killed.db')
    const store = sqliteStore(path)
    await threads(store)
    const acknowledged = new Map<string, number>()
    for (let life = 0; life < 5; life++) {
      const writer = other(['write', path, `w${life}`, ...ids])
      const commits = 3 + Math.floor(Math.random() * 40)
      while (writer.reports.length < commits) await writer.next()
      await writer.kill()
      const { heads } = writer.reports.at(-1) as { heads: number[] }
      for (const [index, id] of ids.entries()) {
        const log = await wholeLog(store, id)
        expect(log.length).toBeGreaterThanOrEqual(heads[index] as number)
        expect((await store.get(id))?.head).toBe(log.length)
        // What was acknowledged to one writer survives all later ones.
        expect(log.length).toBeGreaterThanOrEqual(acknowledged.get(id) ?? 0)
        acknowledged.set(id, log.length)
        const last = log.findLast(({ event }) => event.type === 'text' && event.text.startsWith(`w${life}`))
        expect(last?.seq).toBeGreaterThanOrEqual((heads[index] as number) - 1)
      }
      // Commits are atomic: all threads got the same number of entries.
      expect(new Set(acknowledged.values()).size).toBe(1)
    }
    await store.close()
    expectIntact(path)
  })

  it('write concurrently, each to its own threads, and to one with signals', async () => {
    const path = join(folder, 'two.db')
    const store = sqliteStore(path)
    await threads(store)
    const changed = new Set<string>()
    const watch = store.watch({ changed: (id) => changed.add(id) })
    for (const id of ids) watch.follow(id)
    const writers = [other(['write', path, 'one', 'a', 'b']), other(['write', path, 'two', 'c'])]
    const signalers = [other(['signal', path, 'a', '40']), other(['signal', path, 'a', '40'])]
    await Promise.all(signalers.map((signaler) => signaler.ended()))
    for (const writer of writers) while (writer.reports.length < 30) await writer.next()
    for (const writer of writers) await writer.kill()
    expect(changed).toEqual(new Set(ids))
    watch.close()
    for (const id of ids) await wholeLog(store, id)
    const log = await wholeLog(store, 'a')
    const acknowledged = signalers.flatMap(({ reports }) => reports.map(({ seq }) => seq))
    expect(new Set(acknowledged).size).toBe(80)
    for (const seq of acknowledged) expect(log[(seq as number) - 1]?.event.type).toBe('stop')
    await store.close()
    expectIntact(path)
  })

  it('fence a writer that was frozen past its lease', async () => {
    const path = join(folder, 'frozen.db')
    const store = sqliteStore(path)
    await threads(store)
    const frozen = other(['echo', path, 'frozen', 'a'])
    await frozen.next()
    frozen.send('before')
    expect(await frozen.next()).toEqual({ wrote: 2 })
    frozen.signal('SIGSTOP')
    let claim: Awaited<ReturnType<ThreadStore['claim']>>
    await soon(async () => {
      claim = await store.claim('a', 'quick', 5000)
      return claim !== undefined
    })
    expect(claim?.losses).toBe(1)
    await store.append([
      { lease: claim?.lease as never, number: 1, events: [{ type: 'text', text: 'mine' }] },
    ])
    frozen.send('too late')
    frozen.signal('SIGCONT')
    expect(await frozen.next()).toEqual({ wrote: 'fenced' })
    await frozen.ended()
    const log = await wholeLog(store, 'a')
    expect(log.map(({ event }) => (event.type === 'text' ? event.text : event.type))).toEqual([
      'stop',
      'before',
      'mine',
    ])
    await store.close()
  })

  it('can create a new file at the same time', async () => {
    const path = join(folder, 'deep/er/new.db')
    const others = Array.from({ length: 6 }, () => other(['open', path]))
    await Promise.all(others.map((each) => each.ended()))
    expect(others.flatMap(({ reports }) => reports)).toEqual(others.map(() => ({ created: true })))
    const store = sqliteStore(path)
    expect((await store.list({ limit: 10 })).threads).toHaveLength(6)
    await store.close()
    expectIntact(path)
  })
})

describe('a process frozen in the middle of writing', () => {
  it('makes others wait without blocking them, and they continue when it is gone', async () => {
    const path = join(folder, 'held.db')
    const store = sqliteStore(path)
    await threads(store)
    const holder = other(['hold', path])
    await holder.next()
    holder.signal('SIGSTOP')
    const written = [1, 2, 3].map((n) =>
      store.signal('a', crypto.randomUUID(), { type: 'stop', reason: `${n}` }),
    )
    let settled = false
    void Promise.allSettled(written).then(() => {
      settled = true
    })
    // Everything else continues: reading, and the event loop.
    for (let turn = 0; turn < 50; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      expect((await store.get('a'))?.agent).toBe('agent')
    }
    expect(settled).toBe(false)
    await holder.kill()
    expect((await Promise.all(written)).map(({ entry }) => entry.seq)).toEqual([2, 3, 4])
    await store.close()
    expectIntact(path)
  })

  it('is reported when it takes too long, and nothing was written', async () => {
    const path = join(folder, 'stuck.db')
    const store = sqliteStore(path, { busyMs: 50 })
    await threads(store)
    const holder = other(['hold', path])
    await holder.next()
    const calls = [
      store.signal('a', 'key', { type: 'stop', reason: '' }),
      store.create({ id: 'new', agent: 'agent' }),
      store.claim('a', 'me', 1000),
    ]
    for (const call of calls)
      await expect(call).rejects.toMatchObject({
        code: 'store_error',
        retryable: true,
        message: expect.stringMatching(/stuck\.db' is locked: another process.*Check which one/),
      })
    expect((await store.get('a'))?.head).toBe(1)
    await holder.kill()
    expect(await store.signal('a', 'key', { type: 'stop', reason: '' })).toMatchObject({ repeated: false })
    expect(await store.get('new')).toBeUndefined()
    await store.close()
  })
})
