import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Entry, JsonObject } from '../../protocol/index.ts'
import { patchedThread } from '../patched.ts'
import { reserveAt } from '../rates.ts'
import type {
  Lease,
  NewThread,
  Quotas,
  RunLimits,
  Signaled,
  ThreadFacts,
  ThreadLabel,
  ThreadStore,
} from '../store.ts'
import { badBatch, badFork, threadNotFound } from '../store-errors.ts'
import { byteLength, bytesOfThread, checkQuotas, inputQuotas, sharedBytes, sumOf } from '../usage.ts'
import type { Watchers } from '../watchers.ts'
import type { BatchColumns, WrittenColumns } from './batches.ts'
import { fenced } from './batches.ts'
import { callerRows } from './callers.ts'
import { changePoller } from './changes.ts'
import type { FileOptions } from './commits.ts'
import { commits, reads } from './commits.ts'
import { packSlice } from './pack-deltas.ts'
import { entryReader } from './read-entries.ts'
import type { HeadRow, SignaledRow } from './reader.ts'
import { roomFinder } from './reader.ts'
import type { LogSegment, ThreadRow } from './rows.ts'
import { fromColumn, infoOf, optional, originIn, priorityOf, toColumn } from './rows.ts'
import type { WholeSnapshot } from './snapshots.ts'
import { snapshotWriter } from './snapshots.ts'
import { spendingWriter } from './spending.ts'
import { prepareStatements } from './statements.ts'
import { sweeper } from './sweep.ts'
import { moveTailOf, tailMover } from './tail.ts'

/** The columns of an entry after the thread's, and the length of its text. */
interface EntryColumns {
  readonly columns: readonly [
    seq: number,
    first: number | null,
    at: number,
    event: string,
    cuts: string | null,
    sum: number,
  ]
  readonly bytes: number
}

interface CreatedLog {
  readonly rows: readonly EntryColumns[]
  /** The time of the last entry. */
  readonly updatedAt: number | undefined
  readonly head: number
  /** How many messages are waiting. */
  readonly queued: number
  readonly keys: ReadonlyMap<string, number>
  readonly createdAt: number | undefined
  readonly quotas: Quotas | undefined
}

interface ForkedLog {
  /** Events to add, as JSON. */
  readonly events: readonly string[]
  readonly waiting: number
  readonly quotas: Quotas | undefined
}

interface WrittenSignal {
  /** As JSON. */
  readonly event: string
  /** If it changes metadata. */
  readonly patches: readonly JsonObject[]
  /** How many messages are waiting because of it. */
  readonly waiting: number
  readonly quotas: Quotas | undefined
  readonly label: ThreadLabel | undefined
  readonly relabel: boolean | undefined
}

/** `entry` is set if the signal was written before. */
interface SignalResult extends Pick<Signaled, 'agent' | 'priority'> {
  readonly entry: Entry | undefined
  readonly seq: number
  readonly at: number
  readonly owned: boolean
}

/**
 * All writes of a store, on one connection. It may run in another thread, so what it takes and
 * returns can be copied; events come as JSON.
 */
export interface ThreadWriter
  extends Pick<
    ThreadStore,
    'delete' | 'claim' | 'release' | 'saveFacts' | 'reserve' | 'hold' | 'packDeltas'
  > {
  create(thread: NewThread, log: CreatedLog): Promise<boolean>
  fork(threadId: string, at: number, thread: NewThread, log: ForkedLog): Promise<boolean>
  append(batches: BatchColumns): Promise<WrittenColumns>
  /** Returns the indexes of the leases that another owner has claimed. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly number[]>
  signal(threadId: string, key: string, signal: WrittenSignal): Promise<SignalResult>
  saveSnapshot(lease: Lease, snapshot: WholeSnapshot): Promise<'saved' | 'fenced'>
  /** Removes deleted threads, in the background. */
  sweep(): Promise<void>
  /** Reports what other connections write after this place, or from now on. */
  watch(after?: number): Promise<void>
  unwatch(): Promise<void>
  /** Resolves when everything is written. The connection stays open. */
  close(): Promise<void>
}

