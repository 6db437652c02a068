import type { CallToolResult } from '@modelcontextprotocol/client'
import type { JsonObject, ToolContext } from 'millrace'
import { isObject, messageOf } from 'millrace/internal'
import { bounded, type Connection } from './connect.ts'
import { callError, failureOf, short } from './failure.ts'
import type { Link } from './link.ts'
import { toResult } from './result.ts'
import type { ServerTool } from './sdk.ts'

/** So many reports of a call are passed on: they stand in the log, and a server may send them without end. */
const mostReports = 1000

interface CallOptions {
  readonly link: Link
  readonly definition: ServerTool
  /** What its owner calls the server; it has a name of its own. */
  readonly label: string | undefined
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  /** Somebody wants to hear what the server logs. */
  readonly logs: boolean
}

/** Calls a server's tool. Rejects with a sentence for the model. */
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
    if (!(error instanceof Lost)) throw error
    if (!neverBegan(error.cause, connection)) throw told(error, connection)
  }
  link.drop(connection)
  const next = await unlessAborted(link.ready(), context.signal)
  return toResult(
    await request(next).catch((error: Lost) => {
      throw told(error, next)
    }),
  )

  async function request({ client }: Connection): Promise<CallToolResult> {
    const { outputSchema, ...toolDefinition } = definition
    // Since 2026-07-28 a server logs for whoever asks it to, call by call.
    const asks = logs && client.getProtocolEra() === 'modern'
    const params = {
      name: definition.name,
      arguments: input,
      ...(asks && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }),
    }
    try {
      return await client.callTool(params, {
        // Without its output schema: a result that does not fit is better read than thrown away and asked for again.
        toolDefinition,
        signal: context.signal,
        timeout: bounded(timeoutMs),
        maxTotalTimeout: bounded(maxTimeoutMs),
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total, message }) => {
          if (++reports > mostReports) return
          context.progress({
            progress,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message: short(message, 1000) }),
          })
        },
      })
    } catch (error) {
      throw new Lost('no result', { cause: error })
    }
  }

  function told({ cause }: Lost, { server, lastWords }: Connection): unknown {
    if (context.signal.aborted) return context.signal.reason
    const limitMs = performance.now() - startedAt >= maxTimeoutMs ? maxTimeoutMs : timeoutMs
    return callError(cause, {
      label: label ?? short(server.name, 100),
      timeoutMs: limitMs,
      lastWords: lastWords(),
    })
  }
}

/** What kept a result from coming, apart from what a server says of a call that it did run. */
class Lost extends Error {}

/**
 * True if the server surely has not run the call: there was nothing to send it on, or it does not know the session. The
 * specification has 404 for that; servers after the SDK's first examples answer 400 with a sentence about the session.
 */
function neverBegan(error: unknown, { client }: Connection): boolean {
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

/** Leaves off waiting, but not what is waited for: others may want it. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
