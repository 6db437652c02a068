import assert from 'node:assert/strict'
import type { Entry } from '../../protocol/index.ts'
import type { Cases } from './context.ts'
import { claimed, ownedThread, soon, textDelta, textIn, userInput } from './context.ts'

export const watchCases: Cases = {
  'watchers are notified of every change, by any process': async ({ store, other }) => {
    const changed: string[] = []
    const changedThere: string[] = []
    const ends = [store.watch((id) => changed.push(id)), other.watch((id) => changedThere.push(id))]
    const both = (what: string) =>
      soon(what, () => {
        const reported = changed.includes('t') && changedThere.includes('t')
        if (reported) for (const list of [changed, changedThere]) list.length = 0
        return reported
      })
    // In turn, so that each is notified of the other's writes and of its own.
    await store.create({ id: 't', agent: 'a' })
    await other.signal('t', undefined, userInput('hello'))
    await both('the notification of a signal')
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: [textDelta('x')] }])
    await both('the notification of an append')
    assert.equal(await store.release(lease, { head: 2, status: 'runnable' }), 'released')
    await both('the notification of a handover')
    await other.delete('t')
    await both('the notification of a deletion')
    // Its place in the order of changes is not reused, or that change would be missed.
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('again'))
    await both('the notification of a new thread')
    for (const end of ends) end()
  },

  'watchers are notified when the most recently changed thread is deleted': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('hello'))
    let changed = 0
    const end = other.watch(() => changed++)
    await store.delete('t')
    await soon('the notification of a deletion', () => changed > 0)
    end()
  },

  'a reported change is readable': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const read: Entry[] = []
    let reading: Promise<void> | undefined
    let isStale = false
    async function catchUp() {
      while (isStale) {
        isStale = false
        read.push(...(await other.read('t', { after: read.at(-1)?.seq ?? 0, limit: 1000 })))
      }
      reading = undefined
    }
    const end = other.watch(() => {
      isStale = true
      reading ??= catchUp()
    })
    for (let index = 0; index < 100; index++) {
      await store.append([{ lease, events: [textDelta('x')] }])
      if (index % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    // No more is written: a change that is not reported by now never would be.
    await soon('the last entry', () => (read.at(-1)?.seq ?? 0) >= 101)
    end()
    await reading
    assert.equal(textIn(read), 'x'.repeat(100))
  },

  'a reported head is one that the log has had, and never that of a deleted thread': async ({
    store,
    other,
  }) => {
    const reported = new Map<string, (number | undefined)[]>()
    const end = other.watch((id, head) => reported.set(id, [...(reported.get(id) ?? []), head]))
    for (const id of ['t', 'u']) {
      const lease = await ownedThread(store, id)
      await store.append([{ lease, events: [textDelta('x'), textDelta('y')] }])
    }
    await soon('the notification', () => reported.has('t') && reported.has('u'))
    for (const heads of reported.values())
      for (const head of heads) assert.ok(head === undefined || head <= 3)
    reported.clear()
    // In one turn: merged or not, this must not look like growth alone.
    await Promise.all([store.signal('t', undefined, userInput('z')), store.delete('t'), store.delete('u')])
    await soon(
      'the notification',
      () => !!reported.get('t')?.includes(undefined) && !!reported.get('u')?.includes(undefined),
    )
    end()
  },

  'a removed watcher is not called, and the others are': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    const changed = { first: 0, second: 0 }
    const listener = () => changed.first++
    const endFirst = other.watch(listener)
    const endSecond = other.watch(() => changed.second++)
    await store.signal('t', undefined, userInput('hello'))
    await soon('the notification', () => changed.first > 0 && changed.second > 0)
    endFirst()
    endFirst()
    const before = { ...changed }
    await store.signal('t', undefined, userInput('again'))
    await soon('the notification', () => changed.second > before.second)
    assert.equal(changed.first, before.first)
    endSecond()
    // A watcher that is added again is notified from then on.
    const end = other.watch(listener)
    await store.signal('t', undefined, userInput('once more'))
    await soon('the notification', () => changed.first > before.first)
    end()
  },

  'a listener may use the store right away': async ({ store }) => {
    await store.create({ id: 't', agent: 'a' })
    let claims = 0
    const end = store.watch(async (id) => {
      if (await store.claim(id, 'worker', 5000)) claims++
    })
    await store.signal('t', undefined, userInput('hello'))
    await soon('a claim', () => claims === 1)
    end()
  },
}
