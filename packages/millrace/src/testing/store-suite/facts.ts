import assert from 'node:assert/strict'
import type { ThreadInfo } from '../../protocol/index.ts'
import { foldText } from '../../protocol/index.ts'
import type { ListOptions, ThreadFacts } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, infoOf, leaseMs, ownedThread, textDelta, userInput } from './context.ts'

/** Facts with texts by their numbers. */
function factsOf({
  texts = {},
  ...facts
}: Partial<Omit<ThreadFacts, 'texts'>> & { texts?: Texts }): ThreadFacts {
  const rows = Object.entries(texts).map(([seq, text]) => ({
    seq: Number(seq),
    text,
    search: foldText(text),
  }))
  return { nanos: 0, tools: [], ...facts, texts: rows }
}

type Texts = Readonly<Record<number, string>>

/** Creates a thread that rests with these facts. */
async function restingThread(
  store: SuiteStore,
  id: string,
  facts: Parameters<typeof factsOf>[0],
  { user, agent = 'a', search }: { user?: string; agent?: string; search?: string } = {},
): Promise<void> {
  await store.create({ id, agent, ...(user && { user }), ...(search && { label: { search } }) })
  await store.signal(id, undefined, userInput('hello'))
  const lease = await claimed(store, id, 'worker')
  assert.equal(await store.release(lease, { head: 1, status: 'idle', facts: factsOf(facts) }), 'released')
}

async function listed(store: SuiteStore, options: Partial<ListOptions>): Promise<readonly ThreadInfo[]> {
  return (await store.list({ limit: 100, ...options })).threads
}

async function idsOf(store: SuiteStore, options: Partial<ListOptions>): Promise<string[]> {
  return (await listed(store, options)).map(({ id }) => id).sort()
}

async function found(store: SuiteStore, ...search: string[]): Promise<string[]> {
  return idsOf(store, { search })
}

/** The match of the only thread that a search finds. */
async function matchOf(store: SuiteStore, ...search: string[]) {
  const threads = await listed(store, { search })
  assert.equal(threads.length, 1, `one thread must have ${search}`)
  return threads[0]?.match
}

/** What the info of a thread says about its facts. */
async function shown(store: SuiteStore, id: string) {
  const info = (await infoOf(store, id)) as ThreadInfo
  const one = (await listed(store, {})).find((thread) => thread.id === id)
  assert.deepEqual(one, info)
  const { outcome, error, knownUsd } = info
  return { outcome, error, knownUsd }
}

const none = { outcome: undefined, error: undefined, knownUsd: undefined }

