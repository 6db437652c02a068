import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { MillraceError } from 'millrace'
import { invalidInput, messageOf } from 'millrace/internal'
import type { OnnxJob, OnnxMessage } from './worker.ts'

/** A thread that runs a network. In this one it would stop everything else: onnxruntime works where it is called. */
export interface OnnxThread {
  /** Rejects with what went wrong there, or when the signal is aborted. */
  ask(request: unknown, options?: { signal?: AbortSignal }): Promise<unknown>
  /** How many have asked and wait. */
  readonly waiting: number
  /** Resolves when the network is loaded. */
  ready(): Promise<void>
  /** Ends it; who waits is told. It begins anew when it is asked again. */
  close(): Promise<void>
}

interface Waiting {
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** Begun at the first question, and again at the next one after it broke. Keeps the process alive only while somebody waits. */
export function onnxThread(op: string, job: OnnxJob): OnnxThread {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let asked = 0
  /** Why it cannot even be loaded. That does not change by itself, and a thread for each frame of sound is dear. */
  let hopeless: MillraceError | undefined

  function begin(): Worker {
    // Otherwise onnxruntime sends usage data to Microsoft and keeps a log file open that child processes inherit.
    process.env.ORT_DISABLE_TELEMETRY ??= '1'
    const begun = new Worker(workerFile(op), { workerData: job, execArgv: [], name: op })
    let hasAnswered = false
    begun.on('message', ({ id, reply, error }: OnnxMessage) => {
      hasAnswered = true
      const one = waiting.get(id)
      if (error === undefined) one?.resolve(reply)
      else one?.reject(failure(error))
    })
    const broken = (message: string) => {
      if (worker !== begun) return
      worker = undefined
      const error = failure(message)
      if (!hasAnswered) hopeless = error
      for (const one of [...waiting.values()]) one.reject(error)
    }
    begun.on('error', (error) => broken(messageOf(error)))
    begun.on('exit', (code) => broken(`its thread ended with ${code}`))
    return begun
  }

  const failure = (message: string) =>
    new MillraceError({ op, code: 'internal', message: `${op}() failed: ${message}` })

  function ask(request: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (hopeless) return reject(hopeless)
      const id = asked++
      worker ??= begin()
      const asking = worker
      const leave = () => {
        waiting.delete(id)
        signal?.removeEventListener('abort', give)
        if (waiting.size === 0) asking.unref()
      }
      const give = () => {
        leave()
        asking.postMessage({ id })
        reject(signal?.reason)
      }
      waiting.set(id, {
        resolve(reply) {
          leave()
          resolve(reply)
        },
        reject(error) {
          leave()
          reject(error)
        },
      })
      signal?.addEventListener('abort', give)
      asking.ref()
      asking.postMessage({ id, request })
    })
  }

  return {
    ask,
    get waiting() {
      return waiting.size
    },
    // What it is asked is answered once it is loaded, and this is answered with nothing.
    ready: () => ask(null).then(() => undefined),
    async close() {
      const closing = worker
      worker = undefined
      hopeless = undefined
      for (const one of [...waiting.values()]) one.reject(failure('it was closed'))
      await closing?.terminate()
    },
  }
}

/** A thread runs a file: the source where this is a source, and what was made of it in the package. */
function workerFile(op: string): URL {
  if (import.meta.url.endsWith('.ts')) return new URL('./worker.ts', import.meta.url)
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve('#onnx-worker'))
  } catch (cause) {
    const message = `${op}() runs a file of its own in a thread, which is not there any more: keep @millrace/voice out of the bundle (make it external)`
    throw invalidInput(op, message, cause)
  }
}
