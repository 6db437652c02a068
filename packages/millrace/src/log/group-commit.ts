import type { Entry, Flush, RunEvent } from '../protocol/index.ts'
import { MillraceError, toMillraceError } from '../protocol/index.ts'
import { entryBytes } from './entry-bytes.ts'
import type { Lease, ThreadStore } from './store.ts'
import type { Tail } from './tail.ts'

/** Writes what the runs of this process append, those of all threads together: thousands of streams share one commit. */
export interface GroupCommit {
  open(lease: Lease, source: WriterSource): Writer
}

interface WriterSource {
  /** What is to be written. Deltas wait for the next commit, which comes soon, and are joined until then. */
  readonly tail: Tail
  /** Called with what has become durable, in order. */
  readonly onWritten: (entries: readonly Entry[]) => void
  /** Called once, when nothing more can be written: another process owns the thread, or the store fails. */
  readonly onLost: (why: 'fenced' | MillraceError) => void
}

interface Writer {
  /** Everything that was appended is durable. */
  readonly isDone: boolean
  /** Something is being written, until this resolves. */
  readonly writing: Promise<void> | undefined
  /** Something was appended. */
  appended(type: RunEvent['type']): void
  /** Commits at once. Resolves when all is durable, or when nothing can be any more. */
  commit(): Promise<void>
  /** What is not written yet never will be. */
  close(): void
}

interface OpenWriter extends WriterSource {
  readonly lease: Lease
  /** How many events are being written. */
  flying: number
  /** Those that wait until so many of the events in flight and pending are durable. */
  waiting: { left: number; readonly resolve: () => void }[]
  /** Since when nothing could be written. */
  failingSince: number | undefined
  closed: boolean
}

export interface GroupCommitOptions {
  readonly store: ThreadStore
  /** How long deltas wait for others at most. The first after a pause does not wait. */
  readonly flushMs: number
  /** How long it tries again to write what the store could not. */
  readonly patienceMs: number
  /** Called after each commit. */
  readonly onFlushed?: ((flush: Flush) => void) | undefined
}

/** How long it waits before that. */
const retryMs = 50

/** A commit takes some 10 µs for an event and for each KB, and everything else waits for it. So much goes into one. */
const mostEvents = 1024
const mostBytes = 512 * 1024
/** Threads with more than a few events to write share so many. */
const sharedEvents = 256
const fewEvents = 16

/** What others wait for, or what must not be lost: a result is worth more than the time to write it. */
const urgent: ReadonlySet<RunEvent['type']> = new Set([
  'run-start',
  'tool-result',
  'approval-request',
  'run-end',
])

