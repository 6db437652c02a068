import assert from 'node:assert/strict'
import type { Entry } from '../../protocol/index.ts'
import type { Cases } from './scene.ts'
import { claimed, ownedThread, said, soon, word, wordsOf } from './scene.ts'

export const watchCases: Cases = {
  'whoever watches hears of every change, through whomever it comes': async ({ store, other }) => {
    const heard: string[] = []
    const heardThere: string[] = []
    const ends = [store.watch((id) => heard.push(id)), other.watch((id) => heardThere.push(id))]
    const both = (what: string) =>
      soon(what, () => {
        const told = heard.includes('t') && heardThere.includes('t')
        if (told) for (const list of [heard, heardThere]) list.length = 0
        return told
      })
    // In turns, so that each is told of the other's writes and of its own.
    await store.create({ id: 't', agent: 'a' })
    await other.signal('t', undefined, said('hello'))
    await both('the news of a signal')
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: [word('x')] }])
    await both('the news of an append')
    assert.equal(await store.release(lease, { head: 2, status: 'runnable' }), 'released')
    await both('the news of a thread that was handed over')
    await other.delete('t')
    await both('the news of a thread that is gone')
    // Its place in the order of changes is not taken by another, which would then go unheard.
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, said('anew'))
    await both('the news of a thread that was made anew')
    for (const end of ends) end()
  },

  'whoever watches hears that the thread that changed last is gone': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, said('hello'))
    let heard = 0
    const end = other.watch(() => heard++)
    await store.delete('t')
    await soon('the news of a thread that is gone', () => heard > 0)
    end()
  },

  'what a watcher hears of is there to be read': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const read: Entry[] = []
    let reading: Promise<void> | undefined
    let asked = false
    async function catchUp() {
      while (asked) {
        asked = false
        read.push(...(await other.read('t', { after: read.at(-1)?.seq ?? 0, limit: 1000 })))
      }
      reading = undefined
    }
    const end = other.watch(() => {
      asked = true
      reading ??= catchUp()
    })
    for (let index = 0; index < 100; index++) {
      await store.append([{ lease, events: [word('x')] }])
      if (index % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    // No more is written: what a watcher has not been told of by now, it would never hear of.
    await soon('the last entry', () => (read.at(-1)?.seq ?? 0) >= 101)
    end()
    await reading
    assert.equal(wordsOf(read), 'x'.repeat(100))
  },

  'a head that is told is one that the log has had, and never that of a thread that is gone': async ({
    store,
    other,
  }) => {
    const told = new Map<string, (number | undefined)[]>()
    const end = other.watch((id, head) => told.set(id, [...(told.get(id) ?? []), head]))
    for (const id of ['t', 'u']) {
      const lease = await ownedThread(store, id)
      await store.append([{ lease, events: [word('x'), word('y')] }])
    }
    await soon('the news', () => told.has('t') && told.has('u'))
    for (const heads of told.values()) for (const head of heads) assert.ok(head === undefined || head <= 3)
    told.clear()
    // In one turn: told as one or as several, it must not look like growth alone.
    await Promise.all([store.signal('t', undefined, said('z')), store.delete('t'), store.delete('u')])
    await soon('the news', () => !!told.get('t')?.includes(undefined) && !!told.get('u')?.includes(undefined))
    end()
  },

  'one that has ended hears no more, and the others do': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    const heard = { first: 0, second: 0 }
    const listener = () => heard.first++
    const endFirst = other.watch(listener)
    const endSecond = other.watch(() => heard.second++)
    await store.signal('t', undefined, said('hello'))
    await soon('the news', () => heard.first > 0 && heard.second > 0)
    endFirst()
    endFirst()
    const before = { ...heard }
    await store.signal('t', undefined, said('again'))
    await soon('the news', () => heard.second > before.second)
    assert.equal(heard.first, before.first)
    endSecond()
    // And one that begins anew hears from then on.
    const end = other.watch(listener)
    await store.signal('t', undefined, said('once more'))
    await soon('the news', () => heard.first > before.first)
    end()
  },

  'a listener may use the store at once': async ({ store }) => {
    await store.create({ id: 't', agent: 'a' })
    let claims = 0
    const end = store.watch(async (id) => {
      if (await store.claim(id, 'worker', 5000)) claims++
    })
    await store.signal('t', undefined, said('hello'))
    await soon('a claim', () => claims === 1)
    end()
  },
}
