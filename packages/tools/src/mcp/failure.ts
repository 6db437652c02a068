import { MillraceError } from 'millrace'
import { isObject, messageOf } from 'millrace/internal'
import { streamEnded } from './http.ts'

/** An error of the SDK, classified by its fields: the SDK's classes may not be loaded. */
export interface Failure {
  readonly error: unknown
  readonly kind:
    | 'auth'
    | 'unreachable'
    | 'timeout'
    | 'ended'
    | 'closed'
    | 'rejected'
    | 'needs-input'
    | 'other'
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined
}

export function failureOf(error: unknown): Failure {
  const status = statusOf(error)
  const is = (kind: Failure['kind']): Failure => ({ error, kind, status })
  const code = isObject(error) ? error.code : undefined
  if (status === 401 || status === 403 || nameOf(error) === 'UnauthorizedError') return is('auth')
  if (systemCode(error) !== undefined)
    return is(unreached.test(systemCode(error) ?? '') ? 'unreachable' : 'ended')
  const message = messageOf(error)
  if (code === 'NOT_CONNECTED' || message === 'Not connected') return is('closed')
  if (code === 'CONNECTION_CLOSED' || message === streamEnded) return is('ended')
  if (code === 'REQUEST_TIMEOUT') return is('timeout')
  if (code === -32042 || code === -32021 || /input_required|No handler registered/i.test(message))
    return is('needs-input')
  if (typeof code === 'number' && status === undefined) return is('rejected')
  return is('other')
}

const unreached = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** The system error code (`ECONNREFUSED`), which fetch() hides in nested causes. */
export function systemCode(error: unknown): string | undefined {
  for (let [at, depth] = [error, 0]; isObject(at) && depth < 5; depth++) {
    if (typeof at.code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(at.code)) return at.code
    at = at.cause ?? (Array.isArray(at.errors) ? at.errors[0] : undefined)
  }
  return undefined
}

function statusOf(error: unknown): number | undefined {
  if (!isObject(error)) return undefined
  const found = [error.status, isObject(error.data) ? error.data.status : undefined, error.code].find(
    (value) => typeof value === 'number' && value >= 100 && value < 600,
  )
  return found as number | undefined
}

function nameOf(error: unknown): unknown {
  return isObject(error) ? error.name : undefined
}

interface FailureContext {
  /** The server's name in messages. */
  readonly label: string
  readonly timeoutMs: number
  /** The last lines of stderr. */
  readonly stderrTail: string
}

/** Explains why connecting failed. */
export function connectError(
  error: unknown,
  { label, timeoutMs, stderrTail }: FailureContext,
): MillraceError {
  const { kind, status } = failureOf(error)
  const code = kind === 'auth' ? 'auth' : kind === 'timeout' ? 'timeout' : 'tool_failed'
  const message = `the MCP server '${label}' ${reason()}${stderrText(stderrTail)}`
  return new MillraceError({ op: 'mcp.connect', code, message, status, cause: error })

  function reason(): string {
    const system = systemCode(error)
    if (kind === 'auth') return wantsAuth(status)
    if (kind === 'timeout') return `did not answer within ${timeoutMs} ms`
    if (system === 'ENOENT') return 'cannot be started: the command or folder does not exist'
    if (system === 'EACCES') return 'cannot be started: permission denied'
    if (kind === 'unreachable') return `cannot be reached (${system})`
    if (kind === 'ended' || kind === 'closed') return 'exited before it responded'
    return `cannot be connected to: ${truncate(fullMessage(error))}`
  }
}

/** Explains why a call has no result, and whether it can be retried. */
export function callError(error: unknown, { label, timeoutMs, stderrTail }: FailureContext): Error {
  const { kind, status } = failureOf(error)
  const server = `the MCP server '${label}'`
  const said = truncate(fullMessage(error))
  switch (kind) {
    case 'auth':
      return failed(`${server} ${wantsAuth(status)}`)
    case 'unreachable':
      return failed(
        `${server} cannot be reached (${systemCode(error)}), so the call did not run: try again later`,
      )
    case 'timeout':
      return failed(`${server} did not answer within ${timeoutMs} ms: ${unknown}`)
    case 'closed':
      return failed(`${server} is not connected, so the call did not run: try again`)
    case 'ended':
      return failed(`${server} exited during the call: ${unknown}${stderrText(stderrTail)}`)
    case 'rejected':
      return failed(`${server} rejected the call: ${said}`)
    case 'needs-input':
      return failed(
        `${server} needs input from a person or a model, which is not supported (${said}): put everything it needs into the call, or do without this tool`,
      )
    case 'other':
      return failed(`${server} returned no usable response (${said}): ${unknown}`)
  }

  function failed(message: string): Error {
    return new Error(message, { cause: error })
  }
}

const unknown = 'it is unknown whether the call took effect'

function wantsAuth(status: number | undefined): string {
  return status === 403
    ? 'denied access (HTTP 403): the headers or authProvider passed to mcp() are not authorized'
    : 'requires authorization (HTTP 401): pass headers or an authProvider to mcp()'
}

function stderrText(stderrTail: string): string {
  return stderrTail ? `. Last output on stderr:\n${stderrTail}` : ''
}

/** Adds the cause if the message is just 'fetch failed'. */
function fullMessage(error: unknown): string {
  const message = messageOf(error)
  const cause = isObject(error) ? error.cause : undefined
  return cause !== undefined && message.endsWith('fetch failed')
    ? `${message}: ${fullMessage(cause)}`
    : message
}

/** Truncates text from outside for a message. */
export function truncate(text: string, limit = 1_000): string {
  const trimmed = text.trim()
  return trimmed.length > limit ? `${trimmed.slice(0, limit)}…` : trimmed
}
