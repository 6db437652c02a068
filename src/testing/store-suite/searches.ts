import assert from 'node:assert/strict'
import type { ListOptions, ThreadStore } from '../../threads/index.ts'
import type { Cases } from './scene.ts'
import { rejectsWith, said } from './scene.ts'

async function found(store: ThreadStore, search: string, options: Partial<ListOptions> = {}) {
  const { threads } = await store.list({ limit: 100, ...options, search })
  return threads.map(({ id }) => id).sort()
}

export const searchCases: Cases = {
  'a thread is found by words anywhere in title, id, agent and the values of its metadata': async ({
    store,
    other,
  }) => {
    await store.create({ id: 'order-42', agent: 'desk' })
    await store.create({
      id: 'b',
      agent: 'Billing',
      metadata: { customer: { name: 'Ada', age: 36 }, tags: ['vip', null] },
    })
    await store.create({ id: 'c', agent: 'desk' })
    await store.signal('c', undefined, said('My ORDER for Ada\nis late'))
    assert.deepEqual(await found(other, 'order'), ['c', 'order-42'])
    assert.deepEqual(await found(other, 'Rde'), ['c', 'order-42'])
    assert.deepEqual(await found(other, 'ada'), ['b', 'c'])
    assert.deepEqual(await found(other, '  late \n ada order'), ['c'])
    assert.deepEqual(await found(other, 'billing 36 VIP'), ['b'])
    assert.deepEqual(await found(other, 'desk'), ['c', 'order-42'])
    for (const search of ['customer', 'null', 'ada billing late', 'orders', 'adais', 'desk-42'])
      assert.deepEqual(await found(other, search), [], search)
  },

  'a title is found as soon as there is one, and nothing that was said later': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a' })
    assert.deepEqual(await found(store, 'mills'), [])
    await store.signal('t', undefined, said('About mills'))
    await store.signal('t', undefined, said('and rivers'))
    assert.deepEqual(await found(other, 'MILLS'), ['t'])
    assert.deepEqual(await found(other, 'rivers'), [])
    await other.delete('t')
    assert.deepEqual(await found(store, 'mills'), [])
  },

  'upper and lower case are the same in every script, and so are the ways to write an accent': async ({
    store,
  }) => {
    const pairs = ['Straße/STRASSE', 'οδοσα/ΟΔΟΣ', 'ДОМ/дом', 'café/CAFE\u0301', 'I\u0307stanbul/İSTANBUL']
    for (const [index, pair] of pairs.entries()) {
      const [title = '', search = ''] = pair.split('/')
      await store.create({ id: `t${index}`, agent: 'x' })
      await store.signal(`t${index}`, undefined, said(title))
      assert.deepEqual(await found(store, search), [`t${index}`], pair)
    }
    assert.deepEqual(await found(store, 'cafe'), [])
  },

  'no character of a search means anything but itself': async ({ store, other }) => {
    const odd = [
      '%',
      '_',
      "'",
      '"',
      '\\',
      '*',
      '?',
      '\0',
      '\ud83d',
      '\ud83e',
      '😀',
      '--',
      ';',
      '(',
      'a\0b',
      '"q"',
    ]
    await store.create({ id: 'plain', agent: 'x', metadata: { with: 'words' } })
    for (const [index, char] of odd.entries()) {
      await store.create({ id: `t${index}`, agent: 'x' })
      await store.signal(`t${index}`, undefined, said(`before${char}after`))
    }
    const ids = (part: string) =>
      odd.flatMap((char, index) => (char.includes(part) ? [`t${index}`] : [])).sort()
    for (const char of odd.filter((one) => one !== '\ud83d' && one !== '\ud83e'))
      assert.deepEqual(await found(other, char), ids(char), JSON.stringify(char))
    // Half of a pair is not found in a whole one.
    assert.deepEqual(await found(other, '\ud83d'), [`t${odd.indexOf('\ud83d')}`])
    assert.deepEqual(await found(other, '\ud83e'), [`t${odd.indexOf('\ud83e')}`])
    const parts = 'before efore fore bef befo befor after fter ter aft afte'
    assert.equal((await found(other, parts)).length, odd.length)
    assert.deepEqual(await found(other, `${parts} zz`), [])
  },

  'a search goes together with user, agent and status, and comes in pages': async ({ store, other }) => {
    for (let index = 0; index < 40; index++) {
      const id = `${index % 3 === 0 ? 'mill' : 'river'}-${index}`
      await store.create({ id, agent: index % 2 ? 'a' : 'b', ...(index % 4 && { user: `u${index % 4}` }) })
      if (index % 5 === 0) await store.signal(id, undefined, said('hello'))
    }
    const { threads } = await store.list({ limit: 100 })
    const filters: Partial<ListOptions>[] = [
      {},
      { agent: 'a' },
      { user: 'u1' },
      { status: 'queued' },
      { user: 'u2', agent: 'b', status: 'idle' },
    ]
    for (const filter of filters) {
      const expected = threads.filter(
        (thread) =>
          thread.id.startsWith('mill') &&
          Object.entries(filter).every(([name, value]) => thread[name as keyof typeof thread] === value),
      )
      for (const limit of [1, 3, 100]) {
        const seen: unknown[] = []
        let cursor: string | undefined
        do {
          const page = await other.list({ ...filter, limit, cursor, search: 'MILL' })
          assert.ok(page.threads.length <= limit)
          seen.push(...page.threads)
          cursor = page.next
        } while (cursor !== undefined)
        assert.deepEqual(seen, expected, `${JSON.stringify(filter)}, in pages of ${limit}`)
      }
    }
    await rejectsWith('invalid_input', store.list({ limit: 1, cursor: 'x', search: 'mill' }))
  },

  'a search finds what is old among many': async ({ store }) => {
    await store.create({ id: 'needle', agent: 'a' })
    await Promise.all(
      Array.from({ length: 4500 }, (_, index) => store.create({ id: `hay${index}`, agent: 'a' })),
    )
    assert.deepEqual(await found(store, 'needle'), ['needle'])
    assert.equal(new Set(await found(store, 'HAY', { limit: 10_000 })).size, 4500)
    const { threads, next } = await store.list({ limit: 1, search: 'hay1 ' })
    assert.equal(threads.length, 1)
    assert.ok(next)
    assert.deepEqual(await found(store, 'needle', { cursor: next }), ['needle'])
  },
}
