import type { RunnableThread } from '../log/index.ts'
import type { MillraceError } from '../protocol/index.ts'

/** A thread that has something to do. */
export interface WokenThread extends Pick<RunnableThread, 'id' | 'agent' | 'head' | 'priority'> {
  /** A process that worked on it is closing, and leaves it to others. */
  readonly isHandedOver?: boolean | undefined
}

/**
 * Passes threads that have something to do to a process that works on them. It is only a hint: the
 * store decides which process owns a thread, and what a dispatcher loses, repeats or delays is found
 * by scans of the store. So it may cost time, but never a message.
 */
export interface Dispatcher {
  /**
   * How long a thread is left to the dispatcher. One that has waited longer is taken by any process
   * that has room.
   */
  readonly patienceMs: number
  /** Reports that a thread has something to do. */
  wake(thread: WokenThread): Promise<void> | void
  /** Calls `run` for threads that were reported, in this process or in others. */
  work(run: (threadId: string) => Promise<void>, options: WorkOptions): DispatcherWork
}

export interface WorkOptions {
  /** The agents whose threads this process works on. */
  readonly agents: readonly string[]
  /** How many calls of `run` may be pending at a time. */
  readonly maxRuns: number
  readonly onError: (error: MillraceError) => void
}

export interface DispatcherWork {
  /** Calls `run` no more until `resume()`. Other processes go on. */
  pause(): void
  resume(): void
  /** Resolves when no more calls come and all are done. */
  close(): Promise<void>
}

/**
 * Passes threads to the same process, right away, even while it is paused: it remembers those that
 * it has no room for.
 */
export function localDispatcher(): Dispatcher {
  let run: ((threadId: string) => Promise<void>) | undefined
  return {
    patienceMs: 0,
    wake: ({ id }) => void run?.(id),
    work(given) {
      run = given
      return {
        pause() {},
        resume() {},
        async close() {
          run = undefined
        },
      }
    },
  }
}
