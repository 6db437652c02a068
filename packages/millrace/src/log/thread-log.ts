import type { Entry, MillraceError, RunEvent, RunState, ThreadEvent, ThreadState } from '../protocol/index.ts'
import {
  answerKey,
  applyAppended,
  applyEntry,
  applyNumber,
  dropForgotten,
  emptyThread,
  savedMessages,
} from '../protocol/index.ts'
import { deltaBuffer } from './delta-buffer.ts'
import { entryBytes } from './entry-bytes.ts'
import type { FactFinder } from './facts.ts'
import { factFinder } from './facts.ts'
import type { Followers } from './followers.ts'
import type { GroupCommit } from './group-commit.ts'
import type { LiveLog } from './live-log.ts'
import type { Log } from './read-log.ts'
import { readLog } from './read-log.ts'
import { isLong, saveSnapshot } from './save-snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { fromSnapshot, restore } from './snapshot.ts'
import type { Lease, ThreadFacts, ThreadStore } from './store.ts'

/** The log of a thread, for the owner of its lease. Readers get an entry once it is durable. */
export interface ThreadLog extends LiveLog {
  /** Resolves when everything appended is durable, or no more can be written. */
  commit(): Promise<void>
  /** Resolves when the state has reached the number of everything that is durable, or the log is closed. */
  settled(): Promise<void>
  /** Resolves when the state is past this number, or the log is closed. */
  passed(head: number): Promise<void>
  /** Ends a hold of the lease as soon as everything appended so far is durable. */
  free(hold: string): void
  /** The facts of the thread, as they are now. Call `known` when they are saved. */
  facts(): { readonly facts: ThreadFacts; known(): void }
  /** Saves a snapshot if enough was added since the last one. Rejects if the store fails. */
  save(): Promise<void>
  /**
   * Closes the log and discards what has not been written yet. The state is cached for the next
   * owner unless it is `lost`.
   */
  close(options?: { readonly lost?: boolean }): void
}

interface OpenOptions {
  readonly thread: ThreadKey
  /** Called with the approximate number of bytes added to the log. */
  readonly onGrown: (bytes: number) => void
  /** Called when a snapshot could not be saved during a run. */
  readonly onError: (thrown: unknown) => void
  /**
   * Called once, when the log can no longer be written: `fenced` if another process owns the thread
   * or it was deleted.
   */
  readonly onLost: (why: 'fenced' | MillraceError) => void
}

/** Identifies a thread, even if it was deleted and another one was created under its id. */
interface ThreadKey {
  readonly id: string
  readonly createdAt: number
  /** The caller it is folded for, if known. */
  readonly caller?: string | undefined
}

/** The threads that this process has folded: those being worked on, and a cache of others. */
export interface ThreadLogs {
  /**
   * Returns the state of a thread, with at least the entries up to `head`. It is valid only in the
   * current turn of the event loop: the worker of the thread may change it.
   */
  state(thread: ThreadKey, head: number): Promise<ThreadState>
  /** Opens the log of a thread for the owner of its lease. */
  open(lease: Lease, options: OpenOptions): Promise<ThreadLog>
  deleted(threadId: string): void
}

/** A folded thread, and what is needed to save it. */
interface Folded {
  readonly key: ThreadKey
  readonly state: ThreadState
  snapshot: Snapshot | undefined
  /** How many messages of the snapshot the conversation still has. */
  keep: number
  /** How much of each answer was played since the snapshot, by run and round. */
  played: Map<string, number>
  /** Approximate memory that the state takes, or less. */
  bytes: number
  /** What the store's facts of the thread do not include yet, or may not. */
  readonly found: FactFinder
}

/**
 * A snapshot is saved when a thread comes to rest, if at least this much was added since the last
 * one.
 */
const restingEntries = 500
const restingChars = 256 * 1024
/** The same during a run, between two rounds. */
const runningEntries = 5000
/** The same while a long log is folded, so that it need not be folded again or kept in memory. */
const foldingEntries = 20_000

export interface ThreadLogsOptions {
  readonly store: ThreadStore
  readonly followers: Followers
  readonly commits: GroupCommit
  /** How many bytes the cached states of threads may take. */
  readonly cacheBytes: number
}

