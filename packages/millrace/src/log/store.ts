import type { Entry, ThreadEvent, ThreadInfo, ThreadPage, ThreadStatus } from '../protocol/index.ts'

/** How a thread is listed and found. Both texts come from the app. */
export interface ThreadLabel {
  readonly title?: string | undefined
  /** What a search looks through. It is well-formed and has no NUL, so that any database can keep it. */
  readonly search: string
}

export interface NewThread extends Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom'> {
  /** Without it the thread has no title and no search finds it. */
  readonly label?: ThreadLabel | undefined
  /** Who the thread counts for; its user if absent. Without either it is neither counted nor limited. */
  readonly caller?: string | undefined
}

/** A thread as a store knows it. */
export interface StoredThread extends ThreadInfo {
  /** About the length of its log, with the part that a fork shares with another thread. */
  readonly bytes: number
  /** Who it counts for. */
  readonly caller?: string | undefined
}

/** What each caller may use, over all processes. */
export interface Quotas {
  /** Runs at once. */
  readonly runs: number
  /** Messages that wait for a run. */
  readonly waiting: number
  /** Bytes of the logs of all its threads. */
  readonly storedBytes: number
  /** Bytes written to its logs in a minute. */
  readonly bytesPerMinute: number
  /** Tokens of models in a minute, where they are known. */
  readonly tokensPerMinute: number
}

/** What a caller uses of its quotas. Minutes are those of the clock. */
export interface CallerUsage {
  readonly runs: number
  readonly waiting: number
  readonly storedBytes: number
  readonly bytesThisMinute: number
  readonly tokensThisMinute: number
}

export interface CreateOptions {
  /** The log begins as theirs does. */
  readonly entries?: readonly Entry[] | undefined
  readonly quotas?: Quotas | undefined
}

export interface ForkOptions {
  /** Written behind the number, at the time of the entry before. */
  readonly events?: readonly ThreadEvent[] | undefined
  /** How many messages wait for a run at the number. */
  readonly waiting?: number | undefined
  /** `storedBytes` and `bytesPerMinute` are checked. */
  readonly quotas?: Quotas | undefined
}

export interface SignalOptions {
  /** All but `runs` are checked, before anything new is written. */
  readonly quotas?: Quotas | undefined
  /** Becomes that of the thread if it has no title yet. */
  readonly label?: ThreadLabel | undefined
}

/** The right to write to a thread's log: that of one owner, until somebody else has claimed it. */
export interface Lease {
  readonly threadId: string
  readonly owner: string
  readonly epoch: number
}

export interface Batch {
  readonly lease: Lease
  readonly events: readonly ThreadEvent[]
}

export interface ListOptions {
  readonly limit: number
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  /** Texts that must all occur, to the letter, in the `search` of a thread's label. */
  readonly search?: readonly string[] | undefined
}

/** Texts are the caller's own and mean nothing to a store. */
export interface SnapshotWrite {
  readonly parts: Iterable<readonly [name: string, text: string]>
  readonly head?: { readonly seq: number; readonly state: string } | undefined
}

export type WatchListener = (threadId: string, head?: number) => void

/**
 * Where threads are kept. Several apps, in several processes, may use one store at the same time.
 *
 * Every promise that resolves is durable. What fails rejects with a `MillraceError`: `not_found` where a thread is named that
 * is not there, `rate_limit` where a quota is used up, else `store_error` with what is wrong and what to do; then nothing of that
 * call was written. A store gets its time from one clock of its own, so that leases of all its users can be compared.
 *
 * A store counts what callers use. Where it is passed quotas it checks them in the same transaction as it writes, so that several
 * processes cannot exceed them together. A quota is used up when the caller has reached it: the call before may go beyond.
 * Stored bytes are the lengths of events as JSON, and about 256 for each thread with its metadata. A fork counts what it shares as if it
 * were a copy, since that stays as long as the fork does. A message waits from its `signal` until it is among the `heard` of an appended
 * `run-start` or `round-start`. A run is a lease that has not expired.
 */
export interface ThreadStore {
  /**
   * False if there is one of that id. With `entries` numbers, times and joins are kept, and the thread is runnable, since they may
   * leave something to do. Of the quotas `storedBytes` and `bytesPerMinute` are checked.
   */
  create(thread: NewThread, options?: CreateOptions): Promise<boolean>
  /**
   * Makes a thread whose log begins with that of another up to a number. It refers to those entries and copies none, so it takes the
   * same time at any number. It is runnable unless its log is empty. False if there is a thread of that id.
   */
  fork(threadId: string, at: number, thread: NewThread, options?: ForkOptions): Promise<boolean>
  get(threadId: string): Promise<StoredThread | undefined>
  /**
   * Those changed last come first. A search looks at every thread until the page is full; it lets other work go on meanwhile, and one
   * that changes under it may be missing, as between two pages.
   */
  list(options: ListOptions): Promise<ThreadPage>
  /**
   * With its log, whose room is given back soon after; where forks share a part of it, that part stays until the last of them is
   * deleted. Its owner is fenced. False if there was no such thread.
   */
  delete(threadId: string): Promise<boolean>

