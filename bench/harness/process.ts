import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Answer, Answers, Question } from './answer.ts'

/** A child process that answers questions. */
export interface Child<Asked extends Answers> {
  ask<What extends keyof Asked & string>(
    what: What,
    ...about: Parameters<Asked[What]>
  ): Promise<Awaited<ReturnType<Asked[What]>>>
  /** Messages it sends without being asked. */
  onWord(listener: (word: string) => void): void
  /** Stops it. It has `graceMs` to exit on its own, since it may have a profile to write. */
  stop(graceMs?: number): Promise<void>
}

export interface ChildOptions {
  readonly execArgv?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** Hides its output. A process that dies is reported with the last error that it printed. */
  readonly quiet?: boolean
}

/**
 * Starts a file of `bench/`, or any file by its absolute path. It always exits with this process.
 * Asking a child that has exited rejects.
 */
export function startChild<Asked extends Answers>(
  file: string,
  config: object = {},
  { execArgv = [], env = {}, quiet = false }: ChildOptions = {},
): Child<Asked> {
  const { PATH, HOME, TMPDIR, SystemRoot } = process.env
  const child = fork(resolve(import.meta.dirname, '..', file), [JSON.stringify(config)], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', quiet ? 'pipe' : 'inherit', 'ipc'],
    // Nothing from the user's shell (a proxy, a key, tracing) gets in.
    env: { PATH, HOME, TMPDIR, SystemRoot, NODE_ENV: 'production', ...env },
  })
  const printed: string[] = []
  if (child.stderr)
    createInterface(child.stderr).on('line', (line) => {
      printed.push(line)
      if (printed.length > 50) printed.shift()
    })
  const waiting = new Map<number, (answer: Answer) => void>()
  let listener = (_word: string) => {}
  let asked = 0
  let death: string | undefined
  child.on('message', (message: Answer | string) => {
    if (typeof message === 'string') return listener(message)
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  // `close` is not emitted for a child whose channel was closed from this side.
  const isRead = child.stderr ? once(child.stderr, 'close') : undefined
  const closed = Promise.all([once(child, 'exit'), isRead]).then(() => {
    // The line that names the error, if Node printed one.
    const words = printed.findLast((line) => /\w*Error\b.*:/.test(line)) ?? printed.at(-1) ?? ''
    death = words.trim() || 'the process died'
    for (const [id, answer] of waiting) answer({ id, error: death })
  })
  return {
    async ask(what, ...[about]) {
      const { value, error } = await new Promise<Answer>((settle) => {
        const id = ++asked
        if (death !== undefined) return settle({ id, error: death })
        waiting.set(id, settle)
        // If the child is unreachable, its exit settles this.
        child.send({ id, what, about } satisfies Question, () => {})
      })
      if (error !== undefined) throw new Error(quiet ? error : `${file} ${what}: ${error}`)
      return value as never
    },
    onWord(onWord) {
      listener = onWord
    },
    async stop(graceMs = 20_000) {
      if (graceMs === 0) child.kill('SIGKILL')
      else if (child.connected) child.disconnect()
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await closed
      clearTimeout(timer)
    },
  }
}

export type Start = typeof startChild

/**
 * Runs `work` with child processes. All of them stop when it ends, is aborted, or exceeds
 * `limitMs`.
 */
export async function withChildren<Result>(
  { signal: given, limitMs, what }: { signal: AbortSignal; limitMs: number; what: string },
  work: (start: Start, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const children: { stop(): Promise<void> }[] = []
  const stop = () => Promise.all(children.map((child) => child.stop()))
  const limit = new AbortController()
  const signal = AbortSignal.any([given, limit.signal])
  const timer = setTimeout(
    () => limit.abort(new Error(`${what} did not finish within ${limitMs / 1000} s`)),
    Math.min(limitMs, 2 ** 31 - 1),
  )
  const abort = () => void stop()
  signal.addEventListener('abort', abort)
  const start: Start = (file, config, options) => {
    signal.throwIfAborted()
    const child = startChild(file, config, options)
    children.push(child)
    return child as never
  }
  try {
    return await work(start, signal)
  } catch (error) {
    // After an abort, errors are only consequences of stopping the children.
    throw signal.aborted ? signal.reason : error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    await stop()
  }
}