export function threadLogs({ store, followers, commits, cacheBytes }: ThreadLogsOptions): ThreadLogs {
  /** Ordered by use, most recent last. */
  const cache = new Map<string, Folded>()
  let cachedBytes = 0
  /** Threads being folded, one reader after the other. */
  const busy = new Map<string, Promise<ThreadState | undefined>>()
  const open = new Map<string, ThreadLog>()

  const sizeOf = ({ bytes, found }: Folded) => bytes + 2 * found.chars

  function takeCached({ id, createdAt }: ThreadKey): Folded | undefined {
    const folded = cache.get(id)
    if (!folded) return undefined
    cache.delete(id)
    cachedBytes -= sizeOf(folded)
    return folded.key.createdAt === createdAt ? folded : undefined
  }

  function addToCache(folded: Folded) {
    const { id } = folded.key
    takeCached(folded.key)
    if (sizeOf(folded) > cacheBytes) return
    cache.set(id, folded)
    cachedBytes += sizeOf(folded)
    for (const [, { key }] of cache) {
      if (cachedBytes <= cacheBytes) return
      takeCached(key)
    }
  }

  /** Runs one piece of work at a time for each thread. */
  function oneAtATime<Value extends ThreadState | undefined>(
    id: string,
    work: () => Promise<Value>,
  ): Promise<Value> {
    const before = busy.get(id) ?? Promise.resolve()
    const turn = before.then(work, work)
    const settled = turn.catch(() => undefined)
    busy.set(id, settled)
    void settled.then(() => {
      if (busy.get(id) === settled) busy.delete(id)
    })
    return turn
  }

  /** The state of a thread that is being worked on here. */
  async function liveState(id: string, head: number): Promise<ThreadState | undefined> {
    for (let log = open.get(id); log; log = open.get(id)) {
      if (log.state.head >= head) return log.state
      // Another process has written, and the change has not been reported yet. If it owns the
      // thread now, this log gets closed.
      followers.changed(id, head)
      await log.passed(head - 1)
    }
    return undefined
  }

  return {
    async state(thread, head) {
      const { id } = thread
      return (
        (await liveState(id, head)) ??
        oneAtATime(id, async () => {
          const live = await liveState(id, head)
          if (live) return live
          const folded = takeCached(thread) ?? (await loadFolded(logOf(store, thread), thread))
          await foldRest(logOf(store, thread), folded)
          addToCache(folded)
          return folded.state
        })
      )
    },

    async open(lease, options) {
      const { thread } = options
      const log = logOf(store, thread)
      let opened: ThreadLog | undefined
      let isClosed = false
      await oneAtATime(thread.id, async () => {
        const folded = takeCached(thread) ?? (await loadFolded(log, thread))
        opened = await threadLog(folded, {
          ...options,
          store,
          lease,
          commits,
          followers,
          onClose(isValid) {
            isClosed = true
            if (open.get(thread.id) === opened) open.delete(thread.id)
            if (isValid) addToCache(folded)
          },
        })
        // The log may be lost before it is open.
        if (!isClosed) open.set(thread.id, opened)
        return undefined
      })
      return opened as unknown as ThreadLog
    },

    deleted(threadId) {
      const folded = cache.get(threadId)
      if (folded) takeCached(folded.key)
    },
  }
}

function logOf(store: ThreadStore, { id, caller }: ThreadKey) {
  return { store, threadId: id, caller }
}

async function loadFolded(log: ReturnType<typeof logOf>, key: ThreadKey): Promise<Folded> {
  const restored = await fromSnapshot(log, async (snapshot) => {
    const state = await restore(log, snapshot)
    const { messages, calls } = snapshot.parts
    const bytes = [...messages, ...calls].reduce((sum, { chars }) => sum + 2 * chars, 0)
    return state && { state, snapshot, bytes }
  })
  const found = restored ?? { state: emptyThread(), snapshot: undefined, bytes: 0 }
  return { key, played: new Map(), keep: Number.POSITIVE_INFINITY, found: factFinder(), ...found }
}

/**
 * Folds the rest of the log. Calls `onRunEnd` after each run; if that returns false, stops and
 * returns false.
 */
async function foldRest(log: Log, folded: Folded, onRunEnd?: () => Promise<boolean>): Promise<boolean> {
  for await (const page of readLog(log, { after: folded.state.head }))
    for (const entry of page) {
      applyEntry(folded.state, entry)
      recordEntry(folded, entry)
      folded.bytes += entryBytes(entry)
      if (entry.event.type === 'run-end' && !((await onRunEnd?.()) ?? true)) return false
    }
  return true
}

function recordEntry(folded: Folded, entry: Entry) {
  const { event } = entry
  folded.found.add(entry)
  if (event.type === 'playback') folded.played.set(answerKey(event.run, event.round), event.chars)
  if (event.type === 'rewind') folded.keep = Math.min(folded.keep, event.keep ?? folded.keep)
}

interface ThreadLogOptions extends OpenOptions, Pick<ThreadLogsOptions, 'store' | 'followers' | 'commits'> {
  readonly lease: Lease
  readonly onClose: (isKept: boolean) => void
}

