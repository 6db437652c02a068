import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject, sleep, systemClock } from 'millrace/internal'
import { bounded, type Connection } from './connect.ts'
import { failureOf } from './failure.ts'
import type { InputRequest } from './requests.ts'
import type { ServerTool } from './sdk.ts'
import { tasksExtension } from './task-result.ts'

// Calls that run as tasks: an extension of 2026-07-28, and experimental before (2025-11-25). The SDK
// supports neither.

/** What a server says about a task, in either version. */
export interface ServerTask {
  readonly taskId: string
  readonly status: string
  readonly statusMessage?: string
  readonly pollIntervalMs?: number
  readonly inputRequests?: Readonly<Record<string, InputRequest>>
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown }
}

/** Whether calls of a tool may become tasks. */
export function mayBeTask({ client }: Connection, { execution }: ServerTool): boolean {
  const { tasks, extensions } = client.getServerCapabilities() ?? {}
  if (client.getProtocolEra() === 'modern') return extensions?.[tasksExtension] !== undefined
  const support = execution?.taskSupport
  return tasks?.requests?.tools?.call !== undefined && (support === 'optional' || support === 'required')
}

export const anyObject: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate: (value) => (isObject(value) ? { value } : { issues: [{ message: 'is not an object' }] }),
  },
}

interface TaskRequestOptions {
  readonly params?: object | undefined
  readonly signal?: AbortSignal
  readonly timeoutMs: number
}

/** Sends a request about a task. */
export function askAboutTask(
  { client }: Connection,
  method: 'tasks/get' | 'tasks/update' | 'tasks/cancel',
  taskId: string,
  { params, signal, timeoutMs }: TaskRequestOptions,
): Promise<unknown> {
  return client.request({ method, params: { taskId, ...params } }, anyObject, {
    timeout: bounded(timeoutMs),
    ...(signal && { signal }),
    // So that it reaches the process that has the task.
    ...(client.getProtocolEra() === 'modern' && { headers: { 'mcp-name': taskId } }),
  })
}

export interface Waiting {
  readonly ready: () => Promise<Connection>
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** Asks for a task until it has ended or wants something. */
export async function pollTask(
  taskId: string,
  {
    onStatus,
    isDone,
    ...waiting
  }: Waiting & {
    readonly onStatus: (message: string) => void
    readonly isDone: (task: ServerTask) => boolean
  },
): Promise<ServerTask> {
  let message = ''
  for (;;) {
    const asked = (connection: Connection) => askAboutTask(connection, 'tasks/get', taskId, waiting)
    const task = (await untilReached(asked, waiting)) as ServerTask
    if (isDone(task)) return task
    if (task.statusMessage && task.statusMessage !== message) {
      message = task.statusMessage
      onStatus(message)
    }
    const { pollIntervalMs = 1_000 } = task
    const delayMs = Math.min(Math.max(pollIntervalMs, 50), 30_000)
    await sleep(delayMs, { clock: systemClock, signal: waiting.signal })
  }
}

/** The task outlives the connection and perhaps the server: repeats a request until there is one again. */
export async function untilReached<T>(
  request: (connection: Connection) => Promise<T>,
  { ready, signal, timeoutMs }: Waiting,
): Promise<T> {
  const startedAt = performance.now()
  for (;;) {
    try {
      return await request(await ready())
    } catch (error) {
      signal.throwIfAborted()
      const { kind, status = 0 } = failureOf(error)
      const isAway = kind === 'unreachable' || kind === 'ended' || kind === 'closed'
      const isLost = isAway || status >= 500 || status === 404 || /cannot be reached/.test(String(error))
      if (!isLost || performance.now() - startedAt > timeoutMs) throw error
      await sleep(500, { clock: systemClock, signal })
    }
  }
}
