import { expect, test } from 'vitest'
import type { Entry, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { budget } from './budget.ts'
import type { Fold } from './feed.ts'
import type { Followers } from './followers.ts'
import { threadFollowers } from './followers.ts'
import { groupCommit } from './group-commit.ts'
import { memoryStore } from './memory.ts'
import type { Lease, ThreadStore } from './store.ts'
import { threadLogs } from './thread-log.ts'

/** A log with this many runs, each of two entries. */
function pastOf(runs: number): Entry[] {
  const events: ThreadEvent[] = []
  for (let run = 0; run < runs; run++)
    events.push(
      { type: 'run-start', version: 1, agent: 'desk', input: [], runId: `run_${run}` },
      { type: 'run-end', usage: noUsage, outcome: 'completed' },
    )
  return events.map((event, index) => ({ seq: index + 1, at: 1000, event }))
}

async function create(store: ThreadStore, runs: number) {
  await store.create({ id: 't', agent: 'desk' }, { entries: pastOf(runs) })
  return (await store.get('t')) as ThreadInfo
}

/** Creates a thread and opens its log. */
async function opened(store: ThreadStore, runs: number, around: (followers: Followers) => Followers) {
  const { createdAt } = await create(store, runs)
  const logs = threadLogs({
    store,
    followers: around(threadFollowers(store, budget(1e9))),
    commits: groupCommit({ store, flushMs: 1, retryForMs: 1000 }),
    cacheBytes: 1e6,
  })
  const lost: unknown[] = []
  const lease: Lease = { threadId: 't', owner: 'here', epoch: 1 }
  const ignore = () => {}
  const thread = { id: 't', createdAt }
  await logs.open(lease, { thread, onGrown: ignore, onError: ignore, onLost: (why) => lost.push(why) })
  return { logs, lost }
}

test('a log that is lost just before it is open does not count as open', async () => {
  const store = memoryStore()
  const { logs, lost } = await opened(store, 1, (followers) => ({
    ...followers,
    async attach(threadId: string, fold: Fold) {
      const detach = await followers.attach(threadId, fold)
      fold.end()
      return detach
    },
  }))
  expect(lost).toEqual(['fenced'])
  await store.delete('t')
  const { createdAt, head } = await create(store, 2)
  expect((await logs.state({ id: 't', createdAt }, head)).head).toBe(4)
})

test('a log that is lost while it is folded is not read to its end', async () => {
  const store = memoryStore()
  let last = 0
  const counted: ThreadStore = {
    ...store,
    saveSnapshot: async () => 'fenced',
    read(threadId, options) {
      last = options.after
      return store.read(threadId, options)
    },
  }
  const { lost } = await opened(counted, 20_000, (followers) => followers)
  expect(lost).toEqual(['fenced'])
  expect(last).toBeGreaterThan(19_000)
  expect(last).toBeLessThan(21_000)
})
