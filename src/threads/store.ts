import type { Entry, ThreadEvent, ThreadInfo, ThreadPage, ThreadStatus } from '../protocol/index.ts'

export interface NewThread extends Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom'> {
  /** Who the thread counts for; its user if absent. Without either it is neither counted nor limited. */
  readonly caller?: string | undefined
}

/** A thread as a store knows it. */
export interface StoredThread extends ThreadInfo {
  /** The length of its log. */
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
  /** Words that must all occur in title, id, agent or values of the metadata, by the rule of `searchText` and `searchWords`. */
  readonly search?: string | undefined
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
 * Stored bytes are the lengths of events as JSON, and about 256 for each thread with its metadata. A message waits from its `signal`
 * until it is among the `heard` of an appended `run-start` or `round-start`. A run is a lease that has not expired.
 */
export interface ThreadStore {
  /**
   * False if there is one of that id. With `entries` numbers, times and joins are kept, and the thread is runnable, since they may
   * leave something to do. Of the quotas `storedBytes` and `bytesPerMinute` are checked.
   */
  create(thread: NewThread, options?: CreateOptions): Promise<boolean>
  /**
   * Makes a thread whose log is that of another up to a number, with a `stop` behind it if a run was under way there. It takes as
   * long as the log is long, lets other work go on meanwhile, and the thread is there only when it is complete. False if there is
   * one of that id. Of the quotas `storedBytes` and `bytesPerMinute` are checked.
   */
  fork(threadId: string, at: number, thread: NewThread, quotas?: Quotas): Promise<boolean>
  /** Its `title` is kept with it, as `titleOf` makes it of its entries, however they came: by `create`, `signal` or `append`. */
  get(threadId: string): Promise<StoredThread | undefined>
  /**
   * Those changed last come first. A search looks at every thread until the page is full; it lets other work go on meanwhile, and one
   * that changes under it may be missing, as between two pages.
   */
  list(options: ListOptions): Promise<ThreadPage>
  /** With its log, whose room is given back soon after. Its owner is fenced. False if there was no such thread. */
  delete(threadId: string): Promise<boolean>

  /**
   * Writes to several logs in one commit. For each batch: the numbered entries, one for each event; or `fenced` if the lease
   * is not the thread's last any more (or the thread is gone) and nothing was written for it. A lease that has run out and
   * that nobody claimed is as good as ever.
   */
  append(batches: readonly Batch[]): Promise<readonly (readonly Entry[] | 'fenced')[]>
  /**
   * Writes one event from outside, whoever owns the thread, and makes the thread runnable. The same key a second time writes
   * nothing and gives the number of the first. All quotas but `runs` are checked, before anything new is written.
   */
  signal(
    threadId: string,
    key: string | undefined,
    event: ThreadEvent,
    quotas?: Quotas,
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

  /** The head of the thread's last snapshot: a fold of its log up to `seq`. Undefined if it has no snapshot, or there is no such thread. */
  snapshot(threadId: string): Promise<{ readonly seq: number; readonly state: string } | undefined>
  /** A part of it by its name. */
  snapshotPart(threadId: string, name: string): Promise<string | undefined>
  /**
   * Writes parts of a snapshot, and with `head` what `snapshot()` gives from then on: all of it or nothing. Others of its parts stay as
   * they are. `fenced` as for `append`. A snapshot goes with its thread; a fork has none at first. It may be lost, the log must not.
   */
  saveSnapshot(lease: Lease, snapshot: SnapshotWrite): Promise<'saved' | 'fenced'>

  /**
   * Joins deltas that stand side by side among the entries with numbers up to `upTo`, so that the log takes less room. Nothing
   * is lost: what a reader gets from any number on is the same text, and with `split` the same entries.
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
