import { isDeepStrictEqual } from 'node:util'
import type { Entry } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import type { StoredThread, ThreadStore } from '../threads/index.ts'
import { labelOf } from '../threads/index.ts'

/** What happened to the threads of the source. */
export interface Copied {
  readonly total: number
  readonly copied: number
  /** Threads that the target had already, with the same log or a continued one. */
  readonly present: number
  /** The ids of threads that were not copied, since the target has another thread with this id. */
  readonly conflicts: readonly string[]
}

interface CopyOptions {
  readonly source: ThreadStore
  readonly target: ThreadStore
  /** Stops before the next thread. */
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

const pageLength = 1000

/**
 * Copies all threads that the target does not have yet, the one that changed first, first, so that
 * both stores list them in the same order. Holds the log of one thread in memory. Rejects with
 * `conflict` if a process works on a thread of the source.
 */
export async function copyThreads({ source, target, signal, onProgress }: CopyOptions): Promise<Copied> {
  const { threads: running } = await source.list({ limit: 1, status: 'running' })
  if (running[0]) throw inUse(running[0].id)
  const ids = await allIds(source)
  const counts = { copied: 0, present: 0 }
  const conflicts: string[] = []
  for (const [done, id] of ids.reverse().entries()) {
    if (signal.aborted) break
    onProgress(done, ids.length)
    const thread = await source.get(id)
    // Deleted in the meantime.
    if (!thread) continue
    const result = await copyThread(thread, source, target)
    if (result === 'conflict') conflicts.push(id)
    else counts[result]++
  }
  return { total: ids.length, ...counts, conflicts }
}

async function allIds(store: ThreadStore): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | undefined; ; ) {
    const { threads, next } = await store.list({ limit: pageLength, cursor })
    ids.push(...threads.map(({ id }) => id))
    if (next === undefined) return ids
    cursor = next
  }
}

async function copyThread(
  thread: StoredThread,
  source: ThreadStore,
  target: ThreadStore,
): Promise<'copied' | 'present' | 'conflict'> {
  const { id, head, agent, user, caller, metadata, forkedFrom, priority, createdAt } = thread
  const there = await target.get(id)
  if (there) {
    const relation = await compare(thread, there, source, target)
    if (relation !== 'behind') return relation === 'other' ? 'conflict' : 'present'
    // It was copied before, and continued in the source since.
    await target.delete(id)
  }
  const entries = await readAll(source, id)
  const keys = await source.keys(id)
  const now = await source.get(id)
  if (!now || now.head !== head || now.status === 'running') throw inUse(id)
  const label = labelOf(thread, entries, thread.title)
  const isCreated = await target.create(
    {
      ...{ id, agent, caller, priority, label },
      ...(user !== undefined && { user }),
      ...(metadata && { metadata }),
      ...(forkedFrom && { forkedFrom }),
    },
    { entries, keys, createdAt },
  )
  if (!isCreated) return 'conflict'
  await target.packDeltas(id, head)
  return 'copied'
}

/**
 * Whether two threads with the same id are the same: `behind` if the target has only the start of
 * the source's log, `ahead` if it is the other way around.
 */
async function compare(
  ours: StoredThread,
  theirs: StoredThread,
  source: ThreadStore,
  target: ThreadStore,
): Promise<'same' | 'behind' | 'ahead' | 'other'> {
  const { id, agent, user, createdAt } = ours
  if (!isDeepStrictEqual([agent, user, createdAt], [theirs.agent, theirs.user, theirs.createdAt]))
    return 'other'
  for (let after = 0; ; ) {
    const [one, other] = await Promise.all([readPage(source, id, after), readPage(target, id, after)])
    const length = Math.min(one.length, other.length)
    if (!isDeepStrictEqual(one.slice(0, length), other.slice(0, length))) return 'other'
    if (length === 0) return one.length > 0 ? 'behind' : other.length > 0 ? 'ahead' : 'same'
    after += length
  }
}

/** Split, since joined deltas are returned without the time of each. The target joins them again. */
function readPage(store: ThreadStore, threadId: string, after: number): Promise<readonly Entry[]> {
  return store.read(threadId, { after, limit: pageLength, split: true })
}

async function readAll(store: ThreadStore, threadId: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const page = await readPage(store, threadId, entries.length)
    if (page.length === 0) return entries
    entries.push(...page)
  }
}

function inUse(id: string): MillraceError {
  const message = `a process works on thread '${id}' of the source: end all processes that use the source, such as millrace serve, and run this again`
  return new MillraceError({ op: 'millrace', code: 'conflict', message })
}
