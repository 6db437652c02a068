import { createRequire } from 'node:module'
import type { Worker } from 'node:worker_threads'
import type { ErrorFields } from '../../protocol/index.ts'
import { MillraceError, messageOf } from '../../protocol/index.ts'
import { storeClosed } from '../store-errors.ts'
import { failure } from './failure.ts'
import type { WriterMessage, WriterRequest } from './thread.ts'
import type { ThreadWriter, WriterOptions } from './writer.ts'

// One thread writes the files of all stores of a process, so that neither a commit nor a slow disk
// delays anything else. It starts with the first write, and does not keep the process alive.

interface Call {
  readonly file: number
  resolve(value: never): void
  reject(error: unknown): void
}

interface OpenFile extends Pick<WriterOptions, 'path' | 'onChange'> {
  /** Called when the thread has ended, and everything that it had open with it. */
  onThreadEnd(): void
}

/**
 * How long a store that is only watched waits before it starts the thread: a server that starts
 * should first answer.
 */
const watchDelayMs = 100

let worker: Worker | undefined
let lastFile = 0
let lastCall = 0
const files = new Map<number, OpenFile>()
const calls = new Map<number, Call>()

/** The path of the thread's program; undefined if the app was bundled without it. */
export function threadProgram(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('#sqlite-thread')
  } catch {
    return undefined
  }
}

function startThread(program: string): Worker {
  // Not imported: a store that writes without a thread need not load it.
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const started = new Worker(program, { name: 'millrace-sqlite', execArgv: [] })
  started.unref()
  started.on('message', (messages: readonly WriterMessage[]) => {
    for (const message of messages) receive(message)
  })
  const end = (why: string) => {
    if (worker !== started) return
    worker = undefined
    const failed = [...calls.values()]
    calls.clear()
    for (const { file, reject } of failed) reject(threadEnded(files.get(file)?.path, why))
    for (const file of [...files.values()]) file.onThreadEnd()
  }
  started.on('error', (error) => end(messageOf(error)))
  started.on('exit', (code) => end(`exit code ${code}`))
  return started
}

function receive(message: WriterMessage) {
  if (message.type !== 'result') {
    const { type, file, threadId = '', head } = message
    return files.get(file)?.onChange[type](threadId, head)
  }
  const { id, value, error } = message
  const call = calls.get(id)
  calls.delete(id)
  if (calls.size === 0) worker?.unref()
  if (error === undefined) call?.resolve(value as never)
  else call?.reject(error instanceof Error ? error : new MillraceError(error as ErrorFields))
}

function threadEnded(path: string | undefined, why: string): MillraceError {
  const message = `the thread that writes '${path}' ended (${why}): whether the last writes happened is not known`
  return new MillraceError({ op: 'store.write', code: 'store_error', message, retryable: true })
}

/** A writer in the thread whose program this is. `clock` replaces the time there. */
export function remoteWriter(
  { path, busyMs, pollMs, files: identities, health, onChange }: WriterOptions,
  { program, clock }: { readonly program: string; readonly clock: (() => number) | undefined },
): ThreadWriter {
  const file = ++lastFile
  let isOpen = false
  let isClosed = false
  let isWatched = false
  let watchTimer: NodeJS.Timeout | undefined
  files.set(file, {
    path,
    onChange,
    onThreadEnd() {
      isOpen = false
      // What was written in the meantime may not be reported.
      if (isWatched) watch().then(onChange.missed, () => {})
    },
  })

  function post(request: WriterRequest) {
    worker ??= startThread(program)
    worker.postMessage(request)
  }

  function call<Value>(op: keyof ThreadWriter, ...args: readonly unknown[]): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (isClosed) throw storeClosed(`store.${op}`)
      if (health.damage) throw failure(health.damage, { op: `store.${op}`, path })
      if (!isOpen) post({ type: 'open', file, options: { path, busyMs, pollMs, files: identities } })
      isOpen = true
      const id = ++lastCall
      post({ type: 'call', id, file, op, args, time: clock?.() })
      calls.set(id, { file, resolve, reject })
      if (calls.size === 1) worker?.ref()
    })
  }

  function watch(after?: number): Promise<void> {
    isWatched = true
    return call('watch', after)
  }

  return {
    create: (...args) => call('create', ...args),
    fork: (...args) => call('fork', ...args),
    delete: (...args) => call('delete', ...args),
    append: (...args) => call('append', ...args),
    signal: (...args) => call('signal', ...args),
    claim: (...args) => call('claim', ...args),
    renew: (...args) => call('renew', ...args),
    release: (...args) => call('release', ...args),
    saveFacts: (...args) => call('saveFacts', ...args),
    reserve: (...args) => call('reserve', ...args),
    hold: (...args) => call('hold', ...args),
    saveSnapshot: (...args) => call('saveSnapshot', ...args),
    packDeltas: (...args) => call('packDeltas', ...args),
    sweep: () => call('sweep'),
    async watch(after) {
      isWatched = true
      if (isOpen) return watch(after)
      watchTimer = setTimeout(() => void watch(after).catch(() => {}), watchDelayMs)
      watchTimer.unref()
    },
    async unwatch() {
      isWatched = false
      clearTimeout(watchTimer)
      if (isOpen) await call('unwatch')
    },
    async close() {
      isWatched = false
      clearTimeout(watchTimer)
      const closed = isOpen ? call<void>('close') : undefined
      isClosed = true
      await closed?.catch(() => {})
      files.delete(file)
    },
  }
}
