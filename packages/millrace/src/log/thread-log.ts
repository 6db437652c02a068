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
import { entryBytes } from './entry-bytes.ts'
import type { Followers } from './followers.ts'
import type { GroupCommit } from './group-commit.ts'
import type { LiveLog } from './live-log.ts'
import type { Log } from './read-log.ts'
import { readLog } from './read-log.ts'
import { isLong, saveSnapshot } from './save-snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { fromSnapshot, restore } from './snapshot.ts'
import type { Lease, ThreadStore } from './store.ts'
import { tail } from './tail.ts'

/** The log of a thread, for the owner of its lease. Readers get an entry when it is durable. */
export interface ThreadLog extends LiveLog {
  /** Resolves when everything that was appended is durable, or nothing can be any more. */
  commit(): Promise<void>
  /** Resolves when the state has reached the number of everything that is durable, or the log is closed. */
  settled(): Promise<void>
  /** Resolves when the state is past this number, or the log is closed. */
  passed(head: number): Promise<void>
  /** Saves a snapshot if enough was added since the last one. Rejects with what the store says. */
  save(): Promise<void>
  /** What was appended and is not written yet never will be. The state is kept for the next owner unless it is `lost`. */
  close(options?: { readonly lost?: boolean }): void
}

interface OpenOptions {
  readonly thread: ThreadKey
  /** About so many bytes were added to the log. */
  readonly onGrown: (bytes: number) => void
  /** Called when a snapshot could not be saved during a run. */
  readonly onError: (thrown: unknown) => void
  /** Called once, when the log can no longer be written: `fenced` if another process owns the thread, or it is gone. */
  readonly onLost: (why: 'fenced' | MillraceError) => void
}

/** A thread may be deleted, and another made under its id. */
interface ThreadKey {
  readonly id: string
  readonly createdAt: number
  /** The caller that it is folded for, if that is known. */
  readonly caller?: string | undefined
}

/** The threads that this process has folded: those being worked on, and of the others as many as there is room for. */
export interface ThreadLogs {
  /** The state of a thread whose log goes this far, or further. Valid until the next turn: its owner here may go on with it. */
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
  /** How much was played of answers since the snapshot, by run and round. */
  played: Map<string, number>
  /** About what the state takes in memory, or less. */
  bytes: number
}

/** A snapshot is saved when a thread comes to rest and so much was added since the last one. */
const restingEntries = 500
const restingChars = 256 * 1024
/** And in the middle of a run, between two rounds. */
const runningEntries = 5000
/** And while a long log is folded, so that it need not be folded again, nor held. */
const foldingEntries = 20_000

export interface ThreadLogsOptions {
  readonly store: ThreadStore
  readonly followers: Followers
  readonly commits: GroupCommit
  /** How many bytes the states of threads may take that are not being worked on. */
  readonly keptBytes: number
}

export function threadLogs({ store, followers, commits, keptBytes }: ThreadLogsOptions): ThreadLogs {
  /** Those used last come last. */
  const kept = new Map<string, Folded>()
  let held = 0
  /** Threads that are being folded, one reader after the other, and those being worked on. */
  const busy = new Map<string, Promise<ThreadState | undefined>>()
  const open = new Map<string, ThreadLog>()

  function takeKept({ id, createdAt }: ThreadKey): Folded | undefined {
    const folded = kept.get(id)
    if (!folded) return undefined
    kept.delete(id)
    held -= folded.bytes
    return folded.key.createdAt === createdAt ? folded : undefined
  }

  function keep(folded: Folded) {
    const { id } = folded.key
    takeKept(folded.key)
    if (folded.bytes > keptBytes) return
    kept.set(id, folded)
    held += folded.bytes
    for (const [, { key }] of kept) {
      if (held <= keptBytes) return
      takeKept(key)
    }
  }

  /** One at a time for each thread. */
  function inTurn<Value extends ThreadState | undefined>(
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

  /** That of a thread being worked on here. */
  async function liveState(id: string, head: number): Promise<ThreadState | undefined> {
    for (let log = open.get(id); log; log = open.get(id)) {
      if (log.state.head >= head) return log.state
      // Others have written, of which we hear a little later; perhaps because they own the thread by now, which closes the log.
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
        inTurn(id, async () => {
          const live = await liveState(id, head)
          if (live) return live
          const folded = takeKept(thread) ?? (await openFolded(logOf(store, thread), thread))
          await foldOn(logOf(store, thread), folded)
          keep(folded)
          return folded.state
        })
      )
    },

    async open(lease, options) {
      const { thread } = options
      const log = logOf(store, thread)
      let opened: ThreadLog | undefined
      let isClosed = false
      await inTurn(thread.id, async () => {
        const folded = takeKept(thread) ?? (await openFolded(log, thread))
        opened = await threadLog(folded, {
          ...options,
          store,
          lease,
          commits,
          followers,
          onClose(isKept) {
            isClosed = true
            if (open.get(thread.id) === opened) open.delete(thread.id)
            if (isKept) keep(folded)
          },
        })
        // It may be lost before it is open.
        if (!isClosed) open.set(thread.id, opened)
        return undefined
      })
      return opened as unknown as ThreadLog
    },

    deleted(threadId) {
      const folded = kept.get(threadId)
      if (folded) takeKept(folded.key)
    },
  }
}

