import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { memoryStore } from '../log/memory.ts'
import { temporaryFolder } from '../log/sqlite/sqlite.test-kit.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type {
  Batch,
  Lease,
  ListOptions,
  Priority,
  Quotas,
  RunLimits,
  ThreadFacts,
  ThreadStore,
} from '../log/store.ts'
import type { Outcome, ThreadEvent } from '../protocol/index.ts'

// All stores return the same for any sequence of calls. Only the values they generate differ:
// epochs and cursors.

const folder = temporaryFolder()

/** Characters that stores may treat differently: those with a meaning in SQL, JSON or UTF-8. */
const char = fc.constantFrom(
  'a',
  'A',
  'b',
  ' ',
  '\n',
  '%',
  '_',
  '"',
  "'",
  '\\',
  '\0',
  'ß',
  'SS',
  'é',
  '\u0301',
  '\ud83d',
  '😀',
)
const words = fc.string({ unit: char, maxLength: 6 })
const searchable = fc.string({
  unit: char.filter((text) => text !== '\0' && text.isWellFormed()),
  maxLength: 6,
})
const label = fc.record({ title: words, search: searchable }, { requiredKeys: ['search'] })
const metadata = fc.dictionary(
  words,
  fc.oneof(words, fc.constant(null), fc.dictionary(words, fc.constantFrom(null, 1), { maxKeys: 2 })),
  { maxKeys: 3 },
)
const event: fc.Arbitrary<ThreadEvent> = fc.oneof(
  fc.record({ type: fc.constant('metadata' as const), patch: metadata }),
  fc.record({
    type: fc.constantFrom('text' as const, 'reasoning' as const),
    text: fc.string({ minLength: 1, maxLength: 4 }),
  }),
  fc.record({ type: fc.constant('stop' as const), reason: fc.string({ maxLength: 3 }) }),
  fc.record({
    type: fc.constant('round-start' as const),
    round: fc.constant(1),
    model: fc.constant('m'),
    inputs: fc.array(fc.nat(9), { maxLength: 2 }),
  }),
  fc.record({
    type: fc.constant('round-end' as const),
    round: fc.constant(1),
    model: fc.constant('m'),
    finish: fc.constant('stop' as const),
    usage: fc.record({ inputTokens: fc.nat(9), outputTokens: fc.nat(9) }, { requiredKeys: [] }),
  }),
  fc.record({
    type: fc.constant('input' as const),
    mode: fc.constantFrom('queue' as const, 'steer' as const, 'correct' as const),
    message: fc.record({ role: fc.constant('user' as const), content: words }),
  }),
)
const agent = fc.constantFrom('a', 'b')
const user = fc.constantFrom('x', 'y')
const quotas = fc.record<Quotas>({
  runs: fc.nat(3),
  waiting: fc.integer({ min: 1, max: 5 }),
  storedBytes: fc.constantFrom(2000, 5000),
  bytesPerMinute: fc.constantFrom(1000, 5000),
  tokensPerMinute: fc.constantFrom(10, 100),
})
const limits = fc.record<RunLimits>({
  perCaller: fc.option(fc.nat(3), { nil: undefined }),
  perAgent: fc.constantFrom(undefined, { a: 0 }, { a: 1 }, { a: 2, b: 1 }),
})
const status = fc.constantFrom<NonNullable<ListOptions['status']>>('idle', 'queued', 'running', 'waiting')
const releaseStatus = fc.constantFrom<'idle' | 'waiting' | 'runnable'>('idle', 'waiting', 'runnable')
const outcome = fc.constantFrom<Outcome>('completed', 'failed', 'suspended')
const error = fc.constantFrom('overloaded', 'a\0b', '"')
const nanos = fc.constantFrom(0, 1, 5_000_000)
const tool = fc.constantFrom('pay', 'look', '\ud83d')
const facts: fc.Arbitrary<ThreadFacts> = fc.record(
  {
    outcome,
    error,
    nanos,
    tools: fc.array(tool, { maxLength: 2 }),
    texts: fc.array(
      fc.record({ seq: fc.integer({ min: 1, max: 12 }), text: searchable }).map(({ seq, text }) => {
        return { seq, text, search: text.toUpperCase() }
      }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: ['nanos', 'tools', 'texts'] },
)
/** Which of the leases granted so far: one of the last. */
const lease = fc.nat(3)

/** All possible arguments; each step uses those it needs. */
const step = fc.record({
  what: fc.constantFrom(
    ...(['create', 'signal', 'claim', 'append', 'release', 'renew', 'packDeltas', 'delete', 'fork'] as const),
    // Calls that change a lot are more frequent.
    ...(['create', 'signal', 'claim', 'append', 'append', 'release', 'saveFacts'] as const),
    ...(['get', 'heads', 'read', 'findRunnable', 'list', 'list', 'usage', 'save', 'snapshot'] as const),
  ),
  id: fc.constantFrom('t', 'u', 'v', 'w'),
  other: fc.constantFrom('t', 'u', 'v', 'w'),
  agent,
  user: fc.option(user, { nil: undefined }),
  caller: fc.option(user, { nil: undefined }),
  quotas: fc.option(quotas, { nil: undefined }),
  limits: fc.option(limits, { nil: undefined }),
  priority: fc.option(fc.constantFrom<Priority>('interactive', 'batch'), { nil: undefined }),
  key: fc.oneof(fc.constantFrom('k', 'l'), fc.uuid()),
  owner: fc.constantFrom('one', 'two'),
  event,
  batches: fc.array(
    fc.record({ lease, events: fc.array(event, { maxLength: 6 }), isRepeated: fc.boolean() }),
    { maxLength: 3 },
  ),
  lease,
  releaseStatus,
  behind: fc.constantFrom(0, 0, 0, 1),
  number: fc.nat(25),
  split: fc.boolean(),
  part: fc.constantFrom('a', 'b'),
  text: words,
  label: fc.option(label, { nil: undefined }),
  relabel: fc.boolean(),
  facts: fc.option(facts, { nil: undefined }),
  filter: fc.oneof(
    fc.constant({}),
    fc.record({ user, agent, status }, { requiredKeys: [] }),
    fc.record(
      { user, agent, status, search: fc.array(searchable, { maxLength: 2 }) },
      { requiredKeys: ['search'] },
    ),
    fc.record(
      {
        ...{ user, agent, status, outcome, error, tool },
        search: fc.array(searchable, { maxLength: 2 }),
        minNanos: nanos,
        since: fc.constant(1_700_000_000_000),
        until: fc.constantFrom(1_700_000_000_000, 1_700_000_030_000),
      },
      { requiredKeys: [] },
    ),
  ),
  metadata: fc.option(
    fc.record({ note: words, deep: fc.array(fc.oneof(words, fc.integer()), { maxLength: 2 }) }),
    {
      nil: undefined,
    },
  ),
  // Sometimes the clock is set back.
  passMs: fc.constantFrom(0, 0, 0, 1, 1, 60, 60, 30_000, -50, -500),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** One store, and the leases granted by it. */
interface Side {
  readonly store: ThreadStore
  readonly leases: Lease[]
  /** The last batch of each lease, by its epoch. */
  readonly written: Map<number, Batch>
}

async function play({ store, leases, written }: Side, step: Step): Promise<unknown> {
  const {
    id,
    agent,
    user,
    caller,
    quotas,
    limits,
    priority,
    key,
    owner,
    event,
    batches,
    releaseStatus,
    behind,
    number,
    split,
    metadata,
  } = step
  const leaseAt = (index: number) => leases.at(-1 - index) ?? { threadId: 't', owner: 'none', epoch: -1 }
  const batchOf = ({ lease: index, events, isRepeated }: Step['batches'][number]): Batch => {
    const lease = leaseAt(index)
    const last = written.get(lease.epoch)
    if (isRepeated && last) return last
    const batch = { lease, events, number: (last?.number ?? 0) + 1 }
    if (events.length > 0) written.set(lease.epoch, batch)
    return batch
  }
  switch (step.what) {
    case 'create':
      return store.create(
        {
          ...{ id, agent, label: step.label },
          ...(user && { user }),
          ...(caller && { caller }),
          ...(metadata && { metadata }),
          ...(priority && { priority }),
        },
        { quotas },
      )
    case 'signal':
      return store.signal(id, key, event, { quotas, label: step.label, relabel: step.relabel })
    case 'claim': {
      const claim = await store.claim(id, owner, 100, limits)
      if (claim) leases.push(claim.lease)
      return claim?.losses
    }
    case 'append':
      return store.append(distinctBy(batches, ({ lease }) => leaseAt(lease).epoch).map(batchOf))
    case 'release': {
      const lease = leaseAt(step.lease)
      const head = ((await store.get(lease.threadId))?.head ?? 0) - behind
      return store.release(lease, { head, status: releaseStatus, facts: step.facts })
    }
    case 'saveFacts':
      return step.facts && store.saveFacts(leaseAt(step.lease), step.facts)
    case 'renew': {
      const held = batches.map(({ lease }) => leaseAt(lease))
      return (await store.renew(held, 100)).map((lease) => held.indexOf(lease))
    }
    case 'packDeltas':
      return store.packDeltas(id, number)
    case 'delete':
      return store.delete(id)
    case 'fork':
      return store.fork(
        id,
        number,
        { id: step.other, agent, ...(caller && { caller }), label: step.label },
        { quotas, events: split ? [event] : [], waiting: behind },
      )
    case 'save': {
      const snapshot = { parts: [[step.part, step.text]], head: { seq: number, state: step.text } } as const
      return store.saveSnapshot(leaseAt(step.lease), snapshot)
    }
    case 'snapshot':
      return [
        await store.snapshot(id, split ? number : undefined),
        await store.snapshotPart(id, step.part),
        await readWhole(store, id),
      ]
    case 'get':
      return store.get(id)
    case 'heads':
      return store.heads([id, step.other])
    case 'read':
      return store.read(id, { after: number, limit: 7, split })
    case 'findRunnable':
      return store.findRunnable(2, split ? ['a', 'b'] : [agent], limits)
    case 'usage':
      return store.usage(user ?? 'x')
    case 'list':
      return everyPage(store, step.filter)
  }
}

function distinctBy<Item>(items: readonly Item[], key: (item: Item) => unknown): Item[] {
  return [...new Map(items.map((item) => [key(item), item])).values()]
}

async function readWhole(store: ThreadStore, id: string): Promise<unknown> {
  const log = await store.read(id, { after: 0, limit: 1000, split: true })
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1))
  return log
}

async function everyPage(store: ThreadStore, filter: Partial<ListOptions>): Promise<unknown> {
  const pages: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 1, cursor, ...filter })
    pages.push(page.threads)
    cursor = page.next
  } while (cursor)
  return pages
}

it('all stores return the same results', async () => {
  let files = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 100, size: 'max' }), async (steps) => {
      let time = 1_700_000_000_000
      const now = () => time
      const stores = [memoryStore({ now }), sqliteStore(join(folder, `${++files}.db`), { now })]
      const sides: Side[] = stores.map((store) => ({ store, leases: [], written: new Map() }))
      for (const step of steps) {
        time += step.passMs
        const [one, other] = await Promise.all(
          sides.map((side) => play(side, step).catch(({ code, message }) => ({ code, message }))),
        )
        expect(other).toEqual(one)
      }
      for (const store of stores) await store.close()
    }),
    { numRuns: sized(40) },
  )
})
