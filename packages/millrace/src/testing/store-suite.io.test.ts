import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../log/sqlite.ts'
import type { ThreadEvent } from '../protocol/index.ts'
import type { Lease, ListOptions, StoredThread, ThreadFacts, ThreadStore } from '../threads/index.ts'
import { memoryStore } from '../threads/index.ts'
import { storeSuite } from './store-suite.ts'

describe('the memory store', () => {
  const stores = new Map<string, ThreadStore>()
  const cases = storeSuite({
    severalHandles: false,
    open({ name, now }) {
      const store = stores.get(name) ?? memoryStore({ now })
      stores.set(name, store)
      return store
    },
  })
  for (const { name, run } of cases) it(name, run)
})

describe('the SQLite store', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-suite-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const cases = storeSuite({ open: ({ name, now }) => sqliteStore(join(folder, `${name}.db`), { now }) })
  for (const { name, run } of cases) it(name, run)
})

function withoutPatch(event: ThreadEvent): ThreadEvent {
  return event.type === 'metadata' ? { ...event, patch: {} } : event
}

const titles = new Map<string, string | undefined>()

/** Each breaks one guarantee of a correct store. */
const brokenStores: Record<string, (store: ThreadStore) => Partial<ThreadStore>> = {
  'creates a thread twice': (store) => ({ create: (thread) => store.create(thread).then(() => true) }),
  'drops the initial entries of a thread': (store) => ({ create: (thread) => store.create(thread) }),
  'forks the whole thread': (store) => ({
    fork: async (id, _, ...rest) => store.fork(id, (await store.get(id))?.head ?? 0, ...rest),
  }),
  'drops the initial events of a fork': (store) => ({
    fork: (id, at, thread, options) => store.fork(id, at, thread, { ...options, events: [] }),
  }),
  'copies the log for a fork': (store) => ({
    async fork(id, at, thread, { quotas } = {}) {
      const entries = (await store.read(id, { after: 0, limit: 1e6, split: true })).slice(0, at)
      return store.create(thread, { entries, quotas })
    },
  }),
  'loses the forks of a deleted thread': (store) => {
    const forks = new Map<string, string[]>()
    return {
      async fork(id, ...rest) {
        const created = await store.fork(id, ...rest)
        if (created) forks.set(id, [...(forks.get(id) ?? []), rest[1].id])
        return created
      },
      async delete(id) {
        for (const fork of forks.get(id) ?? []) await store.delete(fork)
        return store.delete(id)
      },
    }
  },
  'keeps only the last snapshot': (store) => ({ snapshot: (id) => store.snapshot(id) }),
  'deletes missing threads': (store) => ({ delete: (id) => store.delete(id).then(() => true) }),
  'lists the oldest first': (store) => ({
    list: async (options) => {
      const page = await store.list(options)
      return { ...page, threads: page.threads.toReversed() }
    },
  }),
  'lists the threads of all users': (store) => ({
    list: (options) => store.list({ ...options, user: undefined }),
  }),
  'lists threads of any status': (store) => ({
    list: (options) => store.list({ ...options, status: undefined }),
  }),
  'finds everything': (store) => ({
    list: (options) => store.list({ ...options, search: undefined }),
  }),
  'searches only the requested page': (store) => ({
    async list({ search, ...options }) {
      const matching = new Set((await store.list({ limit: 1e6, search })).threads.map(({ id }) => id))
      const page = await store.list(options)
      return { ...page, threads: page.threads.filter(({ id }) => matching.has(id)) }
    },
  }),
  'searches the titles': (store) => ({
    async list(options) {
      const { search = [] } = options
      const page = await store.list(options)
      const has = (thread: object) => search.every((word) => JSON.stringify(thread).includes(word))
      return { ...page, threads: page.threads.filter(has) }
    },
  }),
  'keeps the last label': (store) => ({
    async signal(id, key, event, options) {
      const result = await store.signal(id, key, event, options)
      if (options?.label) titles.set(id, options.label.title)
      return result
    },
    get: async (id) => {
      const info = await store.get(id)
      return info && titles.has(id) ? { ...info, title: titles.get(id) as string } : info
    },
  }),
  'has no titles': (store) => ({
    get: async (id) => {
      const { title, ...info } = (await store.get(id)) ?? {}
      return 'id' in info ? (info as StoredThread) : undefined
    },
  }),
  'accepts any cursor': (store) => ({
    list: (options) =>
      store.list({ ...options, cursor: /^\d+$/.test(options.cursor ?? '') ? options.cursor : undefined }),
  }),
  'does not report fenced writers': (store) => ({
    append: async (batches) =>
      (await store.append(batches)).map((result) => (result === 'fenced' ? [] : result)),
  }),
  'fences all batches for one': (store) => ({
    append: async (batches) => {
      const results = await store.append(batches)
      return results.includes('fenced') ? results.map(() => 'fenced') : results
    },
  }),
  'writes a repeated batch again': (store) => {
    const numbers = new Map<number, number>()
    const next = ({ epoch }: Lease) => (numbers.get(epoch) ?? 0) + 1
    return {
      async append(batches) {
        const results = await store.append(batches.map((batch) => ({ ...batch, number: next(batch.lease) })))
        for (const { lease, events } of batches) if (events.length > 0) numbers.set(lease.epoch, next(lease))
        return results
      },
    }
  },
  'does not know the lengths of logs': () => ({ heads: async () => new Map() }),
  'forgets keys': (store) => ({
    signal: (id, _, event, options) => store.signal(id, crypto.randomUUID(), event, options),
  }),
  'does not report repeated keys': (store) => ({
    signal: async (...args) => ({ ...(await store.signal(...args)), repeated: false }),
  }),
  'reads entries again': (store) => ({
    read: (id, options) => store.read(id, { ...options, after: Math.max(0, options.after - 1) }),
  }),
  'ignores the limit': (store) => ({
    read: (id, options) => store.read(id, { ...options, limit: Infinity }),
  }),
  'reads missing threads': (store) => ({ read: (id, options) => store.read(id, options).catch(() => []) }),
  'does not split': (store) => ({ read: (id, options) => store.read(id, { ...options, split: false }) }),
  'packs nothing': () => ({ packDeltas: async () => {} }),
  'packs too much': (store) => ({ packDeltas: (id) => store.packDeltas(id, Infinity) }),
  'gives no lease to a repeated claim': (store) => {
    const owners = new Set<string>()
    return {
      async claim(...args) {
        const claim = owners.has(args[1]) ? undefined : await store.claim(...args)
        if (claim) owners.add(args[1])
        return claim
      },
    }
  },
  'fences a repeated release': (store) => {
    const released = new Set<number>()
    return {
      async release(lease, left) {
        const result = released.has(lease.epoch) ? 'fenced' : await store.release(lease, left)
        if (result === 'released') released.add(lease.epoch)
        return result
      },
    }
  },
  'does not limit the runs of agents': (store) => ({
    claim: (id, owner, ms, { perAgent, ...limits } = {}) => store.claim(id, owner, ms, limits),
  }),
  'finds threads of agents that have all their runs': (store) => ({
    findRunnable: (limit, agents, { perAgent, ...limits } = {}) => store.findRunnable(limit, agents, limits),
  }),
  'has no priorities': (store) => ({
    create: ({ priority, ...thread }, options) => store.create(thread, options),
  }),
  'does not measure how long threads have waited': (store) => ({
    findRunnable: async (...args) =>
      (await store.findRunnable(...args)).map((thread) => ({ ...thread, waitedMs: 0 })),
  }),
  'does not count losses': (store) => ({
    claim: async (...args) => {
      const claim = await store.claim(...args)
      return claim && { ...claim, losses: 0 }
    },
  }),
  'grants leases forever': (store) => ({ claim: (id, owner) => store.claim(id, owner, 1e12) }),
  'does not report lost leases': (store) => ({ renew: (...args) => store.renew(...args).then(() => []) }),
  'does not renew': () => ({ renew: async () => [] }),
  'releases at any head': (store) => ({
    release: async (lease, options) =>
      store.release(lease, { ...options, head: (await store.get(lease.threadId))?.head ?? 0 }),
  }),
  'does not leave threads runnable': (store) => ({
    release: (lease, { head }) => store.release(lease, { head, status: 'idle' }),
  }),
  'finds the newest runnable threads first': (store) => ({
    findRunnable: async (...args) => (await store.findRunnable(...args)).toReversed(),
  }),
  'finds threads of other agents': (store) => ({
    findRunnable: (limit) => store.findRunnable(limit, ['a', 'b', 'a b', '"a"']),
  }),
  'counts for the user only': (store) => ({
    create: ({ caller, ...thread }, options) => store.create(thread, options),
  }),
  'limits nothing': (store) => ({
    create: (thread, { entries } = {}) => store.create(thread, { entries }),
    signal: (id, key, event, { quotas, ...options } = {}) => store.signal(id, key, event, options),
  }),
  'counts no runs': (store) => ({ claim: (id, owner, leaseMs) => store.claim(id, owner, leaseMs) }),
  'ignores the limit of runs when finding threads': (store) => ({
    findRunnable: (limit, agents) => store.findRunnable(limit, agents),
  }),
  'reports no waiting messages': (store) => ({
    usage: async (caller) => ({ ...(await store.usage(caller)), waiting: 0 }),
  }),
  'groups by the first key only': (store) => ({
    spending: ({ by, ...options }) => store.spending({ ...options, by: by?.slice(0, 1) }),
  }),
  'adds up the spending of all days': (store) => ({
    spending: ({ from, to, ...options }) => store.spending(options),
  }),
  'grants every hold': (store) => ({
    hold: async (...args) => ({ ...(await store.hold(...args)), type: 'held' }),
  }),
  'never frees a hold with a batch': (store) => ({
    append: (batches) => store.append(batches.map(({ freed, ...batch }) => batch)),
  }),
  'gives the same hold to every thread': (store) => {
    const holds = new Set<string>()
    return {
      async hold(lease, hold) {
        if (holds.has(hold.id)) return { type: 'held' }
        holds.add(hold.id)
        return store.hold(lease, hold)
      },
    }
  },
  'ends all holds with a claim': (store) => ({
    async claim(...args) {
      const claim = await store.claim(...args)
      if (claim) await store.hold(claim.lease, { id: 'claimed', least: {}, most: {}, limits: [] })
      return claim
    },
  }),
  'saves no facts with a release': (store) => ({
    release: (lease, { facts, ...left }) => store.release(lease, left),
  }),
  'saves no facts during a run': () => ({ saveFacts: async () => 'saved' }),
  'saves facts before it releases': (store) => ({
    async release(lease, left) {
      if (left.facts) await store.saveFacts(lease, left.facts)
      return store.release(lease, left)
    },
  }),
  'always shows the last outcome': (store) => {
    const outcomes = new Map<string, ThreadFacts['outcome']>()
    return {
      release(lease, left) {
        outcomes.set(lease.threadId, left.facts?.outcome)
        return store.release(lease, left)
      },
      async get(id) {
        const thread = await store.get(id)
        const outcome = outcomes.get(id)
        return thread && { ...thread, ...(outcome && { outcome }) }
      },
    }
  },
  ...Object.fromEntries(
    (['outcome', 'error', 'tool', 'minNanos', 'since', 'until'] as const).map((filter) => [
      `ignores the filter ${filter}`,
      (store: ThreadStore) => ({
        list: (options: ListOptions) => store.list({ ...options, [filter]: undefined }),
      }),
    ]),
  ),
  'searches no texts': (store) => ({
    saveFacts: (lease, facts) => store.saveFacts(lease, { ...facts, texts: [] }),
    release: (lease, { facts, ...left }) =>
      store.release(lease, { ...left, facts: facts && { ...facts, texts: [] } }),
  }),
  'finds no texts in forks': (store) => ({
    async list(options) {
      const { threads, ...page } = await store.list(options)
      return { ...page, threads: threads.filter(({ forkedFrom, match }) => !(forkedFrom && match)) }
    },
    fork: (id, at, thread, options) =>
      store.fork(id, at, { ...thread, forkedFrom: { id, seq: at } }, options),
  }),
  'has no matches': (store) => ({
    async list(options) {
      const { threads, ...page } = await store.list(options)
      return { ...page, threads: threads.map(({ match, ...thread }) => thread) }
    },
  }),
  'never replaces a label': (store) => ({
    signal: (id, key, event, { relabel, ...options } = {}) => store.signal(id, key, event, options),
  }),
  'ignores changes of metadata in signals': (store) => ({
    signal: (id, key, event, options) => store.signal(id, key, withoutPatch(event), options),
  }),
  'ignores changes of metadata in batches': (store) => ({
    append: (batches) =>
      store.append(batches.map((batch) => ({ ...batch, events: batch.events.map(withoutPatch) }))),
  }),
  'does not notify watchers': (store) => ({ watch: () => store.watch({}) }),
  'does not report runnable threads': (store) => ({
    watch: ({ changed }) => store.watch({ changed }),
  }),
  'reports every append as a runnable thread': (store) => {
    const watchers = new Set<Parameters<ThreadStore['watch']>[0]>()
    return {
      watch(watcher) {
        watchers.add(watcher)
        return store.watch(watcher)
      },
      async append(batches) {
        const results = await store.append(batches)
        for (const { runnable } of watchers) runnable?.()
        return results
      },
    }
  },
  'never unfollows': (store) => ({ watch: (watcher) => ({ ...store.watch(watcher), unfollow() {} }) }),
  'never stops notifying': (store) => ({
    watch: (watcher) => ({ ...store.watch(watcher), close() {} }),
  }),
  'does not close': () => ({ close: async () => {} }),
  'rejects with foreign errors': (store) => ({
    read: (...args) => store.read(...args).catch(() => Promise.reject(new Error('no such thread in here'))),
  }),
}

describe('the suite', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each(Object.entries(brokenStores))('detects a store that %s', async (_, breakStore) => {
    // Some cases wait long for something that never happens.
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    const cases = storeSuite({
      severalHandles: false,
      open({ now }) {
        const store = memoryStore({ now })
        return { ...store, ...breakStore(store) }
      },
    })
    const found: unknown[] = []
    let tried = 0
    for (const { run } of cases) {
      if (found.length > 0) break
      run()
        .catch((error: unknown) => found.push(error))
        .finally(() => tried++)
      for (const before = tried; tried === before; ) await vi.advanceTimersByTimeAsync(100)
    }
    expect(found).toEqual([expect.any(Error)])
  })

  it('rejects unknown and invalid options', () => {
    expect(() => storeSuite({ opens: () => memoryStore() } as never)).toThrow(
      /'opens' does not exist: did you mean 'open'/,
    )
    expect(() => storeSuite({ open: memoryStore() } as never)).toThrow(/'open' must be a function/)
  })
})