function logOf(store: ThreadStore, { id, caller }: ThreadKey) {
  return { store, threadId: id, caller }
}

async function openFolded(log: ReturnType<typeof logOf>, key: ThreadKey): Promise<Folded> {
  const restored = await fromSnapshot(log, async (snapshot) => {
    const state = await restore(log, snapshot)
    const { messages, calls } = snapshot.parts
    const bytes = [...messages, ...calls].reduce((sum, { chars }) => sum + 2 * chars, 0)
    return state && { state, snapshot, bytes }
  })
  return { key, played: new Map(), ...(restored ?? { state: emptyThread(), snapshot: undefined, bytes: 0 }) }
}

/** Folds the rest of the log. `onRunEnd` is called after each run; false ends the fold, which then gives false too. */
async function foldOn(log: Log, folded: Folded, onRunEnd?: () => Promise<boolean>): Promise<boolean> {
  for await (const page of readLog(log, { after: folded.state.head }))
    for (const entry of page) {
      applyEntry(folded.state, entry)
      noteEntry(folded, entry)
      if (entry.event.type === 'run-end' && !((await onRunEnd?.()) ?? true)) return false
    }
  return true
}

function noteEntry(folded: Folded, entry: Entry) {
  const { event } = entry
  if (event.type === 'heard') folded.played.set(answerKey(event.run, event.round), event.chars)
  folded.bytes += entryBytes(entry)
}

interface ThreadLogOptions extends OpenOptions, Pick<ThreadLogsOptions, 'store' | 'followers' | 'commits'> {
  readonly lease: Lease
  readonly onClose: (isKept: boolean) => void
}

async function threadLog(folded: Folded, options: ThreadLogOptions): Promise<ThreadLog> {
  const { store, lease, followers, thread, onGrown } = options
  const { state } = folded
  const log = logOf(store, thread)
  /** The numbers of entries that were written from here, and have not come back yet. */
  const own = new Set<number>()
  const waiting = new Set<() => void>()
  let closed = false
  let detach: (() => void) | undefined
  let saving: Promise<void> | undefined
  /** In the middle of a run nothing is saved before this number: what could not be saved once is not tried at every commit. */
  let saveFrom = 0
  const end = tail((event) => applyAppended(state, event))
  const writer = options.commits.open(lease, {
    tail: end,
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
      noteEntry(folded, entry)
      if (!isOwn) self.onSignal?.(entry.event)
    }
    onGrown(bytes)
    for (const wake of waiting) wake()
    // The state holds nothing then that has no number yet.
    if (state.head >= saveFrom && addedEntries() >= runningEntries && own.size === 0 && writer.isDone)
      saveRunning()
  }

  /** In the middle of a run, if its round is over. */
  function saveRunning() {
    if (saving || !state.run || state.run.phase === 'telling') return
    saveFrom = state.head + runningEntries
    // The log has it all: without a snapshot it only takes longer the next time.
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
    end.settle()
    return state
  }

  async function save(): Promise<void> {
    // It would all stand in the head, which is written each time.
    if (isLong(state.waiting, restingChars)) return
    const { played, snapshot: last } = folded
    folded.played = new Map()
    let saved: Snapshot | 'fenced' | undefined
    try {
      saved = await saveSnapshot(state, { store, lease, last, heard: played })
    } finally {
      if (saved === undefined || saved === last) folded.played = new Map([...played, ...folded.played])
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
      end.push(event)
      writer.appended(event.type)
    },
    commit: writer.commit,
    settled: () => until(() => own.size === 0),
    passed: (head) => until(() => state.head > head),
    async save() {
      await saving
      const hasGrown =
        addedEntries() >= restingEntries ||
        isLong(savedMessages(state, folded.snapshot?.messages ?? 0), restingChars)
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
    readOn: () => foldOn(log, folded, saveFolding),
    take,
    // Without an error the thread is gone.
    end: (error) => lose(error ?? 'fenced'),
  })
  if (closed) detach()
  return self
}

/** What comes from outside of a run. */
function isSignal({ type }: ThreadEvent): boolean {
  return type === 'input' || type === 'approval' || type === 'stop' || type === 'heard'
}
