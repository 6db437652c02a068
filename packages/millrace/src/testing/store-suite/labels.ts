import assert from 'node:assert/strict'
import type { ListOptions } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { infoOf, rejectsWith, userInput } from './context.ts'

async function found(store: SuiteStore, search: readonly string[], options: Partial<ListOptions> = {}) {
  const { threads } = await store.list({ limit: 100, ...options, search })
  return threads.map(({ id }) => id).sort()
}

/** Text that a careless store could change or misinterpret. */
const odd = [
  '%',
  '_',
  "'",
  '"',
  '\\',
  '*',
  '?',
  '😀',
  '--',
  ';',
  '(',
  'é',
  'e\u0301',
  '"q"',
  'null',
  '{"a":1}',
]

export const labelCases: Cases = {
  'a thread keeps the first label with a title': async ({ store, other }) => {
    const agent = 'a'
    await store.create({ id: 't', agent })
    assert.ok(!('title' in ((await store.get('t')) ?? {})), 'there must be no title yet')
    await store.create({ id: 'u', agent, label: { search: 'early' } })
    assert.deepEqual(await found(other, ['early']), ['u'])
    for (const id of ['t', 'u']) {
      await store.signal(id, undefined, userInput('x'))
      assert.equal((await store.get(id))?.title, undefined)
      await other.signal(id, 'key', userInput('x'), { label: { title: 'First', search: `first ${id}` } })
      await store.signal(id, undefined, userInput('x'), { label: { title: 'Second', search: 'second' } })
      assert.equal((await other.get(id))?.title, 'First')
    }
    const label = { title: 'Created', search: 'created' }
    await store.create({ id: 'v', agent, label }, { entries: [{ seq: 1, at: 1, event: userInput('x') }] })
    await other.signal('v', undefined, userInput('x'), { label: { title: 'Second', search: 'second' } })
    assert.equal((await store.get('v'))?.title, 'Created')
    assert.deepEqual(await found(other, ['first']), ['t', 'u'])
    assert.deepEqual(await found(other, ['created']), ['v'])
    for (const gone of ['early', 'second']) assert.deepEqual(await found(other, [gone]), [])
    const [listed] = (await other.list({ limit: 1 })).threads
    assert.deepEqual(listed, await infoOf(store, 'v'))
  },

  'a rejected or repeated message sets no label': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a', caller: 'ada' })
    await store.signal('t', 'key', userInput('x'))
    const label = { title: 'Late', search: 'late' }
    await store.signal('t', 'key', userInput('x'), { label })
    const none = { runs: 1, waiting: 0, storedBytes: 0, bytesPerMinute: 0, tokensPerMinute: 0 }
    await rejectsWith('rate_limit', store.signal('t', undefined, userInput('x'), { label, quotas: none }))
    assert.equal((await other.get('t'))?.title, undefined)
    assert.deepEqual(await found(other, ['late']), [])
  },

  'a label is deleted with its thread': async ({ store, other }) => {
    await store.create({ id: 't', agent: 'a', label: { title: 'Mills', search: 'mills' } })
    await other.delete('t')
    assert.deepEqual(await found(store, ['mills']), [])
    await store.create({ id: 't', agent: 'a' })
    assert.equal((await store.get('t'))?.title, undefined)
    assert.deepEqual(await found(store, ['mills']), [])
  },

  'a title is stored exactly': async ({ store, other }) => {
    for (const [index, title] of [...odd, 'a\0b', 'lone \ud83d', 'lone \ud83e', ''].entries()) {
      const id = `t${index}`
      await store.create({ id, agent: 'a', label: { title, search: '' } })
      assert.equal((await other.get(id))?.title, title)
    }
  },

  'a search finds the threads whose text contains all parts exactly': async ({ store, other }) => {
    await store.create({ id: 'plain', agent: 'x', label: { search: 'WORDS\nAND MORE' } })
    for (const [index, text] of odd.entries())
      await store.create({ id: `t${index}`, agent: 'x', label: { search: `BEFORE${text}AFTER` } })
    const ids = (part: string) =>
      odd.flatMap((text, index) => (text.includes(part) ? [`t${index}`] : [])).sort()
    for (const text of odd) assert.deepEqual(await found(other, [text]), ids(text), text)
    assert.deepEqual(await found(other, ['S\nA', 'MORE']), ['plain'])
    assert.deepEqual(await found(other, ['words']), [])
    assert.deepEqual(await found(other, ['WORDS', 'BEFORE']), [])
    const parts = 'BEFORE EFORE FORE BEF BEFO BEFOR AFTER FTER TER AFT AFTE'.split(' ')
    assert.equal((await found(other, parts)).length, odd.length)
    assert.deepEqual(await found(other, [...parts, 'ZZ']), [])
    assert.equal((await found(other, [])).length, odd.length + 1)
  },

  'a search can be combined with user, agent and status, and paged': async ({ store, other }) => {
    for (let index = 0; index < 40; index++) {
      const id = `${index % 3 === 0 ? 'mill' : 'river'}-${index}`
      const agent = index % 2 ? 'a' : 'b'
      await store.create({ id, agent, ...(index % 4 && { user: `u${index % 4}` }), label: { search: id } })
      if (index % 5 === 0) await store.signal(id, undefined, userInput('hello'))
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
          const page = await other.list({ ...filter, limit, cursor, search: ['mill'] })
          assert.ok(page.threads.length <= limit)
          seen.push(...page.threads)
          cursor = page.next
        } while (cursor !== undefined)
        assert.deepEqual(seen, expected, `${JSON.stringify(filter)}, in pages of ${limit}`)
      }
    }
    await rejectsWith('invalid_input', store.list({ limit: 1, cursor: 'x', search: ['mill'] }))
  },

  'a search finds an old thread among many': async ({ store }) => {
    const ids = ['needle', ...Array.from({ length: 4500 }, (_, index) => `hay${index}`)]
    await Promise.all(ids.map((id) => store.create({ id, agent: 'a', label: { search: id } })))
    assert.deepEqual(await found(store, ['needle']), ['needle'])
    assert.equal(new Set(await found(store, ['hay'], { limit: 10_000 })).size, 4500)
    const { threads, next } = await store.list({ limit: 1, search: ['hay1'] })
    assert.equal(threads.length, 1)
    assert.ok(next)
    assert.deepEqual(await found(store, ['needle'], { cursor: next }), ['needle'])
  },
}