  /**
   * Writes to several logs in one commit. For each batch: the numbered entries, one for each event; or `fenced` if the lease
   * is not the thread's last any more (or the thread is gone) and nothing was written for it. A lease that has run out and
   * that nobody claimed is as good as ever.
   */
  append(batches: readonly Batch[]): Promise<readonly (readonly Entry[] | 'fenced')[]>
  /**
   * Writes one event from outside, whoever owns the thread, and makes the thread runnable. The same key a second time writes
   * nothing and gives the number of the first.
   */
  signal(
    threadId: string,
    key: string | undefined,
    event: ThreadEvent,
    options?: SignalOptions,
  ): Promise<{ readonly entry: Entry; readonly repeated: boolean }>
  /**
   * What comes after a number, in order, at most about `limit` entries. The first begins right after it, cut if need be. With
   * `split` the deltas that `compact` has joined come apart again, each with its own number and time.
   */
  read(
    threadId: string,
    options: { readonly after: number; readonly limit: number; readonly split?: boolean | undefined },
  ): Promise<readonly Entry[]>

  /**
   * Makes `owner` the one that writes, if the thread is runnable and nobody else is, or its owner's lease has run out. `losses`
   * counts the owners in a row that did not give it back: their processes are gone. Undefined if there is nothing to do, another
   * owner does it, the thread is gone, or its caller has `runs` runs already.
   */
  claim(
    threadId: string,
    owner: string,
    leaseMs: number,
    runs?: number,
  ): Promise<{ readonly lease: Lease; readonly losses: number } | undefined>
  /** Lengthens leases. Gives those that are somebody else's by now. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly Lease[]>
  /**
   * Gives a thread back, if its head is still the one that was folded: `moved` if something came in meanwhile, and the lease
   * stays. `runnable` leaves it for the next owner to go on with; else nobody needs to until the next signal.
   */
  release(
    lease: Lease,
    left: { readonly head: number; readonly status: 'idle' | 'waiting' | 'runnable' },
  ): Promise<'released' | 'moved' | 'fenced'>
  /**
   * Threads of these agents that are runnable and have no owner, or whose owner's lease has run out, in the order in which to claim
   * them: each time one of the caller that then has the fewest runs, and of its threads the one that has waited longest. No more
   * of a caller than would give it `runs` runs. Threads without a caller take turns with the others as if they were those of one
   * that has no other runs and no limit.
   */
  stranded(limit: number, agents: readonly string[], runs?: number): Promise<readonly string[]>
  /** What a caller uses now. */
  usage(caller: string): Promise<CallerUsage>

  /**
   * The head of the last snapshot up to a number (to the end of the log if absent): a fold of the log up to `seq`. Where a fork has none
   * of its own it is one of the thread that it shares its log with, up to the number of the fork. Undefined if there is no snapshot, or
   * no such thread.
   */
  snapshot(
    threadId: string,
    upTo?: number,
  ): Promise<{ readonly seq: number; readonly state: string } | undefined>
  /** A part by its name; where a fork has not written one of that name, that of the thread that it shares its log with. */
  snapshotPart(threadId: string, name: string): Promise<string | undefined>
  /**
   * Writes parts of a snapshot, and with `head` one more head: all of it or nothing. Other parts and the heads of other numbers stay as
   * they are. `fenced` as for `append`. Snapshots are deleted with their thread, as its log is. They may be lost, the log must not.
   */
  saveSnapshot(lease: Lease, snapshot: SnapshotWrite): Promise<'saved' | 'fenced'>

  /**
   * Joins deltas that stand side by side among the entries with numbers up to `upTo`, so that the log takes less room; in a fork, among
   * those that were written to it. Nothing is lost: what a reader gets from any number on is the same text, and with `split` the same
   * entries.
   */
  compact(threadId: string, upTo: number): Promise<void>
  /**
   * Tells of threads whose log has grown, that became runnable or are gone, through whomever, own writes included or not; soon,
   * and possibly more often than needed. `head`, where it is known, is how far the log had grown. Gives a function that ends it.
   */
  watch(listener: WatchListener): () => void
  /** Lets go of everything. Calls after it reject with `store_error`. */
  close(): Promise<void>
}
