import type {
  Entry,
  Limits,
  Outcome,
  ReachedLimit,
  SpendingOptions,
  SpendingRow,
  ThreadEvent,
  ThreadInfo,
  ThreadPage,
  ThreadStatus,
} from '../protocol/index.ts'

/** How a thread is listed and searched. The app provides both texts. */
export interface ThreadLabel {
  readonly title?: string | undefined
  /**
   * The text that searches match against. It is well-formed and has no NUL, so that any database
   * can store it.
   */
  readonly search: string
}

/** `metadata` is as after the thread's first entries, if it has any. */
export interface NewThread extends Pick<ThreadInfo, 'id' | 'agent' | 'user' | 'metadata' | 'forkedFrom'> {
  /** Without it the thread has no title and searches do not find it. */
  readonly label?: ThreadLabel | undefined
  /**
   * The caller whose quotas the thread counts toward; the user if absent. Without either, the
   * thread is not counted or limited.
   */
  readonly caller?: string | undefined
  /** Default: `interactive`. */
  readonly priority?: Priority | undefined
}

/** A `batch` thread, for which no user is waiting, runs when no other thread can. */
export type Priority = 'interactive' | 'batch'

/** A thread, with what the store tracks about it. */
export interface StoredThread extends ThreadInfo {
  /** Approximate length of its log, including the part that a fork shares with another thread. */
  readonly bytes: number
  /** The caller whose quotas it counts toward. */
  readonly caller?: string | undefined
  readonly priority: Priority
}

/** What each caller may use, across all processes. */
export interface Quotas {
  /** Concurrent runs. */
  readonly runs: number
  /** Messages waiting for a run. */
  readonly waiting: number
  /** Bytes stored in the logs of all its threads. */
  readonly storedBytes: number
  /** Bytes written to its logs per minute. */
  readonly bytesPerMinute: number
  /** Model tokens per minute, as far as providers report them. */
  readonly tokensPerMinute: number
}

/** What a caller uses of its quotas. A minute is a clock minute. */
export interface CallerUsage {
  readonly runs: number
  readonly waiting: number
  readonly storedBytes: number
  readonly bytesThisMinute: number
  readonly tokensThisMinute: number
}

export interface CreateOptions {
  /** The log starts with these entries. */
  readonly entries?: readonly Entry[] | undefined
  /** The keys of signals among the entries, with the entries' numbers: see `keys()`. */
  readonly keys?: ReadonlyMap<string, number> | undefined
  /** Now if absent. */
  readonly createdAt?: number | undefined
  readonly quotas?: Quotas | undefined
}

export interface ForkOptions {
  /** Appended after the fork point, with the time of the entry there. */
  readonly events?: readonly ThreadEvent[] | undefined
  /** How many messages are waiting for a run at the fork point. */
  readonly waiting?: number | undefined
  /** Only `storedBytes` and `bytesPerMinute` are checked. */
  readonly quotas?: Quotas | undefined
}

export interface SignalOptions {
  /** All but `runs` are checked, before anything new is written. */
  readonly quotas?: Quotas | undefined
  /** Set as the thread's label if it has no title yet, or if `relabel` is true. */
  readonly label?: ThreadLabel | undefined
  readonly relabel?: boolean | undefined
}

/**
 * The right to write to a thread's log. It belongs to one owner until another one claims the
 * thread.
 */
export interface Lease {
  readonly threadId: string
  readonly owner: string
  readonly epoch: number
}

export interface Batch {
  readonly lease: Lease
  /** Counts the batches of the lease, from 1. Not used if there are no events. */
  readonly number: number
  readonly events: readonly ThreadEvent[]
  /** The ids of holds that end with this batch, since its events say what was spent. */
  readonly freed?: readonly string[] | undefined
}

/** Limits for what a user or an agent may spend per day. */
export interface DayLimit {
  readonly scope: 'user' | 'agent'
  readonly name: string
  readonly limits: Limits
}

/** What a request may spend, reserved before it is sent. */
export interface Hold {
  /** Unique among the holds of a lease. Repeating it replaces the hold. */
  readonly id: string
  /** What the request uses at least and at most. */
  readonly least: Limits
  readonly most: Limits
  readonly limits: readonly DayLimit[]
}

/**
 * - `held`: the request may be sent. `toolCalls` is the limit for the calls that follow, if there is
 *   one
 * - `wait`: what is left is held by other requests: try again soon
 * - `reached`: a limit is reached
 * - `fenced`: as from `append`
 */
