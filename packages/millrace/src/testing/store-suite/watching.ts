import assert from 'node:assert/strict'
import type { Entry } from '../../protocol/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, ownedThread, soon, textDelta, textIn, userInput } from './context.ts'

/** Follows threads, and records what is reported. */
function watchThreads(store: SuiteStore, ...ids: string[]) {
  const reported = new Map<string, (number | undefined)[]>()
  const counts = { runnable: 0 }
  const changed = (id: string, head?: number) => reported.set(id, [...(reported.get(id) ?? []), head])
  const watch = store.watch({
    changed,
    runnable: () => counts.runnable++,
    missed() {
      for (const id of followed) changed(id)
    },
  })
  const followed = new Set<string>()
  const follow = (id: string) => {
    followed.add(id)
    watch.follow(id)
  }
  const unfollow = (id: string) => {
    followed.delete(id)
    watch.unfollow(id)
  }
  for (const id of ids) follow(id)
  return { follow, unfollow, close: watch.close, reported, counts }
}

export const watchCases: Cases = {
  'changes of followed threads are reported, by any process': async ({ store, other }) => {
    const watches = [watchThreads(store, 't'), watchThreads(other, 't')]
    const both = (what: string) =>
      soon(what, () => {
        const isReported = watches.every(({ reported }) => reported.has('t'))
        if (isReported) for (const { reported } of watches) reported.clear()
        return isReported
      })
    // In turn, so that each is notified of the other's writes and of its own.
    await store.create({ id: 't', agent: 'a' })
    await other.signal('t', undefined, userInput('hello'))
    await both('the notification of a signal')
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: [textDelta('x')] }])
    await both('the notification of an append')
    assert.equal(await store.release(lease, { head: 2, status: 'idle' }), 'released')
    await other.delete('t')
    await both('the notification of a deletion')
    // Its place in the order of changes is not reused, or that change would be missed.
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('again'))
    await both('the notification of a new thread')
    for (const watch of watches) watch.close()
  },

  'only followed threads are reported': async ({ store, other }) => {
    for (const id of ['t', 'u', 'v']) await store.create({ id, agent: 'a' })
    const watch = watchThreads(other, 't', 'v')
    watch.unfollow('t')
    for (const id of ['t', 'u', 'v']) await store.signal(id, undefined, userInput('hello'))
    await soon('the notification', () => watch.reported.has('v'))
    assert.deepEqual([...watch.reported.keys()], ['v'])
    watch.follow('u')
    await store.signal('u', undefined, userInput('again'))
    await soon('the notification', () => watch.reported.has('u'))
    watch.close()
  },

  'threads that become runnable are reported, and no other change': async ({ store, other }) => {
    const watch = watchThreads(other)
    const busy = await ownedThread(store, 'busy')
    const isReported = (what: string) => soon(what, () => watch.counts.runnable > 0)
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('hello'))
    await isReported('the notification of a signal')
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: [textDelta('x')] }])
    // Changes are reported in order, so with this one, those before it were reported.
    const last = watchThreads(other, 'busy')
    await store.append([{ lease: busy, events: [textDelta('x')] }])
    await soon('the notification of an append', () => last.reported.has('busy'))
    last.close()
    watch.counts.runnable = 0
    await store.append([{ lease, events: [textDelta('y')] }])
    const follower = watchThreads(other, 't')
    await store.append([{ lease, events: [textDelta('z')] }])
    await soon('the notification of an append', () => follower.reported.has('t'))
    assert.equal(watch.counts.runnable, 0)
    assert.equal(await store.release(lease, { head: 4, status: 'runnable' }), 'released')
    await isReported('the notification of a handover')
    watch.close()
    follower.close()
  },

  'the deletion of the most recently changed thread is reported': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    await store.signal('t', undefined, userInput('hello'))
    const watch = watchThreads(other, 't')
    await store.delete('t')
    await soon('the notification of a deletion', () => watch.reported.has('t'))
    watch.close()
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
    const watch = other.watch({
      changed() {
        isStale = true
        reading ??= catchUp()
      },
    })
    watch.follow('t')
    for (let index = 0; index < 100; index++) {
      await store.append([{ lease, events: [textDelta('x')] }])
      if (index % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    // No more is written: a change that is not reported by now never would be.
    await soon('the last entry', () => (read.at(-1)?.seq ?? 0) >= 101)
    watch.close()
    await reading
    assert.equal(textIn(read), 'x'.repeat(100))
  },

  'a reported head is one that the log has had, and never that of a deleted thread': async ({
    store,
    other,
  }) => {
    const watch = watchThreads(other, 't', 'u')
    const { reported } = watch
    for (const id of ['t', 'u']) {
      const lease = await ownedThread(store, id)
      await store.append([{ lease, events: [textDelta('x'), textDelta('y')] }])
    }
    await soon('the notification', () => reported.has('t') && reported.has('u'))
    for (const heads of reported.values())
      for (const head of heads) assert.ok(head === undefined || head <= 3)
    reported.clear()
    // In one turn: merged or not, this must not look like growth alone.
    const signaled = store.signal('t', undefined, userInput('z')).catch(({ code }) => {
      // Over a network the deletion may arrive first.
      assert.equal(code, 'not_found')
    })
    await Promise.all([signaled, store.delete('t'), store.delete('u')])
    await soon(
      'the notification',
      () => !!reported.get('t')?.includes(undefined) && !!reported.get('u')?.includes(undefined),
    )
    watch.close()
  },

  'a closed watch reports nothing, and the others do': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    const [first, second] = [watchThreads(other, 't'), watchThreads(other, 't')]
    await store.signal('t', undefined, userInput('hello'))
    await soon('the notification', () => first.reported.has('t') && second.reported.has('t'))
    first.close()
    first.close()
    for (const { reported } of [first, second]) reported.clear()
    await store.signal('t', undefined, userInput('again'))
    await soon('the notification', () => second.reported.has('t'))
    assert.equal(first.reported.size, 0)
    second.close()
    const third = watchThreads(other, 't')
    await store.signal('t', undefined, userInput('once more'))
    await soon('the notification', () => third.reported.has('t'))
    third.close()
  },

  'a watcher may use the store right away': async ({ store }) => {
    await store.create({ id: 't', agent: 'a' })
    let [claims, started, ended] = [0, 0, 0]
    const watch = store.watch({
      async changed(id) {
        if (await store.claim(id, `worker ${started++}`, 5000)) claims++
        ended++
      },
    })
    watch.follow('t')
    await store.signal('t', undefined, userInput('hello'))
    await soon('a claim', () => claims === 1 && started === ended)
    watch.close()
  },
}
