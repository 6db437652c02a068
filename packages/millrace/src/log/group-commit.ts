import type { Entry, Flush, RunEvent } from '../protocol/index.ts'
import { MillraceError, toMillraceError } from '../protocol/index.ts'
import type { DeltaBuffer } from './delta-buffer.ts'
import { entryBytes } from './entry-bytes.ts'
import type { AppendResult, Batch, Lease, ThreadStore } from './store.ts'

/**
 * Writes what the runs of this process append, for all threads together: thousands of streams share
 * one commit.
 */
export interface GroupCommit {
  open(lease: Lease, source: WriterSource): Writer
}

interface WriterSource {
  /**
   * The events to write. Deltas wait for the next commit, which comes soon, and are joined until
   * then.
   */
  readonly buffer: DeltaBuffer
  /** Called with entries that have become durable, in order. */
  readonly onWritten: (entries: readonly Entry[]) => void
  /**
   * Called once, when no more can be written: another process owns the thread, or the store fails.
   */
  readonly onLost: (why: 'fenced' | MillraceError) => void
}

interface Writer {
  /** Everything that was appended is durable. */
  readonly isDone: boolean
  /** Set while something is being written; resolves when it is durable, or the writer is closed. */
  readonly writing: Promise<void> | undefined
  /** Called after an event of this type was appended to the buffer. */
  appended(type: RunEvent['type']): void
  /** Commits right away. Resolves when everything is durable, or no more can be written. */
  commit(): Promise<void>
  /** Ends a hold of the lease in the commit that writes everything appended so far. */
  free(hold: string): void
  /** Discards what has not been written yet. */
  close(): void
}

interface OpenWriter extends WriterSource {
  readonly lease: Lease
  /** How many batches were taken. */
  batches: number
  /**
   * The batch being written. If that fails, it is repeated unchanged, since it may have been
   * written.
   */
  batch: WriterBatch | undefined
  /** Holds that end when everything in the buffer is written. */
  freed: string[]
  /** Resolved when the batch is written, or the writer is closed. */
  batchDone: PromiseWithResolvers<void> | undefined
  /** Commits that wait until the `left` oldest events, in flight and pending, are durable. */
  waiting: { left: number; readonly resolve: () => void }[]
  /** When writing started to fail. */
  failingSince: number | undefined
  closed: boolean
}

export interface GroupCommitOptions {
  readonly store: ThreadStore
  /**
   * How long deltas wait for others, and up to 2.5 times as long with many threads. The first one
   * after a pause does not wait.
   */
  readonly flushMs: number
  /** How long failed writes are retried. */
  readonly retryForMs: number
  /** Called after each commit. */
  readonly onFlushed?: ((flush: Flush) => void) | undefined
}

interface WriterBatch extends Batch {
  readonly events: readonly RunEvent[]
}

type Result = AppendResult | MillraceError

/** Delay between these retries. */
const retryMs = 50

/** Limits for one commit. It takes about 10 µs per event and per KB, and blocks everything else. */
const maxEvents = 1024
const maxBytes = 512 * 1024
/** Threads with more than `fewEvents` to write share this many. */
const sharedEvents = 256
const fewEvents = 16

/**
 * With many threads, commits take a large part of the time, so they come less often: with 100 threads
 * half as often as with one, which takes a quarter less CPU time per delta. This is the longest time
 * between them, as a multiple of `flushMs`.
 */
const maxRest = 2.5
const threadsPerRest = 100

/**
 * Events that others wait for or that must not be lost: a result is worth more than the time to
 * write it.
 */
const urgent: ReadonlySet<RunEvent['type']> = new Set([
  'run-start',
  'tool-result',
  'approval-request',
  'run-end',
])

