import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { MillraceError } from 'millrace'
import { invalidInput, messageOf } from 'millrace/internal'
import type { OnnxJob, OnnxMessage } from './worker.ts'

/** A worker thread that runs a network: onnxruntime blocks the thread that calls it. */
export interface OnnxThread {
  /** Rejects if the request fails or the signal is aborted. */
  run(request: unknown, options?: { signal?: AbortSignal }): Promise<unknown>
  /** The number of pending requests. */
  readonly waiting: number
  /** Resolves when the network is loaded. */
  ready(): Promise<void>
  /** Ends the thread and rejects pending requests. The next request starts another. */
  close(): Promise<void>
}

interface Waiting {
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/**
 * Starts on the first request, and again after a crash. Keeps the process alive only while requests
 * are pending.
 */
export function onnxThread(op: string, job: OnnxJob): OnnxThread {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let nextId = 0
  /**
   * The error if loading failed. It is permanent, so that not every audio frame starts a thread.
   */
  let loadError: MillraceError | undefined

  function start(): Worker {
    // Otherwise onnxruntime sends usage data to Microsoft and keeps a log file open that child
    // processes inherit.
    process.env.ORT_DISABLE_TELEMETRY ??= '1'
    const started = new Worker(workerFile(op), { workerData: job, execArgv: [], name: op })
    let hasAnswered = false
    started.on('message', ({ id, reply, error }: OnnxMessage) => {
      hasAnswered = true
      const one = waiting.get(id)
      if (error === undefined) one?.resolve(reply)
      else one?.reject(failure(error))
    })
    const onFailure = (message: string) => {
      if (worker !== started) return
      worker = undefined
      const error = failure(message)
      if (!hasAnswered) loadError = error
      for (const one of [...waiting.values()]) one.reject(error)
    }
    started.on('error', (error) => onFailure(messageOf(error)))
    started.on('exit', (code) => onFailure(`its thread exited with code ${code}`))
    return started
  }

  const failure = (message: string) =>
    new MillraceError({ op, code: 'internal', message: `${op}() failed: ${message}` })

  function run(request: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (loadError) return reject(loadError)
      const id = nextId++
      worker ??= start()
      const target = worker
      const cleanUp = () => {
        waiting.delete(id)
        signal?.removeEventListener('abort', onAbort)
        if (waiting.size === 0) target.unref()
      }
      const onAbort = () => {
        cleanUp()
        target.postMessage({ id })
        reject(signal?.reason)
      }
      waiting.set(id, {
        resolve(reply) {
          cleanUp()
          resolve(reply)
        },
        reject(error) {
          cleanUp()
          reject(error)
        },
      })
      signal?.addEventListener('abort', onAbort)
      target.ref()
      target.postMessage({ id, request })
    })
  }

  return {
    run,
    get waiting() {
      return waiting.size
    },
    // Requests are answered once the network is loaded; this one does nothing else.
    ready: () => run(null).then(() => undefined),
    async close() {
      const closing = worker
      worker = undefined
      loadError = undefined
      for (const one of [...waiting.values()]) one.reject(failure('it was closed'))
      await closing?.terminate()
    },
  }
}

/** The worker's file: the source when running from sources, or the built file of the package. */
function workerFile(op: string): URL {
  if (import.meta.url.endsWith('.ts')) return new URL('./worker.ts', import.meta.url)
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve('#onnx-worker'))
  } catch (cause) {
    const message = `${op}() cannot find its worker file: exclude @millrace/voice from your bundle (mark it as external)`
    throw invalidInput(op, message, cause)
  }
}
