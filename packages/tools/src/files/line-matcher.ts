import { Worker } from 'node:worker_threads'

/** Finds lines that a pattern matches, in a thread of its own: one that takes for ever holds up nobody, and is stopped. */
export interface LineMatcher {
  /** The numbers of the matching lines, from 1, in order. One text at a time. Rejects when time is up or the signal is aborted. */
  match(text: string): Promise<readonly number[]>
  close(): Promise<void>
}

// As text, since a bundle has no second file to point at.
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
  /** At most so many lines of one text. */
  readonly limit?: number
  /** How long one text may take. */
  readonly timeLimitMs?: number
  readonly signal: AbortSignal
}

/** `pattern` must have neither the `g` nor the `y` flag, which remember where they were. */
export function lineMatcher(
  pattern: RegExp,
  { limit = Number.POSITIVE_INFINITY, timeLimitMs = 5000, signal }: MatcherOptions,
): LineMatcher {
  // None of the process's own arguments: what is loaded before a program need not be before this.
  const worker = new Worker(program, { eval: true, workerData: { pattern, limit }, execArgv: [], env: {} })
  // To begin may take long on a busy machine, and is not the pattern's fault.
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
            'The pattern takes too long, as one with repeats inside repeats may, such as (a+)+: make it simpler.',
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