export type HoldResult =
  | { readonly type: 'held'; readonly toolCalls?: ReachedLimit | undefined }
  | { readonly type: 'wait' | 'fenced' }
  | { readonly type: 'reached'; readonly limit: ReachedLimit }

/**
 * The numbered entries of a batch, one per event. `fenced` if the lease is no longer the thread's
 * latest, or the thread was deleted. `busy` if another write to the thread is in progress. With
 * either, nothing was written.
 */
export type AppendResult = readonly Entry[] | 'fenced' | 'busy'

/** Which threads may run. */
export interface RunLimits {
  /** How many runs a caller may have, across all processes. */
  readonly perCaller?: number | undefined
  /** How many runs an agent may have, across all processes. */
  readonly perAgent?: Readonly<Record<string, number>> | undefined
}

/** What a signal has written, and what it has written to. */
export interface Signaled extends Pick<StoredThread, 'agent' | 'priority'> {
  readonly entry: Entry
  readonly repeated: boolean
}

/** An entry that was written with a key. */
export interface KeyedEntry {
  readonly threadId: string
  readonly seq: number
}

/**
 * What lists show and searches find of a thread, beyond its label. A worker saves it when the thread
 * comes to rest, so that no list has to read a log.
 */
export interface ThreadFacts {
  /** How its last run ended; `suspended` while that waits for a person. */
  readonly outcome?: Outcome | undefined
  readonly error?: string | undefined
  /** The known part of its cost so far, in nano-dollars. */
  readonly nanos: number
  /** The tools that have run since the last facts. They are added to those before. */
  readonly tools: readonly string[]
  /**
   * Messages and answers since the last facts. Those with a known `seq` are ignored, and in a fork
   * those up to the number that it shares: the thread that holds them has them.
   */
  readonly texts: readonly ThreadText[]
}

/** A message or an answer, for searches. Both texts are well-formed and have no NUL. */
export interface ThreadText {
  /** The number of the `input` or `round-end`. */
  readonly seq: number
  readonly text: string
  /** The text in the form in which searches match it: see `foldText`. Of about the same length. */
  readonly search: string
}

/** A thread that can be claimed. */
export interface RunnableThread {
  readonly id: string
  readonly agent: string
  readonly head: number
  readonly priority: Priority
  /** For how many milliseconds it has been runnable, or its lease has been expired. */
  readonly waitedMs: number
}

