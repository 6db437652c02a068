import type { CallToolResult } from '@modelcontextprotocol/client'
import type { JsonObject, ToolContext } from 'millrace'
import type { ApprovalEvent } from 'millrace/internal'
import { isObject, messageOf } from 'millrace/internal'
import { untilAborted } from '../until-aborted.ts'
import { bounded, type Connection } from './connect.ts'
import { callError, failureOf, truncate } from './failure.ts'
import type { Link } from './link.ts'
import type { CallMemory } from './questions.ts'
import type { InputRequest } from './requests.ts'
import type { McpSampling } from './sampling.ts'
import type { Sdk, ServerTool } from './sdk.ts'
import { askAboutTask, mayBeTask } from './server-task.ts'
import { taskIdOf } from './task-result.ts'

/**
 * How many progress reports of a call are passed on: they are kept in the log, and a server may
 * send any number.
 */
const maxReports = 1000

export interface CallOptions {
  readonly sdk: Sdk
  readonly link: Link
  readonly definition: ServerTool
  /** The configured name of the server, which also has a name of its own. */
  readonly label: string | undefined
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  /** Whether to request log messages. */
  readonly logs: boolean
  readonly sampling: McpSampling | undefined
  /** Whether the call can be repeated if its outcome is unknown. */
  readonly isSafe: boolean
}

/** An attempt at a call: the first, or one after a restart or a decision. */
export interface Attempt {
  readonly input: JsonObject
  readonly context: ToolContext
  readonly options: CallOptions
  readonly connection: Connection
  /** The names of the tool and the server. */
  readonly names: { readonly tool: string; readonly server: string }
  /** What earlier attempts have left. */
  readonly memory: CallMemory | undefined
  readonly decisions: ReadonlyMap<string, ApprovalEvent>
}

/** The result of a call, a task, or what the server wants first. */
export type Outcome =
  | { readonly type: 'result'; readonly result: CallToolResult }
  | { readonly type: 'task'; readonly taskId: string }
  | {
      readonly type: 'input'
      readonly requests: Readonly<Record<string, InputRequest>>
      readonly requestState?: string
    }

export interface SendOptions {
  readonly signal?: AbortSignal
  readonly onLife?: () => void
  /** The timeout is that of the caller. */
  readonly isLong?: boolean
  /** Called with the connection before the call is sent on it. Returns what ends that. */
  readonly onConnection?: (connection: Connection) => () => void
}

export type CallRequests = ReturnType<typeof callRequests>

/** The requests of one call. `current` returns the context of the run that waits for it now. */
export function callRequests(
  { input, context, options, connection: first, names }: Attempt,
  current: () => ToolContext = () => context,
) {
  const { link, definition, timeoutMs, maxTimeoutMs } = options
  const startedAt = performance.now()
  let reports = 0

  function cancelTask(taskId: string | undefined) {
    if (taskId === undefined) return
    void link
      .ready()
      .then((connection) => askAboutTask(connection, 'tasks/cancel', taskId, { timeoutMs: 10_000 }))
      // It may have ended.
      .catch(() => {})
  }

  function waiting() {
    const ready = () => untilAborted(link.ready(), context.signal)
    return { ready, signal: context.signal, timeoutMs }
  }

  function report(data: { progress?: number; total?: number | undefined; message?: string | undefined }) {
    const { progress, total, message } = data
    if (++reports > maxReports) return
    const { progress: send } = current()
    send({
      ...(progress !== undefined && { progress }),
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message: truncate(message, 1000) }),
    })
  }

  function requestOptions({ signal = context.signal, onLife, isLong }: SendOptions = {}) {
    return {
      signal,
      timeout: bounded(isLong ? Number.POSITIVE_INFINITY : timeoutMs),
      maxTotalTimeout: bounded(isLong ? Number.POSITIVE_INFINITY : maxTimeoutMs),
      resetTimeoutOnProgress: true,
      onprogress: (progress: {
        progress: number
        total?: number | undefined
        message?: string | undefined
      }) => {
        onLife?.()
        report(progress)
      },
    }
  }

  /** Sends the call. If it certainly did not reach the server, it is sent again. */
  async function send(more?: object, sendOptions: SendOptions = {}): Promise<Outcome> {
    try {
      return await request(first)
    } catch (error) {
      if (!(error instanceof NoResult)) throw error
      if (!neverStarted(error.cause, first)) throw explain(error.cause, first)
    }
    link.drop(first)
    const next = await untilAborted(link.ready(), context.signal)
    return request(next).catch((error: NoResult) => {
      throw explain(error.cause, next)
    })

    async function request(connection: Connection): Promise<Outcome> {
      const { outputSchema, ...toolDefinition } = definition
      const isModern = connection.client.getProtocolEra() === 'modern'
      // Since 2026-07-28 log messages are requested per call.
      const asks = options.logs && isModern
      const params = {
        name: definition.name,
        arguments: input,
        ...(asks && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }),
        ...(!isModern && mayBeTask(connection, definition) && { task: { ttl: bounded(maxTimeoutMs) } }),
        ...more,
      }
      const close = sendOptions.onConnection?.(connection)
      try {
        const result: unknown = await connection.client.callTool(params, {
          // Without the output schema: a result that does not match is better than none.
          toolDefinition,
          ...requestOptions(sendOptions),
          allowInputRequired: true,
        })
        return outcomeOf(result as CallToolResult)
      } catch (error) {
        throw new NoResult('no result', { cause: error })
      } finally {
        close?.()
      }
    }
  }

  /** Explains the errors of a request. */
  async function explained<T>(request: Promise<T>): Promise<T> {
    try {
      return await request
    } catch (error) {
      throw isObject(error) && 'code' in error ? explain(error, first) : error
    }
  }

  function explain(cause: unknown, { stderrTail }: Connection): unknown {
    if (context.signal.aborted) return context.signal.reason
    const limitMs = performance.now() - startedAt >= maxTimeoutMs ? maxTimeoutMs : timeoutMs
    return callError(cause, {
      label: names.server,
      timeoutMs: limitMs,
      stderrTail: stderrTail(),
    })
  }

  return { send, explained, waiting, report, cancelTask, requestOptions }
}

function outcomeOf(result: CallToolResult): Outcome {
  const taskId = taskIdOf(result)
  if (taskId !== undefined) return { type: 'task', taskId }
  const {
    resultType,
    inputRequests = {},
    requestState,
  } = result as unknown as {
    resultType?: unknown
    inputRequests?: Record<string, InputRequest>
    requestState?: string
  }
  if (resultType !== 'input_required') return { type: 'result', result }
  return { type: 'input', requests: inputRequests, ...(requestState !== undefined && { requestState }) }
}

/** The request failed without a result. Error results of the server are not included. */
class NoResult extends Error {}

/**
 * Whether the server certainly has not run the call: it was not connected, or does not know the session.
 * The specification requires 404 for that; servers modeled on early SDK examples return 400 with a message
 * about the session.
 */
function neverStarted(error: unknown, { client }: Connection): boolean {
  const { kind, status } = failureOf(error)
  if (kind === 'closed') return true
  if (client.transport?.sessionId === undefined) return false
  return status === 404 || (status === 400 && /session/i.test(bodyOf(error)))
}

function bodyOf(error: unknown): string {
  return isObject(error) && isObject(error.data) && typeof error.data.text === 'string'
    ? error.data.text
    : messageOf(error)
}
