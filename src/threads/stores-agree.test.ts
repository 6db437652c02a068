import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ThreadEvent } from '../protocol/index.ts'
import { memoryStore } from './memory.ts'
import { temporaryFolder } from './sqlite/sqlite.test-kit.ts'
import { sqliteStore } from './sqlite.ts'
import type { Lease, ListOptions, ThreadStatus, ThreadStore } from './store.ts'

// Whatever is asked of them in whatever order, all stores answer the same. Only names of their own making differ: epochs and cursors.

const folder = temporaryFolder()

/** One store with what its users hold of it. */
interface Side {
  readonly store: ThreadStore
  readonly leases: Lease[]
}

type Step = (side: Side) => Promise<unknown>

const id = fc.constantFrom('t', 'u', 'v')
const owner = fc.constantFrom('one', 'two')
const event: fc.Arbitrary<ThreadEvent> = fc.oneof(
  fc.record({
    type: fc.constantFrom('text' as const, 'reasoning' as const),
    text: fc.string({ minLength: 1, maxLength: 4 }),
  }),
  fc.record({ type: fc.constant('stop' as const), reason: fc.string({ maxLength: 3 }) }),
)
const status = fc.constantFrom<ThreadStatus>('idle', 'queued', 'running', 'waiting')
/** Which of the leases that were ever given: mostly the last one of some thread. */
const which = fc.nat(3)

function leaseAt({ leases }: Side, index: number): Lease {
  return leases.at(-1 - index) ?? { threadId: 't', owner: 'nobody', epoch: -1 }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(id, fc.constantFrom('a', 'b'), fc.option(fc.constantFrom('x', 'y'), { nil: undefined })).map(
    ([id, agent, user]): Step =>
      (side) =>
        side.store.create({ id, agent, ...(user && { user }) }),
  ),
  fc.tuple(id, fc.option(fc.constantFrom('k', 'l'), { nil: undefined }), event).map(
    ([id, key, event]): Step =>
      ({ store }) =>
        store.signal(id, key, event),
  ),
  fc.tuple(id, owner).map(
    ([id, owner]): Step =>
      async ({ store, leases }) => {
        const claim = await store.claim(id, owner, 100)
        if (claim) leases.push(claim.lease)
        return claim && { ...claim, lease: claim.lease.threadId }
      },
  ),
  fc.array(fc.tuple(which, fc.array(event, { maxLength: 6 })), { maxLength: 3 }).map(
    (batches): Step =>
      (side) =>
        side.store.append(batches.map(([index, events]) => ({ lease: leaseAt(side, index), events }))),
  ),
  fc.tuple(which, fc.nat(2), fc.constantFrom('idle' as const, 'waiting' as const, 'runnable' as const)).map(
    ([index, behind, status]): Step =>
      async (side) => {
        const lease = leaseAt(side, index)
        const head = ((await side.store.get(lease.threadId))?.head ?? 0) - (behind === 2 ? 1 : 0)
        return side.store.release(lease, { head, status })
      },
  ),
  fc.array(which, { maxLength: 3 }).map(
    (indices): Step =>
      async (side) => {
        const leases = indices.map((index) => leaseAt(side, index))
        const lost = await side.store.renew(leases, 100)
        return lost.map((lease) => leases.indexOf(lease))
      },
  ),
  fc.tuple(id, fc.nat(30)).map(
    ([id, upTo]): Step =>
      ({ store }) =>
        store.compact(id, upTo),
  ),
  id.map(
    (id): Step =>
      ({ store }) =>
        store.delete(id),
  ),
)

const question: fc.Arbitrary<Step> = fc.oneof(
  id.map(
    (id): Step =>
      ({ store }) =>
        store.get(id),
  ),
  fc.tuple(id, fc.nat(20), fc.boolean()).map(
    ([id, after, split]): Step =>
      ({ store }) =>
        store.read(id, { after, limit: 7, split }),
  ),
  fc.subarray(['a', 'b']).map(
    (agents): Step =>
      ({ store }) =>
        store.stranded(2, agents),
  ),
  fc
    .record(
      { user: fc.constantFrom('x', 'y'), agent: fc.constantFrom('a', 'b'), status },
      { requiredKeys: [] },
    )
    .map(
      (filter): Step =>
        ({ store }) =>
          everyPage(store, filter),
    ),
)

async function everyPage(store: ThreadStore, filter: Partial<ListOptions>): Promise<unknown> {
  const pages: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 2, cursor, ...filter })
    pages.push(page.threads)
    cursor = page.next
  } while (cursor)
  return pages
}

it('every store answers as the others do', async () => {
  let files = 0
  const steps = fc.array(
    fc.record({
      step: fc.oneof({ weight: 4, arbitrary: step }, question),
      passMs: fc.constantFrom(0, 0, 1, 60),
    }),
    { minLength: 20, maxLength: 80 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      let time = 1_700_000_000_000
      const now = () => time
      const sides: Side[] = [memoryStore({ now }), sqliteStore(join(folder, `${++files}.db`), { now })].map(
        (store) => ({ store, leases: [] }),
      )
      for (const { step, passMs } of steps) {
        time += passMs
        const [one, other] = await Promise.all(
          sides.map((side) => step(side).catch(({ code, message }) => ({ code, message }))),
        )
        expect(other).toEqual(one)
      }
      for (const side of sides) await side.store.close()
    }),
    { numRuns: 40 },
  )
})
