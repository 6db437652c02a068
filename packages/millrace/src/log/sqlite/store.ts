import type { DatabaseSync } from 'node:sqlite'
import type { Entry } from '../../protocol/index.ts'
import { logProblem } from '../entries.ts'
import { rememberJson } from '../entry-json.ts'
import { patchesIn } from '../patched.ts'
import type { Lease, ThreadStore } from '../store.ts'
import { badLog } from '../store-errors.ts'
import { isWaitingInput, waitingIn } from '../usage.ts'
import { watchers } from '../watchers.ts'
import { batchColumns, writtenEntries } from './batches.ts'
import type { Health } from './commits.ts'
import { identitiesOf, reads } from './commits.ts'
import { failure } from './failure.ts'
import { threadReader } from './reader.ts'
import { packedColumns } from './rows.ts'
import type { ThreadWriter, WriterOptions } from './writer.ts'
import { threadWriter } from './writer.ts'

export interface DatabaseStoreOptions {
  readonly path: string
  readonly now: () => number
  readonly busyMs: number
  readonly pollMs: number
  /** After how long a search returns a page that is not full. */
  readonly scanMs?: number | undefined
  /** Opens what writes. By default it uses the same connection, and blocks this thread while it writes. */
  readonly openWriter?: ((options: WriterOptions) => ThreadWriter) | undefined
}

/** A store on an open database. It owns the database from here on. */
export function databaseStore(database: DatabaseSync, options: DatabaseStoreOptions): ThreadStore {
  const { path, busyMs, pollMs, scanMs } = options
  const openWriter = options.openWriter ?? ((options) => threadWriter(database, options))
  const now = () => Math.round(options.now())
  const health: Health = {}
  const file = { path, busyMs, health }
  const { read, close } = reads(file)
  const { lastPlace, hasHidden, waitFor, ...reader } = threadReader(database, { read }, { path, now, scanMs })
  const listeners = watchers()
  const writer = openWriter({ ...file, files: identitiesOf(path), now, pollMs, onChange: listeners })
  let closing: Promise<void> | undefined
  // If the file cannot be read, the next process to open it removes them.
  void hasHidden()
    .then((found) => (found ? writer.sweep() : undefined))
    .catch(() => {})

  function notifyCreated(threadId: string): void {
    listeners.changed(threadId)
    listeners.runnable()
  }

  return {
    ...reader,

    async create(thread, { entries = [], keys = new Map(), createdAt, quotas } = {}) {
      const problem = logProblem(entries, keys)
      if (problem) throw badLog('store.create', problem)
      const last = entries.at(-1)
      const created = await writer.create(thread, {
        rows: entries.map(packedColumns),
        updatedAt: last?.at,
        head: last?.seq ?? 0,
        queued: waitingIn(entries),
        keys,
        createdAt: createdAt && Math.round(createdAt),
        quotas,
      })
      if (created) notifyCreated(thread.id)
      return created
    },

    async fork(threadId, at, thread, { events = [], waiting = 0, quotas } = {}) {
      const texts = events.map((event) => JSON.stringify(event))
      const created = await writer.fork(threadId, at, thread, { events: texts, waiting, quotas })
      if (created) notifyCreated(thread.id)
      return created
    },

    async delete(threadId) {
      const existed = await writer.delete(threadId)
      if (existed) listeners.changed(threadId)
      return existed
    },

    async append(batches) {
      const columns = batchColumns(batches)
      const written = writtenEntries(batches, columns, await writer.append(columns))
      for (const [index, { lease }] of batches.entries()) {
        const entries = written[index]
        const last = Array.isArray(entries) ? (entries.at(-1) as Entry | undefined) : undefined
        if (last) listeners.changed(lease.threadId, last.seq)
      }
      return written
    },

    async signal(threadId, key, event, { quotas, label, relabel } = {}) {
      const text = textOf('store.signal', event)
      const waiting = isWaitingInput(event) ? 1 : 0
      const { entry, seq, at, owned, ...thread } = await writer.signal(threadId, key, {
        event: text,
        patches: patchesIn([event]),
        waiting,
        quotas,
        label,
        relabel,
      })
      if (!owned) listeners.runnable()
      if (entry) return { ...thread, entry, repeated: true }
      listeners.changed(threadId, seq)
      const added: Entry = { seq, at, event }
      rememberJson(added, text)
      return { ...thread, entry: added, repeated: false }
    },

    claim: writer.claim,

    async renew(leases, leaseMs) {
      const lost = await writer.renew(leases, leaseMs)
      return lost.map((index) => leases[index] as Lease)
    },

    async release(lease, left) {
      const result = await writer.release(lease, left)
      if (left.status === 'runnable' && result === 'released') listeners.runnable()
      return result
    },

    saveFacts: writer.saveFacts,

    reserve: (rate, amount) => (amount === 0 ? waitFor(rate) : writer.reserve(rate, amount)),

    hold: writer.hold,

    saveSnapshot: (lease, { parts, head }) => writer.saveSnapshot(lease, { parts: [...parts], head }),

    packDeltas: writer.packDeltas,

    watch(watcher) {
      const isFirst = listeners.count === 0
      const watch = listeners.open(watcher, () => {
        if (listeners.count === 0) void writer.unwatch().catch(() => {})
      })
      if (isFirst && !closing) void writer.watch(lastPlace()).catch(() => {})
      return watch
    },

    close() {
      closing ??= closeAll()
      return closing
    },
  }

  function textOf(op: string, event: unknown): string {
    try {
      return JSON.stringify(event)
    } catch (error) {
      throw failure(error, { op, path })
    }
  }

  async function closeAll() {
    listeners.clear()
    close()
    await writer.close()
    try {
      database.close()
    } catch (error) {
      throw failure(error, { op: 'store.close', path })
    }
  }
}
