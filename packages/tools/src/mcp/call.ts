import type { CallToolResult } from '@modelcontextprotocol/client'
import type { JsonObject, ToolContext } from 'millrace'
import { isObject, messageOf } from 'millrace/internal'
import { bounded, type Connection } from './connect.ts'
import { callError, failureOf, truncate } from './failure.ts'
import type { Link } from './link.ts'
import { toResult } from './result.ts'
import type { ServerTool } from './sdk.ts'

/**
 * How many progress reports of a call are passed on: they are kept in the log, and a server may
 * send any number.
 */
const maxReports = 1000

interface CallOptions {
  readonly link: Link
  readonly definition: ServerTool
  /** The configured name of the server, which also has a name of its own. */
  readonly label: string | undefined
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  /** Whether to request log messages. */
  readonly logs: boolean
}

/** Calls a server's tool. Rejects with a message for the model. */
export async function callServer(
  input: JsonObject,
  context: ToolContext,
  { link, definition, label, timeoutMs, maxTimeoutMs, logs }: CallOptions,
): Promise<unknown> {
  let reports = 0
  const startedAt = performance.now()
  const connection = await unlessAborted(link.ready(), context.signal)
  try {
    return toResult(await request(connection))
  } catch (error) {
    if (!(error instanceof NoResult)) throw error
    if (!neverStarted(error.cause, connection)) throw explain(error, connection)
  }
  link.drop(connection)
  const next = await unlessAborted(link.ready(), context.signal)
  return toResult(
    await request(next).catch((error: NoResult) => {
      throw explain(error, next)
    }),
  )

  async function request({ client }: Connection): Promise<CallToolResult> {
    const { outputSchema, ...toolDefinition } = definition
    // Since 2026-07-28 log messages are requested per call.
    const asks = logs && client.getProtocolEra() === 'modern'
    const params = {
      name: definition.name,
      arguments: input,
      ...(asks && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }),
    }
    try {
      return await client.callTool(params, {
        // Without the output schema: a result that does not match is better than none.
        toolDefinition,
        signal: context.signal,
        timeout: bounded(timeoutMs),
        maxTotalTimeout: bounded(maxTimeoutMs),
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total, message }) => {
          if (++reports > maxReports) return
          context.progress({
            progress,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message: truncate(message, 1000) }),
          })
        },
      })
    } catch (error) {
      throw new NoResult('no result', { cause: error })
    }
  }

  function explain({ cause }: NoResult, { server, stderrTail }: Connection): unknown {
    if (context.signal.aborted) return context.signal.reason
    const limitMs = performance.now() - startedAt >= maxTimeoutMs ? maxTimeoutMs : timeoutMs
    return callError(cause, {
      label: label ?? truncate(server.name, 100),
      timeoutMs: limitMs,
      stderrTail: stderrTail(),
    })
  }
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

/** Stops waiting when aborted, but does not cancel the promise: others may need it. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