export interface ListOptions {
  readonly limit: number
  /** The `next` of the previous page. */
  readonly cursor?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  /**
   * Texts that must all occur, exactly as written, in the `search` of a thread's label or of its
   * texts, each in any of them. The texts of a fork include those it shares.
   */
  readonly search?: readonly string[] | undefined
  /** Only threads that rest, and whose last run ended like this. */
  readonly outcome?: Outcome | undefined
  /** Only threads that rest, and whose last run failed with this error code. */
  readonly error?: string | undefined
  /** Only threads in which this tool has run. */
  readonly tool?: string | undefined
  /** Only threads that have cost at least this much, in nano-dollars, as far as that is known. */
  readonly minNanos?: number | undefined
  /** Only threads with an `updatedAt` in this range, which includes both ends. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** The texts are opaque to the store. */
export interface SnapshotWrite {
  readonly parts: Iterable<readonly [name: string, text: string]>
  readonly head?: { readonly seq: number; readonly state: string } | undefined
}

/** An amount per minute that all processes share. */
export interface SharedRate {
  readonly name: string
  readonly perMinute: number
  /** How much is available at once after a pause. */
  readonly burst: number
}

/** What a process wants to hear of. It may be called more often than needed. */
export interface Watcher {
  /**
   * Called soon after the log of a followed thread has grown, or the thread was deleted, by any
   * process; this store's own writes may or may not be included. `head`, if known, is the length of
   * the log at that time; a deletion has none.
   */
  readonly changed?: ((threadId: string, head?: number) => void) | undefined
  /** Called soon after any thread has become runnable. */
  readonly runnable?: (() => void) | undefined
  /** Called when changes may have been missed, such as while a connection was lost. */
  readonly missed?: (() => void) | undefined
}

export interface Watch {
  /**
   * Whether each change is reported unless something is wrong. Then changes that were not reported
   * are looked for less often.
   */
  readonly isReliable?: boolean | undefined
  /** Reports changes of this thread from now on. */
  follow(threadId: string): void
  unfollow(threadId: string): void
  close(): void
}

/**
 * Stores threads. Several apps, in several processes, may use one store at the same time.
 *
 * A write is durable when its promise resolves. Failures reject with a `MillraceError`: `not_found`
 * if the named thread does not exist, `rate_limit` if a quota is used up, otherwise `store_error`
 * with what is wrong and what to do. After a `store_error`, the write may have happened: over a
 * network, an acknowledgement can be lost. Every write to an existing thread can therefore be
 * repeated with the same arguments, and then writes nothing twice and returns the same as before. A
 * store takes the time from a single clock, so that the leases of all its users can be compared.
 *
 * The metadata of a thread changes with each `metadata` event that `append` and `signal` write, in
 * the same transaction: `patchedThread` returns it, and the text that searches match from then on.
 *
 * A store counts what callers use. When it is passed quotas, it checks them in the same transaction
 * as the write, so that several processes together cannot exceed them. A quota is used up when the
 * caller has reached it; the call that reaches it may overshoot. Stored bytes are the lengths of
 * events as JSON, plus about 256 per thread and the metadata it was created with. A fork counts
 * what it shares as if it were a copy, since the shared part is kept for as long as the fork exists.
 * A message waits from its `signal` until an appended `run-start` or `round-start` names it in
 * `inputs`. A run is a lease that has not expired.
 */
export interface ThreadStore {
  /**
   * Returns false if the id is taken. With `entries`, their numbers, times and joins are kept, and
   * the thread is runnable, since they may leave something to do. Only the quotas `storedBytes` and
   * `bytesPerMinute` are checked.
   */
  create(thread: NewThread, options?: CreateOptions): Promise<boolean>
  /**
   * Creates a thread whose log starts with the log of another thread up to a number. It refers to
   * those entries instead of copying them, so it takes the same time at any number. The fork is
   * runnable unless its log is empty. Returns false if the id is taken.
   */
  fork(threadId: string, at: number, thread: NewThread, options?: ForkOptions): Promise<boolean>
  get(threadId: string): Promise<StoredThread | undefined>
  /**
   * Lists the most recently changed threads first. A search, or a filter other than `user`, `agent`
   * and `status`, scans threads until the page is full, and yields to other work while it does. If
   * that takes seconds, the page has fewer threads than its limit, or none, and a `next`. A thread
   * that changes during the scan may be missing, just as between two pages. In a search, a
   * thread has a `match` if its label does not contain all of the texts: the first one that is
   * missing there, in the latest text that contains it.
   */
  list(options: ListOptions): Promise<ThreadPage>
  /**
   * Deletes a thread and its log. The space is reclaimed soon after. A part of the log that forks
   * share is kept until the last of them is deleted. The thread's owner is fenced. Returns false if
   * there was no such thread.
   */
  delete(threadId: string): Promise<boolean>

  /**
   * Writes to several logs in one commit, at most one batch for each lease. A thread that cannot be
   * written right now does not delay the others. Repeating the last batch of a lease returns its
   * entries again; a number that is neither this one nor the next is a `store_error`. An expired
   * lease stays valid until another owner claims the thread.
   */
  append(batches: readonly Batch[]): Promise<readonly AppendResult[]>
  /**
   * Writes one event from outside a run, whichever owner the thread has, and makes the thread
   * runnable. Repeating a key writes nothing and returns the entry of the first call.
   */
  signal(threadId: string, key: string, event: ThreadEvent, options?: SignalOptions): Promise<Signaled>
  /**
   * Returns the entries after a number, in order, about `limit` at most. The first one starts right
   * after that number and is cut if necessary. With `split`, deltas that `packDeltas` has joined
   * are returned separately again, each with its own number and time.
   */
  read(
    threadId: string,
    options: { readonly after: number; readonly limit: number; readonly split?: boolean | undefined },
  ): Promise<readonly Entry[]>

  /** Returns the lengths of these logs. Threads that do not exist are missing. */
  heads(threadIds: readonly string[]): Promise<ReadonlyMap<string, number>>

