import { Worker } from 'node:worker_threads'
import { MillraceError } from 'millrace'
import { systemClock } from 'millrace/internal'
import { aborted } from '../timeout.ts'
import type { Piece, SpokenPiece } from './synthesis.ts'
import type { WorkerAnswer } from './worker.ts'

export interface ThreadsOptions {
  /** The worker file. */
  readonly file: URL
  readonly workerData: unknown
  /** The maximum number of threads. */
  readonly count: number
  /** How long a piece may take once it is started. */
  readonly timeoutMs: number
}

export interface Threads {
  /**
   * Rejects on abort, or if the thread crashes or times out. The next piece then gets a new thread.
   */
  run(piece: Piece, signal: AbortSignal): Promise<SpokenPiece>
  /** Starts the first thread, which takes a while. */
  ready(): void
  close(): Promise<void>
}

interface Job {
  readonly piece: Piece
  readonly resolve: (said: SpokenPiece) => void
  readonly reject: (error: MillraceError) => void
}

interface Thread {
  readonly worker: Worker
  job?: { readonly job: Job; readonly cancel: () => void } | undefined
}

/** Threads that speak one piece at a time each, in order of the calls. */
export function startThreads({ file, workerData, count, timeoutMs }: ThreadsOptions): Threads {
  const threads = new Set<Thread>()
  const queue: Job[] = []
  let closed = false

  function start(): Thread {
    // Flags of the process, such as `--eval`, must not apply to the worker.
    const worker = new Worker(file, { workerData, execArgv: [], name: 'flite' })
    const thread: Thread = { worker }
    threads.add(thread)
    worker.on('message', (answer: WorkerAnswer) => {
      const job = finish(thread)
      if ('said' in answer) job?.resolve(answer.said)
      else job?.reject(failure(`cannot speak this text: ${answer.failed}`))
      assignJobs()
    })
    worker.on('error', (error) => discard(thread, failure(`crashed: ${error.message}`)))
    worker.on('exit', () => discard(thread, failure('exited unexpectedly')))
    // After the listeners: adding one for messages refs the worker again.
    worker.unref()
    return thread
  }

  function finish(thread: Thread): Job | undefined {
    const { job, cancel } = thread.job ?? {}
    cancel?.()
    thread.job = undefined
    // An idle thread must not keep the process alive.
    thread.worker.unref()
    return job
  }

  function discard(thread: Thread, error: MillraceError) {
    threads.delete(thread)
    finish(thread)?.reject(error)
    void thread.worker.terminate()
    assignJobs()
  }

  function assignJobs() {
    while (queue.length > 0 && !closed) {
      const idle = [...threads].find((thread) => !thread.job)
      const thread = idle ?? (threads.size < count ? start() : undefined)
      const job = thread && queue.shift()
      if (!job) return
      const onTimeout = () =>
        discard(thread, failure(`took longer than ${timeoutMs} ms for ${textOf(job.piece)}`, 'timeout'))
      thread.job = { job, cancel: systemClock.after(timeoutMs, onTimeout) }
      thread.worker.ref()
      thread.worker.postMessage(job.piece)
    }
  }

  return {
    run(piece, signal) {
      if (closed) return Promise.reject(failure('has been closed'))
      const { promise, resolve, reject } = Promise.withResolvers<SpokenPiece>()
      const job = { piece, resolve, reject }
      // A running piece is finished and discarded: restarting the thread would cost more.
      const abort = () => {
        if (queue.includes(job)) queue.splice(queue.indexOf(job), 1)
        reject(aborted())
      }
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
      else {
        queue.push(job)
        assignJobs()
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
