import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../log/sqlite.ts'
import type { StoredThread, ThreadStore } from '../threads/index.ts'
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

const titles = new Map<string, string | undefined>()

/** Each breaks one promise of a store that keeps them all. */
const sabotages: Record<string, (store: ThreadStore) => Partial<ThreadStore>> = {
  'makes a thread twice': (store) => ({ create: (thread) => store.create(thread).then(() => true) }),
  'forgets what a thread began with': (store) => ({ create: (thread) => store.create(thread) }),
  'forks the whole thread': (store) => ({
    fork: async (id, _, ...rest) => store.fork(id, (await store.get(id))?.head ?? 0, ...rest),
  }),
  'forgets what a fork begins with': (store) => ({
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
        const made = await store.fork(id, ...rest)
        if (made) forks.set(id, [...(forks.get(id) ?? []), rest[1].id])
        return made
      },
      async delete(id) {
        for (const fork of forks.get(id) ?? []) await store.delete(fork)
        return store.delete(id)
      },
    }
  },
  'keeps only the last snapshot': (store) => ({ snapshot: (id) => store.snapshot(id) }),
  'deletes what is not there': (store) => ({ delete: (id) => store.delete(id).then(() => true) }),
  'lists the oldest first': (store) => ({
    list: async (options) => {
      const page = await store.list(options)
      return { ...page, threads: page.threads.toReversed() }
    },
  }),
  "lists everybody's threads": (store) => ({
    list: (options) => store.list({ ...options, user: undefined }),
  }),
  'lists threads of any status': (store) => ({
    list: (options) => store.list({ ...options, status: undefined }),
  }),
  'finds everything': (store) => ({
    list: (options) => store.list({ ...options, search: undefined }),
  }),
  'searches only the page that it was asked for': (store) => ({
    async list({ search, ...options }) {
      const sought = new Set((await store.list({ limit: 1e6, search })).threads.map(({ id }) => id))
      const page = await store.list(options)
      return { ...page, threads: page.threads.filter(({ id }) => sought.has(id)) }
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
  'calls no thread anything': (store) => ({
    get: async (id) => {
      const { title, ...info } = (await store.get(id)) ?? {}
      return 'id' in info ? (info as StoredThread) : undefined
    },
  }),
  'takes any cursor': (store) => ({
    list: (options) =>
      store.list({ ...options, cursor: /^\d+$/.test(options.cursor ?? '') ? options.cursor : undefined }),
  }),
  'does not say that a writer is fenced': (store) => ({
    append: async (batches) =>
      (await store.append(batches)).map((result) => (result === 'fenced' ? [] : result)),
  }),
  'fences all for one': (store) => ({
    append: async (batches) => {
      const results = await store.append(batches)
      return results.includes('fenced') ? results.map(() => 'fenced') : results
    },
  }),
  'forgets keys': (store) => ({
    signal: (id, _, event, options) => store.signal(id, undefined, event, options),
  }),
  'does not say what is repeated': (store) => ({
    signal: async (...args) => ({ ...(await store.signal(...args)), repeated: false }),
  }),
  'reads what was read already': (store) => ({
    read: (id, options) => store.read(id, { ...options, after: Math.max(0, options.after - 1) }),
  }),
  'reads without an end': (store) => ({
    read: (id, options) => store.read(id, { ...options, limit: Infinity }),
  }),
  'reads what is not there': (store) => ({ read: (id, options) => store.read(id, options).catch(() => []) }),
  'does not split': (store) => ({ read: (id, options) => store.read(id, { ...options, split: false }) }),
  'compacts nothing': () => ({ compact: async () => {} }),
  'compacts too much': (store) => ({ compact: (id) => store.compact(id, Infinity) }),
  'loses nobody': (store) => ({
    claim: async (...args) => {
      const claim = await store.claim(...args)
      return claim && { ...claim, losses: 0 }
    },
  }),
  'gives leases for ever': (store) => ({ claim: (id, owner) => store.claim(id, owner, 1e12) }),
  'renews what is lost': (store) => ({ renew: (...args) => store.renew(...args).then(() => []) }),
  'does not renew': () => ({ renew: async () => [] }),
  'releases at any head': (store) => ({
    release: async (lease, left) =>
      store.release(lease, { ...left, head: (await store.get(lease.threadId))?.head ?? 0 }),
  }),
  'forgets that a thread is to go on': (store) => ({
    release: (lease, { head }) => store.release(lease, { head, status: 'idle' }),
  }),
  'strands those last that waited longest': (store) => ({
    stranded: async (...args) => (await store.stranded(...args)).toReversed(),
  }),
  'strands threads of others': (store) => ({
    stranded: (limit) => store.stranded(limit, ['a', 'b', 'a b', '"a"']),
  }),
  'counts for the user only': (store) => ({
    create: ({ caller, ...thread }, options) => store.create(thread, options),
  }),
  'limits nothing': (store) => ({
    create: (thread, { entries } = {}) => store.create(thread, { entries }),
    signal: (id, key, event, { label } = {}) => store.signal(id, key, event, { label }),
  }),
  'counts no runs': (store) => ({ claim: (id, owner, leaseMs) => store.claim(id, owner, leaseMs) }),
  'takes up as many threads of a caller as there are': (store) => ({
    stranded: (limit, agents) => store.stranded(limit, agents),
  }),
  'uses nothing': (store) => ({
    usage: async (caller) => ({ ...(await store.usage(caller)), waiting: 0 }),
  }),
  'tells nobody': () => ({ watch: () => () => {} }),
  'tells for ever': (store) => ({
    watch: (listener) => {
      store.watch(listener)
      return () => {}
    },
  }),
  'closes for show': () => ({ close: async () => {} }),
  'fails in its own words': (store) => ({
    read: (...args) => store.read(...args).catch(() => Promise.reject(new Error('no such thread in here'))),
  }),
}

describe('the suite', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each(Object.entries(sabotages))('finds out a store that %s', async (_, sabotage) => {
    // Some cases wait long for what never comes.
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    const cases = storeSuite({
      severalHandles: false,
      open({ now }) {
        const store = memoryStore({ now })
        return { ...store, ...sabotage(store) }
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

  it('refuses options that it does not know', () => {
    expect(() => storeSuite({ opens: () => memoryStore() } as never)).toThrow(
      /'opens' does not exist: did you mean 'open'/,
    )
    expect(() => storeSuite({ open: memoryStore() } as never)).toThrow(/'open' must be a function/)
  })
})