export function groupCommit({ store, flushMs, retryForMs, onFlushed }: GroupCommitOptions): GroupCommit {
  /** Writers with something to write, in order of arrival. */
  let dirty = new Set<OpenWriter>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let flushing: Promise<void> | undefined
  let isUrgent = false
  /** The time of the next commit, unless it is urgent. */
  let flushAt = 0

  function schedule(now: boolean) {
    isUrgent ||= now
    if (flushing) return
    if (isUrgent && timer !== undefined) clearTimeout(timer)
    else if (timer !== undefined) return
    const wait = isUrgent ? 0 : Math.max(0, flushAt - performance.now())
    timer = setTimeout(() => {
      flushing = flush()
    }, wait)
  }

  async function flush() {
    timer = undefined
    isUrgent = false
    const { writers, batches } = takeDirty()
    const startedAt = performance.now()
    const results = await writeAll(batches)
    let [events, threads, asked, failed] = [0, 0, 0, false]
    for (const [index, writer] of writers.entries()) {
      const result = results[index] as Result
      const count = inFlight(writer)
      asked += count
      if (result instanceof MillraceError) failed = true
      else if (count > 0 && isEntries(result)) {
        events += count
        threads++
      }
      settle(writer, result)
    }
    const flushedAt = performance.now()
    flushAt = flushedAt + flushMs * Math.min(maxRest, 1 + writers.length / threadsPerRest)
    // A commit may find that everything is already durable.
    if (asked > 0) onFlushed?.({ events, threads, ms: flushedAt - startedAt, failed })
    flushing = undefined
    if (dirty.size > 0) schedule(isUrgent)
  }

  /**
   * Takes what goes into the next commit. If a thread has more, the rest comes after the other
   * threads.
   */
  function takeDirty() {
    const writers = [...dirty]
    const batches: Batch[] = []
    dirty = new Set()
    const share = Math.max(fewEvents, Math.floor(sharedEvents / writers.length))
    const room = { events: maxEvents, share, bytes: maxBytes, large: 1 }
    const taken = writers.filter((writer) => {
      if (writer.closed) return false
      writer.buffer.settle()
      const { settled } = writer.buffer
      const next = writer.batch?.events ?? settled
      const count = countFitting(next, room)
      // A writer with nothing to write is waiting for what it has already written, or ends holds.
      if (count === 0 && next.length > 0) return !dirty.add(writer)
      writer.batch ??= takeBatch(writer, count)
      batches.push(writer.batch)
      return true
    })
    for (const writer of taken)
      if (writer.buffer.settled.length > 0 || writer.freed.length > 0) dirty.add(writer)
    isUrgent = dirty.size > 0
    return { writers: taken, batches }
  }

  function settle(writer: OpenWriter, result: Result) {
    if (isEntries(result)) return written(writer, result)
    if (result === 'fenced') return lose(writer, result)
    // A brief failure is no reason to regenerate the round.
    const now = performance.now()
    writer.failingSince ??= now
    if (now - writer.failingSince < retryForMs) return retryLater(writer, result === 'busy' ? 1 : retryMs)
    lose(writer, result === 'busy' ? threadBusy(writer.lease) : result)
  }

  function written(writer: OpenWriter, entries: readonly Entry[]) {
    writer.failingSince = undefined
    writer.batch = undefined
    if (entries.length > 0) writer.onWritten(entries)
    endBatch(writer)
    if (writer.waiting.length === 0) return
    writer.waiting = writer.waiting.filter((one) => {
      one.left -= entries.length
      if (one.left <= 0) one.resolve()
      return one.left > 0
    })
  }

  function retryLater(writer: OpenWriter, ms: number) {
    dirty.delete(writer)
    setTimeout(() => {
      if (writer.closed) return
      dirty.add(writer)
      schedule(true)
    }, ms)
  }

  async function writeAll(batches: readonly Batch[]): Promise<readonly Result[]> {
    try {
      return await store.append(batches)
    } catch (thrown) {
      const error = storeFailure(thrown)
      if (batches.length === 1) return [error]
      // Perhaps only one of them fails.
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
    writer.buffer.settled.length = 0
    dirty.delete(writer)
    endBatch(writer)
    for (const { resolve } of writer.waiting.splice(0)) resolve()
  }

  return {
    open(lease, source) {
      const writer: OpenWriter = {
        ...source,
        lease,
        batches: 0,
        batch: undefined,
        freed: [],
        batchDone: undefined,
        waiting: [],
        failingSince: undefined,
        closed: false,
      }
      return {
        get isDone() {
          const { settled, growing } = writer.buffer
          return inFlight(writer) + settled.length + growing.length === 0
        },
        get writing() {
          if (inFlight(writer) === 0) return undefined
          writer.batchDone ??= Promise.withResolvers()
          return writer.batchDone.promise
        },
        appended(type) {
          if (writer.closed) return
          dirty.add(writer)
          schedule(urgent.has(type))
        },
        commit() {
          if (writer.closed) return Promise.resolve()
          writer.buffer.settle()
          return new Promise((resolve) => {
            writer.waiting.push({ left: inFlight(writer) + writer.buffer.settled.length, resolve })
            dirty.add(writer)
            schedule(true)
          })
        },
        free(hold) {
          if (writer.closed) return
          writer.freed.push(hold)
          dirty.add(writer)
          schedule(true)
        },
        close: () => close(writer),
      }
    },
  }
}

/**
 * How many of these events fit. An event larger than a whole commit may go into any commit, but
 * only one per commit. That way small events of other threads are written along with it and do not
 * wait until all large ones are done.
 */
function countFitting(
  pending: readonly RunEvent[],
  room: { events: number; share: number; bytes: number; large: number },
): number {
  const max = Math.min(pending.length, room.events, room.share)
  for (let count = 0; count < max; count++) {
    const bytes = entryBytes({ seq: 0, at: 0, event: pending[count] as RunEvent })
    if (bytes > maxBytes) {
      if (room.large === 0) return count
      room.large = 0
    } else if (bytes > room.bytes) return count
    else room.bytes -= bytes
    room.events--
  }
  return max
}

function takeBatch(writer: OpenWriter, count: number): WriterBatch {
  const { lease, buffer, freed } = writer
  if (count > 0) writer.batches++
  const batch = { lease, number: writer.batches, events: buffer.settled.splice(0, count) }
  return freed.length > 0 && buffer.settled.length === 0 ? { ...batch, freed: freed.splice(0) } : batch
}

function endBatch(writer: OpenWriter): void {
  writer.batchDone?.resolve()
  writer.batchDone = undefined
}

function inFlight({ batch }: OpenWriter): number {
  return batch?.events.length ?? 0
}

function isEntries(result: Result): result is readonly Entry[] {
  return Array.isArray(result)
}

function threadBusy({ threadId }: Lease): MillraceError {
  const message = `thread '${threadId}' could not be written: another write to it did not end`
  return new MillraceError({ op: 'thread.append', code: 'store_error', message })
}

function storeFailure(thrown: unknown): MillraceError {
  return toMillraceError(thrown, { op: 'thread.append', code: 'store_error' })
}
