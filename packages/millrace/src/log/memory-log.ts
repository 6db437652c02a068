import type { Delta, MetadataState, RunEvent, RunState, ThreadState } from '../protocol/index.ts'
import {
  applyAppended,
  emptyThread,
  joinedEvent,
  lastChars,
  numberMetadata,
  textOfDelta,
  withText,
} from '../protocol/index.ts'
import type { DeltaBuffer } from './delta-buffer.ts'
import { deltaBuffer } from './delta-buffer.ts'
import type { LiveLog } from './live-log.ts'

/**
 * The log of a run in memory, for any number of readers at any pace.
 *
 * It stores each text once, however many readers there are. A reader that keeps up gets each delta
 * as it was appended; one that is far behind gets the missing text in one piece.
 */
export interface MemoryLog extends LiveLog {
  close(): void
  /** Iterates over all events from the first on. Ends when the log is closed. */
  read(): LogReader
  /** The events so far, with deltas joined. */
  events(): RunEvent[]
}

export interface LogReader extends AsyncIterableIterator<RunEvent, undefined> {
  /** The next event if it is already there. Not while a `next()` is pending. */
  take(): RunEvent | undefined
}

/**
 * A reader counts as behind when more events than this wait for it. This is more than one socket
 * read produces, so a reader that takes all events before the next read gets each one as it was
 * appended.
 */
const maxWaiting = 1024

/** `resumed` is the run that this one resumes, and `metadata` what its events made of that. */
export function memoryLog(resumed?: RunState, metadata?: MetadataState): MemoryLog {
  return new RunLog(resumed, metadata)
}

/**
 * A class, as its reader is. Each object literal with a getter gets a hidden class of its own, which
 * only a major garbage collection frees, with everything that the getter refers to: the whole run.
 */
class RunLog implements MemoryLog {
  onSignal: LiveLog['onSignal']
  closed = false
  readonly buffer: DeltaBuffer
  /** Readers that have caught up and get new events as they come. */
  readonly followers: Reader[] = []
  readonly #state: ThreadState

  constructor(resumed: RunState | undefined, metadata: MetadataState | undefined) {
    const state: ThreadState = { ...emptyThread(), run: resumed, metadata }
    this.#state = state
    this.buffer = deltaBuffer((event) => {
      applyAppended(state, event)
      // Nothing else writes to this log.
      if (event.type === 'metadata') numberMetadata(state.metadata)
    })
  }

  get state() {
    this.buffer.settle()
    return this.#state
  }

  get run() {
    return this.state.run as RunState
  }

  append(event: RunEvent) {
    if (this.closed) throw new Error(`the run has ended, but '${event.type}' was appended`)
    this.buffer.push(event)
    const { followers } = this
    // Backward, since a reader that falls behind removes itself from the list.
    for (let at = followers.length - 1; at >= 0; at--) followers[at]?.push(event)
  }

  close() {
    this.buffer.settle()
    this.closed = true
    for (const follower of this.followers.splice(0)) follower.end()
  }

  events(): RunEvent[] {
    const { settled, growing } = this.buffer
    return [...settled, ...growing.map(joinedEvent)]
  }

  read(): LogReader {
    return new Reader(this)
  }
}

class Reader implements LogReader {
  readonly #log: RunLog
  /** The index of the next event to read from the log, while it is behind. */
  #index = 0
  /**
   * How many characters of the event at `index`, and of those after it, it has already had, from the
   * time when they were still growing.
   */
  #taken: number[] = []
  /** Events that came while it followed and were not read yet. */
  readonly #queue: RunEvent[] = []
  #head = 0
  #isFollowing = false
  #hasEnded = false
  /** More than one only if `next()` is called again without awaiting the last call. */
  readonly #pending: ((result: IteratorResult<RunEvent, undefined>) => void)[] = []

  constructor(log: RunLog) {
    this.#log = log
  }

  push(event: RunEvent) {
    const resolve = this.#pending.shift()
    if (resolve) return resolve({ done: false, value: event })
    const queue = this.#queue
    queue.push(event)
    if (queue.length < 2 * maxWaiting) return
    queue.splice(0, this.#head)
    this.#head = 0
    if (queue.length > maxWaiting) this.#fallBehind()
  }

  end() {
    this.#isFollowing = false
    this.#index = this.#log.buffer.settled.length
    this.#taken = []
    for (const resolve of this.#pending.splice(0)) resolve(doneResult())
  }

  take(): RunEvent | undefined {
    const queue = this.#queue
    if (this.#head < queue.length) {
      const event = queue[this.#head++]
      if (this.#head === queue.length) this.#head = queue.length = 0
      return event
    }
    return this.#isFollowing ? undefined : this.#takeFromLog()
  }

  next(): Promise<IteratorResult<RunEvent, undefined>> {
    const event = this.#hasEnded ? undefined : this.take()
    if (event) return Promise.resolve({ done: false, value: event })
    if (this.#hasEnded || this.#log.closed) return Promise.resolve(doneResult())
    return new Promise((resolve) => this.#pending.push(resolve))
  }

  return(): Promise<IteratorResult<RunEvent, undefined>> {
    this.#hasEnded = true
    this.#stopFollowing()
    for (const resolve of this.#pending.splice(0)) resolve(doneResult())
    return Promise.resolve(doneResult())
  }

  [Symbol.asyncIterator]() {
    return this
  }

  /** Keeps the queued events; the rest is read from the log. */
  #fallBehind() {
    this.#stopFollowing()
    const { settled, growing } = this.#log.buffer
    this.#index = settled.length
    this.#taken = growing.map(({ length }) => length)
  }

  #stopFollowing() {
    const { followers } = this.#log
    if (this.#isFollowing) followers.splice(followers.indexOf(this), 1)
    this.#isFollowing = false
  }

  #takeFromLog(): RunEvent | undefined {
    const { settled, growing } = this.#log.buffer
    const taken = this.#taken
    while (this.#index < settled.length) {
      const event = settled[this.#index++] as RunEvent
      const offset = taken.length > 0 ? (taken.shift() ?? 0) : 0
      if (offset === 0) return event
      const text = textOfDelta(event) as string
      if (offset < text.length) return withText(event as Delta, text.slice(offset))
    }
    for (const [at, delta] of growing.entries()) {
      const offset = taken[at] ?? 0
      if (offset === delta.length) continue
      taken[at] = delta.length
      if (offset === delta.length - delta.latestLength) return delta.latest
      return withText(delta.first, lastChars(delta.pieces, delta.length - offset))
    }
    if (!this.#log.closed) {
      this.#isFollowing = true
      this.#log.followers.push(this)
    }
    return undefined
  }
}

function doneResult(): IteratorReturnResult<undefined> {
  return { done: true, value: undefined }
}