export const factCases: Cases = {
  'facts are saved with a release, and outcomes are shown while the thread rests': async ({
    store,
    other,
  }) => {
    const first = await ownedThread(store, 't')
    assert.deepEqual(await shown(other, 't'), none)
    const failed = factsOf({ outcome: 'failed', error: 'overloaded', nanos: 1_500_000_000 })
    assert.equal(await store.release(first, { head: 1, status: 'idle', facts: failed }), 'released')
    assert.deepEqual(await shown(other, 't'), { outcome: 'failed', error: 'overloaded', knownUsd: 1.5 })
    await store.signal('t', undefined, userInput('again'))
    assert.deepEqual(await shown(other, 't'), { ...none, knownUsd: 1.5 })
    const second = await claimed(store, 't', 'worker')
    assert.deepEqual(await shown(other, 't'), { ...none, knownUsd: 1.5 })
    const suspended = factsOf({ outcome: 'suspended', nanos: 0 })
    await store.release(second, { head: 2, status: 'waiting', facts: suspended })
    assert.deepEqual(await shown(other, 't'), { outcome: 'suspended', error: undefined, knownUsd: 0 })
    await store.signal('t', undefined, userInput('go on'))
    const third = await claimed(store, 't', 'worker')
    await store.release(third, { head: 3, status: 'runnable', facts: failed })
    assert.deepEqual(await shown(other, 't'), { ...none, knownUsd: 1.5 })
    const fourth = await claimed(store, 't', 'worker')
    await store.release(fourth, { head: 3, status: 'idle' })
    assert.deepEqual(await shown(other, 't'), { outcome: 'failed', error: 'overloaded', knownUsd: 1.5 })
  },

  'facts are saved during a run': async ({ store, other }) => {
    const lease = await ownedThread(store, 't')
    const facts = factsOf({ outcome: 'completed', nanos: 7, tools: ['look'], texts: { 1: 'Hello' } })
    assert.equal(await store.saveFacts(lease, facts), 'saved')
    assert.deepEqual(await shown(other, 't'), { ...none, knownUsd: 7e-9 })
    assert.deepEqual(await found(other, 'HELLO'), ['t'])
    assert.deepEqual(await idsOf(other, { tool: 'look', status: 'running' }), ['t'])
    assert.deepEqual(await idsOf(other, { outcome: 'completed' }), [])
    await store.append([{ lease, events: [textDelta('x')] }])
    await store.release(lease, { head: 2, status: 'idle' })
    assert.deepEqual(await idsOf(other, { outcome: 'completed' }), ['t'])
  },

  'an owner that was replaced, or has not read everything, saves no facts': async ({
    store,
    other,
    advance,
  }) => {
    const lost = await ownedThread(store, 't')
    const facts = factsOf({ outcome: 'completed', nanos: 1, tools: ['look'], texts: { 1: 'Hello' } })
    assert.equal(await store.release(lost, { head: 0, status: 'idle', facts }), 'moved')
    assert.deepEqual(await shown(store, 't'), none)
    advance(leaseMs)
    const lease = await claimed(other, 't', 'successor')
    assert.equal(await store.saveFacts(lost, facts), 'fenced')
    assert.equal(await store.release(lost, { head: 1, status: 'idle', facts }), 'fenced')
    await other.release(lease, { head: 1, status: 'idle' })
    assert.equal(await store.saveFacts(lease, facts), 'fenced')
    assert.deepEqual(await shown(store, 't'), none)
    assert.deepEqual(await found(store, 'HELLO'), [])
    assert.deepEqual(await idsOf(store, { tool: 'look' }), [])
    await other.delete('t')
    assert.equal(await store.saveFacts(lease, facts), 'fenced')
    await store.create({ id: 't', agent: 'a' })
    assert.deepEqual(await shown(store, 't'), none)
  },

  'tools and texts add to those before, the rest replaces it, and a known text stays': async ({ store }) => {
    const lease = await ownedThread(store, 't')
    const first = factsOf({
      outcome: 'failed',
      error: 'odd "code"\0',
      nanos: 2e9,
      tools: ['look', 'a\0b', 'look'],
      texts: { 1: 'one' },
    })
    const second = factsOf({
      outcome: 'completed',
      nanos: 1e9,
      tools: ['"pay"'],
      texts: { 1: 'changed', 2: 'two' },
    })
    for (const facts of [first, first, second, second])
      assert.equal(await store.saveFacts(lease, facts), 'saved')
    assert.deepEqual(await found(store, 'CHANGED'), [])
    assert.deepEqual(await found(store, 'ONE'), ['t'])
    await store.release(lease, { head: 1, status: 'idle', facts: first })
    assert.deepEqual(await shown(store, 't'), { outcome: 'failed', error: 'odd "code"\0', knownUsd: 2 })
    assert.deepEqual(await idsOf(store, { error: 'odd "code"\0' }), ['t'])
    for (const tool of ['look', 'a\0b', '"pay"']) assert.deepEqual(await idsOf(store, { tool }), ['t'])
    for (const tool of ['pay', 'a', '']) assert.deepEqual(await idsOf(store, { tool }), [])
    assert.deepEqual(await found(store, 'ONE', 'TWO'), ['t'])
  },

  'facts count toward no quota': async ({ store }) => {
    await store.create({ id: 't', agent: 'a', caller: 'ada' })
    await store.signal('t', undefined, userInput('hello'))
    const before = await store.usage('ada')
    const lease = await claimed(store, 't', 'worker')
    const facts = factsOf({ tools: ['look'], texts: { 1: 'x'.repeat(50_000) } })
    await store.saveFacts(lease, facts)
    await store.release(lease, { head: 1, status: 'idle', facts })
    assert.deepEqual(await store.usage('ada'), before)
  },

  'threads can be filtered by their facts, combined and paged': async ({ store, other, now, advance }) => {
    const start = now()
    const outcomes = ['completed', 'failed', 'canceled'] as const
    for (let index = 0; index < 36; index++) {
      advance(1000)
      const outcome = outcomes[index % 3]
      const facts = {
        outcome,
        ...(outcome === 'failed' && { error: index % 2 ? 'overloaded' : 'timeout' }),
        nanos: index * 1e6,
        tools: index % 4 === 0 ? ['look', 'pay'] : index % 4 === 1 ? ['pay'] : [],
        texts: { 1: index % 5 ? 'A river' : 'A mill' },
      }
      await restingThread(store, `t${index}`, facts, {
        user: index % 2 ? 'u' : 'v',
        agent: index % 7 ? 'a' : 'b',
      })
    }
    await store.create({ id: 'new', agent: 'a', user: 'u' })
    await store.signal('t1', undefined, userInput('again'))
    const all = await listed(store, {})
    const numberOf = ({ id }: ThreadInfo) => Number(id.slice(1))
    /** What each filter means. */
    const passes = (thread: ThreadInfo, filter: Partial<ListOptions>) => {
      const index = numberOf(thread)
      const isOne = (name: 'user' | 'agent' | 'status' | 'outcome' | 'error') =>
        filter[name] === undefined || filter[name] === thread[name]
      return (
        ['user', 'agent', 'status', 'outcome', 'error'].every((name) => isOne(name as 'user')) &&
        (filter.tool === undefined || index % 4 === 0 || (filter.tool === 'pay' && index % 4 === 1)) &&
        (filter.minNanos === undefined || index * 1e6 >= filter.minNanos) &&
        thread.updatedAt >= (filter.since ?? 0) &&
        thread.updatedAt <= (filter.until ?? Infinity) &&
        (!filter.search || index % 5 === 0)
      )
    }
    const filters: Partial<ListOptions>[] = [
      ...outcomes.map((outcome) => ({ outcome })),
      { error: 'overloaded' },
      { error: 'timeout', outcome: 'failed' },
      { error: 'timeout', outcome: 'completed' },
      { tool: 'look' },
      { tool: 'pay' },
      { tool: 'pay', outcome: 'completed', user: 'v' },
      { minNanos: 20e6 },
      { minNanos: 19_999_999.5, status: 'idle' },
      { minNanos: 0 },
      { since: start + 10_000 },
      { until: start + 10_000 },
      { since: start + 10_000, until: start + 20_000, user: 'u', agent: 'a' },
      { since: start + 10_000.5, until: start + 10_999.5 },
      { search: ['MILL'], outcome: 'completed' },
      { search: ['MILL'], tool: 'pay', minNanos: 1, agent: 'a', user: 'v' },
      { status: 'queued', outcome: 'failed' },
      { status: 'queued', tool: 'pay' },
      { user: 'u', outcome: 'failed', status: 'idle' },
    ]
    for (const filter of filters) {
      const expected = all.filter((thread) => passes(thread, filter)).map(({ id }) => id)
      for (const limit of [1, 3, 100]) {
        const seen: ThreadInfo[] = []
        let cursor: string | undefined
        do {
          const page = await other.list({ ...filter, limit, cursor })
          assert.ok(page.threads.length <= limit)
          seen.push(...page.threads)
          cursor = page.next
        } while (cursor !== undefined)
        assert.deepEqual(
          seen.map(({ id }) => id),
          expected,
          `${JSON.stringify(filter)}, in pages of ${limit}`,
        )
        for (const { match, ...thread } of seen) {
          assert.deepEqual(thread, await infoOf(store, thread.id))
          assert.deepEqual(match, filter.search && { seq: 1, text: 'A mill' })
        }
      }
    }
  },

  'a search finds words in the label or in any text, each in another one if need be': async ({
    store,
    other,
  }) => {
    const texts = { 1: 'Where does the Straße end?', 4: 'At the river. ' }
    await restingThread(store, 'one', { texts }, { search: 'MILLS' })
    await restingThread(store, 'two', { texts: { 1: 'river 100%_' } })
    await store.create({ id: 'three', agent: 'a', label: { search: 'RIVER' } })
    assert.deepEqual(await found(other, 'RIVER'), ['one', 'three', 'two'])
    assert.deepEqual(await found(other, 'RIVER', 'STRASSE'), ['one'])
    assert.deepEqual(await found(other, 'STRASSE', 'MILLS', 'RIVER', 'END?'), ['one'])
    assert.deepEqual(await found(other, 'STRASSE', 'MILLS', 'RIVER', 'SEA'), [])
    assert.deepEqual(await found(other, 'river'), [])
    assert.deepEqual(await found(other, '0%_'), ['two'])
    assert.deepEqual(await found(other, '0_'), [])
    const many = 'A D E H I L M N O R S T V W AT ER IV'.split(' ')
    assert.deepEqual(await found(other, ...many), ['one'])
    assert.deepEqual(await matchOf(other, 'MILLS', 'STRASSE'), { seq: 1, text: texts[1] })
    assert.deepEqual(await matchOf(other, 'RIVER', 'STRASSE', 'MILLS'), { seq: 4, text: 'At the river.' })
    assert.equal(await matchOf(other, 'MILLS'), undefined)
    assert.ok(
      (await listed(other, { search: ['RIVER'] })).every(({ id, match }) => !match === (id === 'three')),
    )
  },

  'a match is the latest text with the first word that the label does not have': async ({ store, other }) => {
    const long = `${'lorem ipsum '.repeat(100)}\n\n  the Mill-stone, ${'dolor sit '.repeat(100)}`
    // More texts than a store is likely to read at once.
    const others = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [index + 100, `nothing ${index}`]),
    )
    const texts = { 1: 'mill first', 20: long, 3: 'river', ...others }
    await restingThread(store, 't', { texts }, { search: 'TITLE' })
    const match = await matchOf(other, 'TITLE', 'MILL', 'RIVER')
    assert.equal(match?.seq, 20)
    assert.match(match?.text ?? '', /^…(lorem |ipsum )+the Mill-stone,( dolor| sit)+…$/)
    assert.ok((match?.text.length ?? 0) <= 130)
    assert.deepEqual(await matchOf(other, 'RIVER', 'MILL'), { seq: 3, text: 'river' })
    assert.deepEqual(await matchOf(other, 'FIRST'), { seq: 1, text: 'mill first' })
    assert.deepEqual(await matchOf(other, 'NOTHING'), { seq: 399, text: 'nothing 299' })
    assert.deepEqual(await found(other, 'NOTHING 300'), [])
  },

  'a fork finds the texts it shares, and so do its own forks, even when the thread is deleted': async ({
    store,
    other,
  }) => {
    const lease = await ownedThread(store, 't')
    await store.append([{ lease, events: Array.from({ length: 9 }, () => textDelta('x')) }])
    const texts = { 1: 'early', 4: 'shared', 6: 'middle', 9: 'late' }
    await store.release(lease, { head: 10, status: 'idle', facts: factsOf({ texts }) })
    await store.fork('t', 6, { id: 'f', agent: 'a', label: { search: 'FORK' } })
    await store.fork('t', 0, { id: 'empty', agent: 'a' })
    const owner = await claimed(store, 'f', 'worker')
    await store.append([{ lease: owner, events: [textDelta('y'), textDelta('y')] }])
    const own = factsOf({ texts: { 1: 'early', 5: 'copy', 6: 'copy', 7: 'own words', 8: 'more early' } })
    await store.release(owner, { head: 8, status: 'idle', facts: own })
    await store.fork('f', 7, { id: 'g', agent: 'a' })
    await store.fork('g', 4, { id: 'h', agent: 'a' })
    const check = async (thread: string[]) => {
      const [f, g, h] = ['f', 'g', 'h']
      assert.deepEqual(await found(other, 'EARLY'), [f, g, h, ...thread])
      assert.deepEqual(await found(other, 'SHARED'), [f, g, h, ...thread])
      assert.deepEqual(await found(other, 'MIDDLE'), [f, g, ...thread])
      assert.deepEqual(await found(other, 'LATE'), thread)
      assert.deepEqual(await found(other, 'OWN'), [f, g])
      assert.deepEqual(await found(other, 'COPY'), [])
      assert.deepEqual(await found(other, 'MORE'), [f])
      assert.deepEqual(await found(other, 'FORK', 'OWN', 'EARLY', 'SHARED'), [f])
      const matches = (await listed(other, { search: ['EARLY'] })).map(({ id, match }) => [id, match])
      assert.deepEqual(Object.fromEntries(matches), {
        f: { seq: 8, text: 'more early' },
        g: { seq: 1, text: 'early' },
        h: { seq: 1, text: 'early' },
        ...(thread.length > 0 && { t: { seq: 1, text: 'early' } }),
      })
    }
    await check(['t'])
    await store.delete('t')
    await check([])
    await store.delete('f')
    assert.deepEqual(await found(other, 'OWN'), ['g'])
    assert.deepEqual(await found(other, 'SHARED'), ['g', 'h'])
    assert.deepEqual(await found(other, 'MORE'), [])
  },

  'facts are deleted with their thread': async ({ store, other }) => {
    const facts = { outcome: 'completed' as const, nanos: 1, tools: ['look'], texts: { 1: 'mills' } }
    await restingThread(store, 't', facts)
    assert.deepEqual(await found(other, 'MILLS'), ['t'])
    await other.delete('t')
    assert.deepEqual(await found(store, 'MILLS'), [])
    await ownedThread(store, 't')
    assert.deepEqual(await shown(store, 't'), none)
    for (const filter of [{ search: ['MILLS'] }, { tool: 'look' }, { minNanos: 0 }])
      assert.deepEqual(await idsOf(store, filter), [])
  },

  'a label can replace the one before, with the event that says so': async ({ store, other }) => {
    await restingThread(store, 't', { texts: { 1: 'text' } })
    const first = { title: 'First', search: 'first' }
    const second = { title: 'Second', search: 'second' }
    await store.signal('t', undefined, userInput('x'), { label: first })
    await other.signal('t', 'renamed', { type: 'title', title: 'Second' }, { label: second, relabel: true })
    assert.equal((await store.get('t'))?.title, 'Second')
    assert.deepEqual(await found(store, 'second'), ['t'])
    assert.deepEqual(await found(store, 'second', 'TEXT'), ['t'])
    assert.deepEqual(await found(store, 'first'), [])
    await store.signal('t', undefined, userInput('x'), { label: first, relabel: false })
    await store.signal('t', 'renamed', userInput('x'), { label: first, relabel: true })
    assert.equal((await store.get('t'))?.title, 'Second')
    await store.signal('t', undefined, userInput('x'), { relabel: true })
    assert.equal((await store.get('t'))?.title, 'Second')
    await store.create({ id: 'u', agent: 'a' })
    await store.signal('u', undefined, { type: 'title', title: 'First' }, { label: first, relabel: true })
    assert.equal((await other.get('u'))?.title, 'First')
  },

  'a search or a filter that finds nothing among 2,000 threads, or one of them, ends': async ({ store }) => {
    const ids = Array.from({ length: 2000 }, (_, index) => `t${index}`)
    await Promise.all(
      ids.map((id) =>
        store.create(
          { id, agent: 'a', label: { search: 'HAY' } },
          { entries: [{ seq: 1, at: 1, event: userInput('hay') }] },
        ),
      ),
    )
    for (let start = 0; start < ids.length; start += 100)
      await Promise.all(
        ids.slice(start, start + 100).map(async (id, offset) => {
          const lease = await claimed(store, id, `worker of ${id}`)
          const text = start + offset === 7 ? 'a needle in the hay' : 'more and more hay'
          const facts = factsOf({ outcome: 'completed', tools: ['look'], texts: { 1: text } })
          await store.release(lease, { head: 1, status: 'idle', facts })
        }),
      )
    assert.deepEqual(await found(store, 'PIN'), [])
    assert.deepEqual(await idsOf(store, { tool: 'pay' }), [])
    assert.deepEqual(await idsOf(store, { outcome: 'failed', search: ['HAY'] }), [])
    assert.deepEqual(await matchOf(store, 'HAY', 'NEEDLE'), { seq: 1, text: 'a needle in the hay' })
    assert.equal((await idsOf(store, { outcome: 'completed', limit: 5000 })).length, 2000)
  },
}