  /**
   * Makes `owner` the owner of a thread that is runnable and has no owner, or whose owner's lease
   * has expired. Each claim has an owner of its own: repeating the claim returns the same lease
   * again, extended. `losses` counts consecutive owners that did not release the thread, because
   * their processes died. Returns undefined if there is nothing to do, another process owns the
   * thread, it was deleted, or a limit is reached.
   */
  claim(
    threadId: string,
    owner: string,
    leaseMs: number,
    limits?: RunLimits,
  ): Promise<{ readonly lease: Lease; readonly losses: number } | undefined>
  /** Extends leases. Returns those that another owner has claimed. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly Lease[]>
  /**
   * Releases a thread if its head is still the one that was folded. Otherwise returns `moved`, and
   * the caller keeps the lease. `runnable` leaves work for the next owner; with the other statuses
   * the thread rests until the next signal.
   */
  release(
    lease: Lease,
    left: {
      readonly head: number
      readonly status: 'idle' | 'waiting' | 'runnable'
      /** Saved if the thread is released. */
      readonly facts?: ThreadFacts | undefined
    },
  ): Promise<'released' | 'moved' | 'fenced'>
  /**
   * Saves the facts of a thread during a run. Returns `fenced` as `append` does. Facts are deleted
   * with their thread.
   */
  saveFacts(lease: Lease, facts: ThreadFacts): Promise<'saved' | 'fenced'>
  /**
   * Finds threads of these agents that are runnable and have no owner, or whose owner's lease has
   * expired, in the order in which to claim them: interactive threads before batches. Among them,
   * each one comes from the caller that then has the fewest runs, and is the thread of that caller
   * that has waited longest. A caller gets no more threads than its limit allows, and an agent that
   * has reached its limit gets none. Threads without a caller take turns with the others as if they
   * belonged to one caller with no other runs and no limit.
   */
  findRunnable(
    limit: number,
    agents: readonly string[],
    limits?: RunLimits,
  ): Promise<readonly RunnableThread[]>
  /**
   * Returns threads that have not changed for this long and are neither running nor queued, the
   * oldest first. A thread counts as changed when it was created here.
   */
  findUnchanged(forMs: number, limit: number): Promise<readonly string[]>
  /**
   * Returns the keys of a thread's signals, with the numbers of their entries. With `key`, only that
   * one, in the same time however many there are.
   */
  keys(threadId: string, key?: string): Promise<ReadonlyMap<string, number>>
  /**
   * Returns the threads that have a signal with this key, at most `limit`, and the numbers of its
   * entries. The threads that were created last come first. Takes the same time however many
   * threads there are. A fork does not have the keys of the entries it shares.
   */
  findKey(key: string, limit: number): Promise<readonly KeyedEntry[]>
  /**
   * Reserves an amount of a rate that all processes share. Returns for how many milliseconds to
   * wait before using it. An amount of 0 waits until what others have reserved allows for more, and
   * reserves nothing. A negative amount returns what was reserved but not used. Not repeatable: each
   * call reserves again.
   */
  reserve(rate: SharedRate, amount: number): Promise<number>
  /** Returns what a caller uses now. */
  usage(caller: string): Promise<CallerUsage>
  /**
   * Reserves what a request may spend today, in the name of its thread. A hold ends with a batch
   * that frees it, with the release of the thread or, if the thread has a new owner, with that
   * owner's first hold. A hold whose lease expired a minute ago is ignored. Whether it is granted:
   * see `decideHold`.
   */
  hold(lease: Lease, hold: Hold): Promise<HoldResult>
  /**
   * Returns what was spent, in the order of the keys. It is counted in the transaction that appends
   * the event which reports it, and stays when a thread is deleted. Does not read any log.
   */
  spending(options: SpendingOptions): Promise<readonly SpendingRow[]>

  /**
   * Returns the head of the last snapshot up to a number, or up to the end of the log: a fold of
   * the log up to `seq`. A fork without a snapshot of its own uses those of the thread it shares
   * its log with, up to the fork point. Returns undefined if there is no snapshot or no such
   * thread.
   */
  snapshot(
    threadId: string,
    upTo?: number,
  ): Promise<{ readonly seq: number; readonly state: string } | undefined>
  /**
   * Returns a part by its name. If a fork has not written a part with that name, returns that of
   * the thread it shares its log with.
   */
  snapshotPart(threadId: string, name: string): Promise<string | undefined>
  /**
   * Writes parts of a snapshot and, with `head`, one more head: all of it or nothing. Other parts
   * and other heads stay as they are. Returns `fenced` as `append` does. Snapshots are deleted with
   * their thread. Losing a snapshot is harmless; losing log entries is not.
   */
  saveSnapshot(lease: Lease, snapshot: SnapshotWrite): Promise<'saved' | 'fenced'>

  /**
   * Joins adjacent deltas among the entries up to `upTo`, so that the log takes less space. In a
   * fork, only entries written to the fork itself are joined. Nothing is lost: from any number on,
   * a reader gets the same text, and with `split` the same entries.
   */
  packDeltas(threadId: string, upTo: number): Promise<void>
  /** Starts to report changes. A notification can be lost; `heads` and `findRunnable` find what was. */
  watch(watcher: Watcher): Watch
  /** Releases all resources. Later calls reject with `store_error`. */
  close(): Promise<void>
}
