import { Worker } from 'node:worker_threads'
import { MillraceError } from 'millrace'
import { systemClock } from 'millrace/internal'
import { interrupted } from '../patience.ts'
import type { Piece, SaidPiece } from './synthesis.ts'
import type { WorkerAnswer } from './worker.ts'

export interface ThreadsOptions {
  /** The file that they run. */
  readonly file: URL
  readonly workerData: unknown
  /** How many there may be. */
  readonly count: number
  /** So long a piece may take, once it is its turn. */
  readonly timeoutMs: number
}

export interface Threads {
  /** Rejects at once if it is aborted, and if the thread crashes or takes too long; the next piece gets another then. */
  run(piece: Piece, signal: AbortSignal): Promise<SaidPiece>
  /** Starts the first, which takes a while. */
  ready(): void
  close(): Promise<void>
}

interface Job {
  readonly piece: Piece
  readonly resolve: (said: SaidPiece) => void
  readonly reject: (error: MillraceError) => void
}

interface Thread {
  readonly worker: Worker
  job?: { readonly job: Job; readonly cancel: () => void } | undefined
}

/** Threads that say one piece at a time each, in the order they are asked. */
export function startThreads({ file, workerData, count, timeoutMs }: ThreadsOptions): Threads {
  const threads = new Set<Thread>()
  const queue: Job[] = []
  let closed = false

  function start(): Thread {
    // Flags of the process, such as those for `--eval`, are not for this file.
    const worker = new Worker(file, { workerData, execArgv: [], name: 'flite' })
    const thread: Thread = { worker }
    threads.add(thread)
    worker.on('message', (answer: WorkerAnswer) => {
      const job = finish(thread)
      if ('said' in answer) job?.resolve(answer.said)
      else job?.reject(failure(`cannot say this: ${answer.failed}`))
      next()
    })
    worker.on('error', (error) => lose(thread, failure(`crashed: ${error.message}`)))
    worker.on('exit', () => lose(thread, failure('ended by itself')))
    // Behind them: whoever listens to its messages holds the process.
    worker.unref()
    return thread
  }

  function finish(thread: Thread): Job | undefined {
    const { job, cancel } = thread.job ?? {}
    cancel?.()
    thread.job = undefined
    // Whoever waits for nothing but the next sentence may end.
    thread.worker.unref()
    return job
  }

  function lose(thread: Thread, error: MillraceError) {
    threads.delete(thread)
    finish(thread)?.reject(error)
    void thread.worker.terminate()
    next()
  }

  function next() {
    while (queue.length > 0 && !closed) {
      const idle = [...threads].find((thread) => !thread.job)
      const thread = idle ?? (threads.size < count ? start() : undefined)
      const job = thread && queue.shift()
      if (!job) return
      const slow = () =>
        lose(thread, failure(`took longer than ${timeoutMs} ms over ${textOf(job.piece)}`, 'timeout'))
      thread.job = { job, cancel: systemClock.after(timeoutMs, slow) }
      thread.worker.ref()
      thread.worker.postMessage(job.piece)
    }
  }

  return {
    run(piece, signal) {
      if (closed) return Promise.reject(failure('has been closed'))
      const { promise, resolve, reject } = Promise.withResolvers<SaidPiece>()
      const job = { piece, resolve, reject }
      // What a thread is at already it finishes, soon, and for nothing: to end it would cost more.
      const abort = () => {
        if (queue.includes(job)) queue.splice(queue.indexOf(job), 1)
        reject(interrupted())
      }
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
      else {
        queue.push(job)
        next()
      }
      return promise.finally(() => signal.removeEventListener('abort', abort))
    },
    ready() {
      if (threads.size === 0 && !closed) start()
    },
    async close() {
      closed = true
      for (const job of queue.splice(0)) job.reject(failure('has been closed'))
      const ending = [...threads].map((thread) => {
        finish(thread)?.reject(failure('has been closed'))
        return thread.worker.terminate()
      })
      threads.clear()
      await Promise.all(ending)
    },
  }
}

function textOf({ words }: Piece): string {
  return JSON.stringify(
    words
      .map((word) => word.spoken)
      .join(' ')
      .slice(0, 60),
  )
}

function failure(what: string, code: 'internal' | 'timeout' = 'internal'): MillraceError {
  return new MillraceError({ op: 'speech.synthesize', code, message: `flite ${what}` })
}