async function threadLog(folded: Folded, options: ThreadLogOptions): Promise<ThreadLog> {
  const { store, lease, followers, thread, onGrown } = options
  const { state } = folded
  const log = logOf(store, thread)
  /** The numbers of entries that were written by this log and not delivered back yet. */
  const own = new Set<number>()
  const waiting = new Set<() => void>()
  let closed = false
  let detach: (() => void) | undefined
  let saving: Promise<void> | undefined
  /**
   * During a run, nothing is saved before this number, so that a failed save is not retried with
   * every commit.
   */
  let saveFrom = 0
  const buffer = deltaBuffer((event) => applyAppended(state, event))
  const writer = options.commits.open(lease, {
    buffer,
    onWritten(entries) {
      for (const { seq } of entries) own.add(seq)
      followers.publish(thread.id, entries)
    },
    onLost: lose,
  })

  function lose(why: 'fenced' | MillraceError) {
    if (closed) return
    close({ lost: true })
    options.onLost(why)
  }

  function close({ lost = false } = {}) {
    if (closed) return
    closed = true
    writer.close()
    detach?.()
    for (const wake of waiting) wake()
    options.onClose(!lost)
  }

  function take(entries: readonly Entry[], bytes: number) {
    for (const entry of entries) {
      const isOwn = own.delete(entry.seq)
      // Only the owner of the thread writes the events of a run.
      if (!isOwn && !isSignal(entry.event)) return lose('fenced')
      if (isOwn) applyNumber(state, entry)
      else applyEntry(state, entry)
      recordEntry(folded, entry)
      if (!isOwn) self.onSignal?.(entry.event)
    }
    folded.bytes += bytes
    onGrown(bytes)
    for (const wake of waiting) wake()
    // Only then do all events in the state have a number.
    if (state.head >= saveFrom && addedEntries() >= runningEntries && own.size === 0 && writer.isDone)
      saveRunning()
  }

  /** Saves a snapshot during a run, if no round is being generated. */
  function saveRunning() {
    if (saving || !state.run || state.run.phase === 'generating') return
    saveFrom = state.head + runningEntries
    // A failure is harmless: the log has everything, and the next load only takes longer.
    saving = save()
      .catch(options.onError)
      .finally(() => {
        saving = undefined
      })
  }

  async function until(isTrue: () => boolean): Promise<void> {
    while (!closed && !isTrue())
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          resolve()
        }
        waiting.add(wake)
      })
  }

  function current() {
    buffer.settle()
    return state
  }

  async function save(): Promise<void> {
    // All of it would be part of the head, which is rewritten with each save.
    if (isLong(state.waiting, restingChars)) return
    // The next owner does not fold the part before the snapshot, so it would not find them.
    const { facts, known } = self.facts()
    if (facts.texts.length + facts.tools.length > 0) {
      if ((await store.saveFacts(lease, facts)) === 'fenced') return lose('fenced')
      known()
    }
    const { played, keep, snapshot: last } = folded
    folded.played = new Map()
    folded.keep = Number.POSITIVE_INFINITY
    let saved: Snapshot | 'fenced' | undefined
    try {
      saved = await saveSnapshot(state, { store, lease, last, keep, played })
    } finally {
      if (saved === undefined || saved === last) {
        folded.played = new Map([...played, ...folded.played])
        folded.keep = Math.min(keep, folded.keep)
      }
    }
    if (saved === 'fenced') return lose('fenced')
    if (saved && saved !== last && state.run) dropForgotten(state.run, saved.needed)
    folded.snapshot = saved
  }

  const addedEntries = () => state.head - (folded.snapshot?.thread.head ?? 0)

  const self: ThreadLog = {
    onSignal: undefined,
    get state() {
      return current()
    },
    get run() {
      return current().run as RunState
    },
    append(event: RunEvent) {
      if (closed) return
      buffer.push(event)
      writer.appended(event.type)
    },
    commit: writer.commit,
    free: writer.free,
    facts: () => folded.found.facts(current()),
    settled: () => until(() => own.size === 0),
    passed: (head) => until(() => state.head > head),
    async save() {
      await saving
      const hasGrown =
        addedEntries() >= restingEntries ||
        isLong(savedMessages(state, Math.min(folded.snapshot?.messages ?? 0, folded.keep)), restingChars)
      if (hasGrown) await save()
    },
    close,
  }

  async function saveFolding(): Promise<boolean> {
    if (addedEntries() >= foldingEntries) await save()
    return !closed
  }

  detach = await followers.attach(thread.id, {
    get head() {
      return state.head
    },
    get writing() {
      return writer.writing
    },
    readToEnd: () => foldRest(log, folded, saveFolding),
    take,
    // Without an error, the thread was deleted.
    end: (error) => lose(error ?? 'fenced'),
  })
  if (closed) detach()
  return self
}

/** Whether an event comes from outside a run. */
function isSignal({ type }: ThreadEvent): boolean {
  return ['input', 'approval', 'stop', 'playback', 'rewind', 'title', 'metadata', 'feedback'].includes(type)
}