export interface WriterOptions extends FileOptions {
  readonly now: () => number
  readonly pollMs: number
  readonly onChange: Pick<Watchers, 'changed' | 'runnable' | 'missed'>
}

interface LeasedRow extends HeadRow {
  readonly batch: number
  readonly batch_seq: number
  readonly batch_at: number
}

/** The events of a batch as JSON, and what is written with them. */
interface EntryBatch {
  readonly number: number
  readonly texts: readonly string[]
  readonly bytes: number
  readonly at: number
  readonly place: number
}

/** What was last known of an owned thread. */
interface OwnedThread extends Pick<HeadRow, 'n' | 'caller'>, Pick<Lease, 'owner' | 'epoch'> {
  head: number
}

interface NewRow {
  readonly time: number
  readonly bytes: number
  readonly quotas: Quotas | undefined
  readonly queued: number
  readonly head: number
  /** `time` if absent. */
  readonly createdAt?: number | undefined
  /** `createdAt` if absent. */
  readonly updatedAt: number | undefined
  readonly base?: LogSegment | undefined
}

/** More threads than a process works on at a time. */
const maxOwned = 10_000

export function threadWriter(database: DatabaseSync, options: WriterOptions): ThreadWriter {
  const { path, now, pollMs, onChange } = options
  const sql = prepareStatements(database)
  const queue = commits(database, options)
  const { write, writeLater } = queue
  const { read } = reads(options)
  const callers = callerRows(sql)
  const spent = spendingWriter(database, queue, now)
  const poller = changePoller(sql, { path, pollMs, watchers: onChange })
  const sweep = sweeper({ statements: sql, callers, read, writeLater, now })
  const { readFrom, segmentsAfter } = entryReader(sql, path)
  const agentsWithRoom = roomFinder(sql)
  const tail = tailMover(sql, writeLater)
  /** By thread. A row that is out of date costs one more query. */
  const owned = new Map<string, OwnedThread>()

  function threadRow(threadId: string) {
    return sql.getThread.get(toColumn(threadId)) as unknown as
      | (ThreadRow & HeadRow & { queued: number })
      | undefined
  }

  function headOf(op: string, threadId: string) {
    const row = sql.headOf.get(toColumn(threadId))
    if (!row) throw threadNotFound(op, threadId)
    return row as unknown as SignaledRow
  }

  function nextPlace(): number {
    return (sql.lastPlace.get() as { place: number }).place + 1
  }

  function leaseColumns({ threadId, epoch, owner }: Lease) {
    return [toColumn(threadId), epoch, toColumn(owner)] as const
  }

  function isFull(row: SignaledRow, limits: RunLimits, time: number): boolean {
    const { perCaller = Infinity } = limits
    if (row.caller !== null && perCaller < Infinity && callers.runsOf(row.caller, time) >= perCaller)
      return true
    return agentsWithRoom([fromColumn(row.agent)], limits, time).length === 0
  }

  /**
   * Adds a thread and counts it for its caller, if the quotas allow. Returns its row number;
   * undefined if the id is taken.
   */
  function addThread(op: string, thread: NewThread, row: NewRow): number | undefined {
    const { agent, user, caller: name = user, metadata, forkedFrom, label } = thread
    const { time, quotas, bytes, queued, base, createdAt = time, updatedAt = createdAt } = row
    const id = toColumn(thread.id)
    if (sql.headOf.get(id)) return undefined
    if (name !== undefined && quotas)
      checkQuotas(callers.usageByName(name, time), quotas, ['storedBytes', 'bytesPerMinute'], { op, time })
    const caller = name === undefined ? null : callers.numberOf(name, time)
    const { lastInsertRowid } = sql.addThread.run({
      id,
      agent: toColumn(agent),
      user: optional(user),
      forkedId: optional(forkedFrom?.id),
      forkedSeq: forkedFrom?.seq ?? null,
      createdAt,
      updatedAt,
      addedAt: updatedAt === time ? null : time,
      head: row.head,
      place: nextPlace(),
      due: row.head > 0 ? time : null,
      epoch: Math.floor(Math.random() * 2 ** 40),
      title: optional(label?.title),
      caller,
      bytes,
      queued,
      base: base?.thread ?? null,
      baseSeq: base?.upTo ?? 0,
      background: thread.priority === 'batch' ? 1 : 0,
    })
    const n = Number(lastInsertRowid)
    if (label || metadata)
      sql.addSearch.run(n, label?.search ?? '', metadata ? JSON.stringify(metadata) : null)
    callers.count(caller, { bytes, waiting: queued }, time)
    poller.ownWrite()
    return n
  }

  /** Returns the length of its text. */
  function addEntry(n: number, seq: number, at: number, event: string): number {
    sql.addEntry.run(n, seq, at, event, crc32(event))
    return byteLength(event)
  }

  function setLabel(n: number, { title, search }: ThreadLabel): void {
    sql.setTitle.run(optional(title), n)
    sql.setSearch.run(n, search)
  }

  /** Changes the metadata of a thread, and what searches find of it. */
  function patch(threadId: string, patches: readonly JsonObject[]): void {
    const row = threadRow(threadId)
    if (!row) return
    const { metadata, search } = patchedThread(infoOf(row, now()), patches)
    sql.setMetadata.run(row.n, search, JSON.stringify(metadata))
  }

  function addFacts(n: number, { outcome, error, nanos, tools, texts }: ThreadFacts): void {
    sql.setFacts.run(n, outcome ?? null, optional(error), nanos)
    for (const name of tools) sql.addTool.run(n, toColumn(name))
    for (const { seq, text, search } of texts) sql.addText.run({ n, seq, search, text })
  }

  /** Counts messages of a thread as no longer waiting. Returns how many. */
  function takeQueued(n: number, inputs: number): number {
    if (inputs === 0) return 0
    const { queued } = sql.queuedOf.get(n) as { queued: number }
    const taken = Math.min(inputs, queued)
    sql.setQueued.run(queued - taken, n)
    return taken
  }

  /** Notifies other processes of a change that adds no entry. */
  function addNotice(threadId: string): void {
    const place = nextPlace()
    sql.addNotice.run(place, toColumn(threadId))
    sql.forgetNotices.run(place)
    poller.ownWrite()
  }

  /** Adds entries to a thread. Returns false if the thread is not as it was known. */
  function grow(thread: OwnedThread, { number, texts, bytes, at, place }: EntryBatch): boolean {
    const { n, head, epoch, owner } = thread
    const end = head + texts.length
    const grown = [end, end, at, at, place, bytes, number] as const
    const { changes } = sql.growByLease.run(...grown, n, head, number - 1, epoch, toColumn(owner))
    if (changes === 0) return false
    for (let offset = 0; offset < texts.length; offset++) {
      const text = texts[offset] as string
      sql.addEntry.run(n, head + 1 + offset, at, text, crc32(text))
    }
    thread.head = end
    return true
  }

  /**
   * The thread of a lease as it is now, and where the batch is if it was written before. Undefined if
   * the lease is not valid.
   */
  function leasedThread(lease: Lease, { number, texts }: EntryBatch) {
    const row = sql.headByLease.get(...leaseColumns(lease)) as unknown as LeasedRow | undefined
    if (!row) return undefined
    const { n, caller, head, batch, batch_seq, batch_at } = row
    const isNew = texts.length === 0 || number === 0 || number !== batch
    if (texts.length > 0 && isNew && number !== batch + 1) throw badBatch(lease.threadId, number, batch)
    const thread: OwnedThread = { n, caller, head, owner: lease.owner, epoch: lease.epoch }
    if (owned.size >= maxOwned) owned.clear()
    owned.set(lease.threadId, thread)
    return { thread, written: isNew ? undefined : { head: batch_seq, time: batch_at } }
  }

  /** Writes the batches of a commit. */
  function appendAll({ threads, owners, epochs, numbers, counts, ...batches }: BatchColumns): WrittenColumns {
    const at = now()
    const total = callers.counter()
    const spending = spent.counter()
    const heads: number[] = []
    const times: number[] = []
    let place = nextPlace()
    let first = 0
    for (let index = 0; index < threads.length; index++) {
      const lease = {
        threadId: threads[index] as string,
        owner: owners[index] as string,
        epoch: epochs[index] as number,
      }
      const texts = batches.texts.slice(first, first + (counts[index] as number))
      first += texts.length
      const batch = { number: numbers[index] as number, texts, bytes: sumOf(texts, byteLength), at, place }
      const freed = batches.freed.get(index)
      const known = owned.get(lease.threadId)
      let thread = known?.owner === lease.owner && known.epoch === lease.epoch ? known : undefined
      if (!thread || freed || texts.length === 0 || !grow(thread, batch)) {
        const found = leasedThread(lease, batch)
        if (found) for (const id of freed ?? []) spent.free(found.thread.n, id)
        if (!found || found.written || texts.length === 0) {
          heads.push(found ? (found.written ?? found.thread).head : fenced)
          times.push(found?.written?.time ?? at)
          continue
        }
        thread = found.thread
        grow(thread, batch)
      }
      place++
      heads.push(thread.head)
      times.push(at)
      const answered = takeQueued(thread.n, batches.inputs[index] as number)
      spending.add(thread.n, batches.spends.get(index) ?? [])
      const patches = batches.patches.get(index)
      if (patches) patch(lease.threadId, patches)
      if (thread.caller !== null)
        total.add(thread.caller, {
          bytes: batch.bytes,
          waiting: -answered,
          tokens: batches.tokens[index] as number,
        })
    }
    total.write(at)
    spending.write(at)
    poller.ownWrite()
    return { heads, times }
  }

  return {
    create: (thread, { rows, keys, head, queued, createdAt, updatedAt, quotas }) =>
      write('store.create', () => {
        const bytes = sumOf(rows, (row) => row.bytes) + bytesOfThread(thread.metadata)
        const row = { time: now(), bytes, quotas, queued, head, createdAt, updatedAt }
        const n = addThread('store.create', thread, row)
        if (n === undefined) return false
        for (const { columns } of rows) sql.addPacked.run(n, ...columns)
        for (const [key, seq] of keys) sql.addSignal.run(n, toColumn(key), seq)
        return true
      }),

    fork: (threadId, at, thread, { events, waiting, quotas }) => {
      const op = 'store.fork'
      return write(op, () => {
        const source = threadRow(threadId)
        if (!source) throw threadNotFound(op, threadId)
        const { head } = source
        if (at > head) throw badFork(op, threadId, { at, head })
        const [last] = at > 0 ? readFrom(op, threadId, { after: at - 1, limit: 1, split: true }) : []
        // The thread that holds the entry itself, so that the fork does not depend on others in
        // between.
        const [owner] = segmentsAfter(op, threadId, at - 1)
        const time = now()
        const n = addThread(op, thread, {
          time,
          bytes:
            bytesOfThread(thread.metadata) +
            sharedBytes(source.bytes, { at, head }) +
            sumOf(events, byteLength),
          quotas,
          queued: waiting,
          head: at + events.length,
          updatedAt: last?.at,
          base: owner && last && { thread: owner.thread, upTo: at },
        })
        if (n === undefined) return false
        for (const [index, event] of events.entries()) addEntry(n, at + 1 + index, last?.at ?? time, event)
        return true
      })
    },

    async delete(threadId) {
      const existed = await write('store.delete', () => {
        const row = threadRow(threadId)
        if (!row) return false
        // First, so that its own place is not reused.
        addNotice(threadId)
        spent.freeAll(row.n)
        moveTailOf(sql, row.n)
        sweep.hide(row)
        return true
      })
      if (existed) sweep.start()
      return existed
    },

    async append(batches) {
      const written = await write('store.append', () => appendAll(batches))
      tail.moveIfLong(batches.threads.length)
      return written
    },

    signal: (threadId, key, { event, patches, waiting, quotas, label, relabel }) => {
      const op = 'store.signal'
      return write(op, (): SignalResult => {
        const row = headOf(op, threadId)
        const { n, caller, untitled } = row
        const thread = { agent: fromColumn(row.agent), priority: priorityOf(row) }
        const known = sql.getSignal.get(n, toColumn(key)) as { seq: number } | undefined
        if (known) {
          const [entry] = readFrom(op, threadId, { after: known.seq - 1, limit: 1, split: true })
          return { ...thread, entry, seq: known.seq, at: 0, owned: true }
        }
        const at = now()
        if (caller !== null && quotas)
          checkQuotas(callers.usage(caller, at), quotas, inputQuotas, { op, time: at })
        const seq = row.head + 1
        const bytes = addEntry(n, seq, at, event)
        sql.growBySignal.run(seq, at, nextPlace(), at, bytes, waiting, n)
        if (label && (untitled || relabel)) setLabel(n, label)
        if (patches.length > 0) patch(threadId, patches)
        sql.addSignal.run(n, toColumn(key), seq)
        callers.count(caller, { bytes, waiting }, at)
        poller.ownWrite()
        return { ...thread, entry: undefined, seq, at, owned: row.owner !== null }
      })
    },

    claim: (threadId, owner, leaseMs, limits = {}) =>
      write('store.claim', () => {
        const time = now()
        const id = toColumn(threadId)
        const row = sql.headOf.get(id) as unknown as SignaledRow | undefined
        if (!row) return undefined
        const lease = {
          id,
          owner: toColumn(owner),
          due: Math.round(time + leaseMs),
          leaseMs: Math.round(leaseMs),
        }
        const claimed =
          row.owner === lease.owner
            ? sql.claimAgain.get(lease)
            : isFull(row, limits, time)
              ? undefined
              : sql.claim.get({ ...lease, now: time })
        if (!claimed) return undefined
        const { epoch, losses } = claimed as { epoch: number; losses: number }
        return { lease: { threadId, owner, epoch }, losses }
      }),

    renew: (leases, leaseMs) =>
      write('store.renew', () => {
        const columns = [Math.round(now() + leaseMs), Math.round(leaseMs)] as const
        // While something runs here, poll often for changes by other processes.
        if (leases.length > 0) poller.ownWrite()
        return leases.flatMap((lease, index) =>
          sql.renew.run(...columns, ...leaseColumns(lease)).changes === 0 ? index : [],
        )
      }),

    release: (lease, { head, status, facts }) => {
      const runnable = status === 'runnable'
      return write('store.release', () => {
        const columns = leaseColumns(lease)
        const released = sql.release.get(
          runnable ? now() : null,
          runnable ? null : status,
          ...columns,
          head,
        ) as { n: number } | undefined
        if (!released) {
          if (sql.ownsThread.get(...columns)) return 'moved'
          // It was released before, and this is a repetition.
          return sql.wasReleased.get(columns[0], columns[1]) ? 'released' : 'fenced'
        }
        owned.delete(lease.threadId)
        spent.freeAll(released.n)
        if (facts) addFacts(released.n, facts)
        if (runnable) addNotice(lease.threadId)
        return 'released'
      })
    },

    saveFacts: (lease, facts) =>
      writeLater('store.saveFacts', () => {
        const thread = sql.headByLease.get(...leaseColumns(lease)) as unknown as LeasedRow | undefined
        if (!thread) return 'fenced'
        addFacts(thread.n, facts)
        return 'saved'
      }),

    reserve: (rate, amount) => {
      const name = toColumn(rate.name)
      return write('store.reserve', () => {
        const row = (sql.rateOf.get(name) ?? {}) as { freeAt?: number }
        const { freeAt, waitMs } = reserveAt(rate, amount, { freeAt: row.freeAt ?? 0, now: now() })
        sql.setRate.run(name, freeAt)
        return waitMs
      })
    },

    hold: spent.hold,

    saveSnapshot: snapshotWriter(database, queue),

    async packDeltas(threadId, upTo) {
      const op = 'store.packDeltas'
      const origin = originIn(path, op, threadId)
      const slice = () => packSlice({ statements: sql, callers, time: now() }, upTo, origin)
      while (await writeLater(op, slice)) {}
    },

    async sweep() {
      sweep.start()
    },

    async watch(after) {
      poller.start(after)
    },
    async unwatch() {
      poller.stop()
    },

    async close() {
      poller.stop()
      await tail.moveAll()
      await queue.close()
    },
  }
}
