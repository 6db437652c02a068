import { Worker } from 'node:worker_threads'

/**
 * Finds matching lines in a worker thread, so that a slow pattern blocks nothing else and can be
 * stopped.
 */
export interface LineMatcher {
  /**
   * The numbers of the matching lines, from 1. One text at a time. Rejects on timeout or when the
   * signal is aborted.
   */
  match(text: string): Promise<readonly number[]>
  close(): Promise<void>
}

// As source text, since a bundle has no separate worker file.
const program = `
const { parentPort, workerData: { pattern, limit } } = require('node:worker_threads')
parentPort.on('message', (text) => {
  const found = []
  const lines = text.split(/\\r?\\n/)
  for (let at = 0; at < lines.length && found.length < limit; at++)
    if (pattern.test(lines[at])) found.push(at + 1)
  parentPort.postMessage(found)
})`

export interface MatcherOptions {
  /** Maximum number of lines of one text. */
  readonly limit?: number
  /** How long one text may take. */
  readonly timeLimitMs?: number
  readonly signal: AbortSignal
}

/** `pattern` must not have the stateful flags `g` and `y`. */
export function lineMatcher(
  pattern: RegExp,
  { limit = Number.POSITIVE_INFINITY, timeLimitMs = 5000, signal }: MatcherOptions,
): LineMatcher {
  // Without the process's own arguments: preloaded modules are not needed here.
  const worker = new Worker(program, { eval: true, workerData: { pattern, limit }, execArgv: [], env: {} })
  // Startup may be slow on a busy machine and does not count against the time limit.
  const online = new Promise<void>((resolve) => worker.once('online', resolve))
  let fail: (error: Error) => void = () => {}
  worker.on('error', (error) => fail(error as Error))

  return {
    async match(text) {
      await online
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>()
      fail = reject
      const timer = setTimeout(() => {
        reject(
          new Error(
            'The pattern takes too long to match. Nested repeats such as (a+)+ can cause this: simplify it.',
          ),
        )
      }, timeLimitMs)
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort)
      worker.once('message', resolve)
      worker.postMessage(text)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
        worker.off('message', resolve)
      }
    },
    close: async () => void (await worker.terminate()),
  }
}