export function groupCommit({ store, flushMs, patienceMs, onFlushed }: GroupCommitOptions): GroupCommit {
  /** Those with something to write, in the order in which they came. */
  let dirty = new Set<OpenWriter>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let flushing: Promise<void> | undefined
  let urgently = false
  let flushedAt = 0

  function schedule(now: boolean) {
    urgently ||= now
    if (flushing) return
    if (urgently && timer !== undefined) clearTimeout(timer)
    else if (timer !== undefined) return
    const wait = urgently ? 0 : Math.max(0, flushedAt + flushMs - performance.now())
    timer = setTimeout(() => {
      flushing = flush()
    }, wait)
  }

  async function flush() {
    timer = undefined
    urgently = false
    const { writers, batches } = takeDirty()
    const begunAt = performance.now()
    const results = await writeAll(batches)
    for (const [index, writer] of writers.entries()) {
      const result = results[index] as (typeof results)[number]
      if (result === 'fenced') lose(writer, result)
      else if (Array.isArray(result)) written(writer, result)
      else if (!keep(writer, batches[index]?.events ?? [])) lose(writer, result as MillraceError)
    }
    flushedAt = performance.now()
    // A commit may find that all is durable by now.
    if (batches.some(({ events }) => events.length > 0)) {
      const durable = batches.filter(
        ({ events }, index) => events.length > 0 && Array.isArray(results[index]),
      )
      onFlushed?.({
        events: durable.reduce((count, { events }) => count + events.length, 0),
        threads: durable.length,
        ms: flushedAt - begunAt,
        failed: results.some((result) => result instanceof MillraceError),
      })
    }
    flushing = undefined
    if (dirty.size > 0) schedule(urgently)
  }

  /** What goes into the next commit. The rest of a thread that has more comes after the others. */
  function takeDirty() {
    const writers = [...dirty]
    const batches: { lease: Lease; events: RunEvent[] }[] = []
    dirty = new Set()
    const share = Math.max(fewEvents, Math.floor(sharedEvents / writers.length))
    const room = { events: mostEvents, share, bytes: mostBytes, large: 1 }
    const taken = writers.filter((writer) => {
      if (writer.closed) return false
      writer.tail.settle()
      const { settled } = writer.tail
      const count = fitting(settled, room)
      // One with nothing to write waits for what it has written.
      if (count === 0 && settled.length > 0) return !dirty.add(writer)
      const events = settled.splice(0, count)
      writer.flying = count
      batches.push({ lease: writer.lease, events })
      return true
    })
    for (const writer of taken) if (writer.tail.settled.length > 0) dirty.add(writer)
    urgently = dirty.size > 0
    return { writers: taken, batches }
  }

  function written(writer: OpenWriter, entries: readonly Entry[]) {
    writer.failingSince = undefined
    const { flying, waiting } = writer
    writer.flying = 0
    if (entries.length > 0) writer.onWritten(entries)
    writer.waiting = waiting.filter((one) => {
      one.left -= flying
      if (one.left <= 0) one.resolve()
      return one.left > 0
    })
  }

  /** Nothing was written, so it can be tried again: a disk that hiccups is no reason to begin the round anew. */
  function keep(writer: OpenWriter, events: readonly RunEvent[]): boolean {
    const now = performance.now()
    writer.flying = 0
    writer.failingSince ??= now
    if (writer.closed || now - writer.failingSince >= patienceMs) return false
    writer.tail.settled.unshift(...events)
    dirty.delete(writer)
    setTimeout(() => {
      if (writer.closed) return
      dirty.add(writer)
      schedule(true)
    }, retryMs)
    return true
  }

  async function writeAll(batches: Parameters<ThreadStore['append']>[0]) {
    try {
      return await store.append(batches)
    } catch (thrown) {
      const error = storeFailure(thrown)
      if (batches.length === 1) return [error]
      // Perhaps only one of them cannot be written.
      return Promise.all(
        batches.map((batch) =>
          store.append([batch]).then(
            ([result]) => result ?? 'fenced',
            (thrown: unknown) => storeFailure(thrown),
          ),
        ),
      )
    }
  }

  function lose(writer: OpenWriter, why: 'fenced' | MillraceError) {
    if (writer.closed) return
    close(writer)
    writer.onLost(why)
  }

  function close(writer: OpenWriter) {
    writer.closed = true
    writer.tail.settled.length = 0
    dirty.delete(writer)
    for (const { resolve } of writer.waiting.splice(0)) resolve()
  }

  return {
    open(lease, source) {
      const writer: OpenWriter = {
        ...source,
        lease,
        flying: 0,
        waiting: [],
        failingSince: undefined,
        closed: false,
      }
      return {
        get isDone() {
          const { settled, growing } = writer.tail
          return writer.flying + settled.length + growing.length === 0
        },
        get writing() {
          return writer.flying > 0 ? flushing : undefined
        },
        appended(type) {
          if (writer.closed) return
          dirty.add(writer)
          schedule(urgent.has(type))
        },
        commit() {
          if (writer.closed) return Promise.resolve()
          writer.tail.settle()
          return new Promise((resolve) => {
            writer.waiting.push({ left: writer.flying + writer.tail.settled.length, resolve })
            dirty.add(writer)
            schedule(true)
          })
        },
        close: () => close(writer),
      }
    },
  }
}

/**
 * How many of these have room. What is larger than a whole commit may go into any, but only one of its kind: the small ones of
 * other threads go along, and do not wait until all large ones are written.
 */
function fitting(
  pending: readonly RunEvent[],
  room: { events: number; share: number; bytes: number; large: number },
): number {
  const most = Math.min(pending.length, room.events, room.share)
  for (let count = 0; count < most; count++) {
    const bytes = entryBytes({ seq: 0, at: 0, event: pending[count] as RunEvent })
    if (bytes > mostBytes) {
      if (room.large === 0) return count
      room.large = 0
    } else if (bytes > room.bytes) return count
    else room.bytes -= bytes
    room.events--
  }
  return most
}

function storeFailure(thrown: unknown): MillraceError {
  return toMillraceError(thrown, { op: 'thread.append', code: 'store_error' })
}
