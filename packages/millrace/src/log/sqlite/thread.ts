import type { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { MillraceError } from '../../protocol/index.ts'
import { missingFile } from './commits.ts'
import { fileMoved } from './failure.ts'
import { openDatabase } from './open.ts'
import type { ThreadWriter, WriterOptions } from './writer.ts'
import { threadWriter } from './writer.ts'

// The thread that writes the files of all stores of a process: see remote-writer.ts.

/** What a writer needs that can be copied. */
type OpenOptions = Pick<WriterOptions, 'path' | 'busyMs' | 'files' | 'pollMs'>

/** `time` is what the clock of the store says, if it has one of its own. */
export type WriterRequest = { readonly file: number; readonly time?: number | undefined } & (
  | { readonly type: 'open'; readonly options: OpenOptions }
  | {
      readonly type: 'call'
      readonly id: number
      readonly op: keyof ThreadWriter
      readonly args: readonly unknown[]
    }
)

/** The result of a call, or a call of `onChange`. */
export type WriterMessage =
  | { readonly type: 'result'; readonly id: number; readonly value?: unknown; readonly error?: unknown }
  | {
      readonly type: keyof WriterOptions['onChange']
      readonly file: number
      readonly threadId?: string
      readonly head?: number | undefined
    }

/** A file that a store has open, and from its first call on the thread too. */
interface StoreFile {
  readonly options: OpenOptions
  time: number | undefined
  opened: { readonly database: DatabaseSync; readonly writer: ThreadWriter } | undefined
}

const files = new Map<number, StoreFile>()
let messages: WriterMessage[] = []

/** What happens at the same time, such as the end of calls that share a commit, is sent together. */
function send(message: WriterMessage) {
  if (messages.push(message) > 1) return
  queueMicrotask(() => {
    parentPort?.postMessage(messages)
    messages = []
  })
}

function open(id: number, file: StoreFile) {
  const { options } = file
  // Otherwise it would create another file.
  const missing = missingFile(options.files)
  if (missing) throw fileMoved(options.path, missing)
  // The store has checked the path.
  const database = openDatabase(options.path, { allowNetworkFilesystem: true })
  const writer = threadWriter(database, {
    ...options,
    health: {},
    now: () => file.time ?? Date.now(),
    onChange: {
      changed: (threadId, head) => send({ type: 'changed', file: id, threadId, head }),
      runnable: () => send({ type: 'runnable', file: id }),
      missed: () => send({ type: 'missed', file: id }),
    },
  })
  return { database, writer }
}

async function call({
  file: id,
  op,
  args,
  time,
}: Extract<WriterRequest, { type: 'call' }>): Promise<unknown> {
  const file = files.get(id) as StoreFile
  file.time = time
  file.opened ??= open(id, file)
  const { writer, database } = file.opened
  const value = await (writer[op] as (...args: readonly unknown[]) => Promise<unknown>)(...args)
  if (op === 'close') {
    files.delete(id)
    database.close()
  }
  return value
}

/** Only the fields of an error can be copied, not its class. */
function fieldsOf(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error
  const { op, code, message, retryable, status, retryAfterMs, limit, cause } = error
  return { op, code, message, retryable, status, retryAfterMs, limit, cause }
}

parentPort?.on('message', (request: WriterRequest) => {
  if (request.type === 'open')
    return void files.set(request.file, { options: request.options, time: undefined, opened: undefined })
  const { id } = request
  call(request).then(
    (value) => send({ type: 'result', id, value }),
    (error) => send({ type: 'result', id, error: fieldsOf(error) }),
  )
})
