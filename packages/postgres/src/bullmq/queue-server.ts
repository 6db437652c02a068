import type { IQueueBackend, Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq'

/** A job: a thread that has something to do. */
export interface WokenJob {
  readonly thread: string
  readonly head: number
}

/** Where the queues are. Nothing connects before the first queue or worker. */
export interface QueueServer {
  /** For messages. */
  readonly name: 'Redis' | 'PostgreSQL'
  /** A queue to add to. All share few connections. */
  queue(name: string, options: Omit<QueueOptions, 'connection'>): Queue
  /** Resolves when a queue can add right away, and rejects if the server is away. */
  connected(): Promise<void>
  worker(
    name: string,
    processor: Processor<WokenJob>,
    options: Omit<WorkerOptions, 'connection'>,
    observer: WorkerObserver,
  ): ClosableWorker
  /** Closes the connections of the queues. */
  close(): Promise<void>
}

interface WorkerObserver {
  onError(error: Error): void
  /** Called whenever the worker asks for a job. With room for one, it does so every few seconds. */
  onFetch(): void
}

interface ClosableWorker extends Pick<Worker, 'pause' | 'resume'> {
  /** Call it when no job is active. Resolves also if the server is away. */
  close(): Promise<void>
}

/** How long adding a job may take. */
export const addMs = 3000

/**
 * How long a worker waits for an answer of the server. Longer than it waits for jobs, which is 5
 * seconds.
 */
export const answerMs = 10_000

export function watchFetches(backend: Pick<IQueueBackend, 'moveToActive'>, onFetch: () => void): void {
  const moveToActive = backend.moveToActive.bind(backend)
  backend.moveToActive = (...args) => {
    onFetch()
    return moveToActive(...args)
  }
}
