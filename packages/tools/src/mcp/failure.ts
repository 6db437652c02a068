import { MillraceError } from 'millrace'
import { isObject, messageOf } from 'millrace/internal'
import { streamEnded } from './http.ts'

/** What the SDK threw, told apart by what it carries: its classes are not loaded where nobody uses them. */
export interface Failure {
  readonly error: unknown
  readonly kind: 'auth' | 'unreachable' | 'timeout' | 'ended' | 'closed' | 'refused' | 'input' | 'other'
  /** Of the HTTP answer, if there was one. */
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
    return is('input')
  if (typeof code === 'number' && status === undefined) return is('refused')
  return is('other')
}

const unreached = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** The code of the system's own error (`ECONNREFUSED`), which fetch() hides in the cause of the cause. */
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

interface Told {
  /** How the server is called in sentences. */
  readonly label: string
  readonly timeoutMs: number
  /** The end of what it wrote on stderr. */
  readonly lastWords: string
}

/** Why there is no connection. */
export function connectError(error: unknown, { label, timeoutMs, lastWords }: Told): MillraceError {
  const { kind, status } = failureOf(error)
  const code = kind === 'auth' ? 'auth' : kind === 'timeout' ? 'timeout' : 'tool_failed'
  const message = `the MCP server '${label}' ${reason()}${words(lastWords)}`
  return new MillraceError({ op: 'mcp.connect', code, message, status, cause: error })

  function reason(): string {
    const system = systemCode(error)
    if (kind === 'auth') return wantsAuth(status)
    if (kind === 'timeout') return `did not answer within ${timeoutMs} ms`
    if (system === 'ENOENT') return 'cannot be started: there is no such command or folder'
    if (system === 'EACCES') return 'cannot be started: the command may not be run'
    if (kind === 'unreachable') return `cannot be reached (${system})`
    if (kind === 'ended' || kind === 'closed') return 'ended before it had answered'
    return `cannot be connected to: ${short(whole(error))}`
  }
}

/** Why a call has no result, and whether it may be tried again. */
export function callError(error: unknown, { label, timeoutMs, lastWords }: Told): Error {
  const { kind, status } = failureOf(error)
  const server = `the MCP server '${label}'`
  const said = short(whole(error))
  switch (kind) {
    case 'auth':
      return told(`${server} ${wantsAuth(status)}`)
    case 'unreachable':
      return told(`${server} cannot be reached (${systemCode(error)}), so the call did not begin: try later`)
    case 'timeout':
      return told(`${server} did not answer within ${timeoutMs} ms: ${unknown}`)
    case 'closed':
      return told(`${server} is not connected, so the call did not begin: try again`)
    case 'ended':
      return told(`${server} ended while it ran: ${unknown}${words(lastWords)}`)
    case 'refused':
      return told(`${server} refused the call: ${said}`)
    case 'input':
      return told(
        `${server} wants to ask a person or a model something first, which cannot be done from here (${said}): put all it needs into the call, or do without`,
      )
    case 'other':
      return told(`${server} gave no usable answer (${said}): ${unknown}`)
  }

  function told(message: string): Error {
    return new Error(message, { cause: error })
  }
}

const unknown = 'whether it took effect is unknown'

function wantsAuth(status: number | undefined): string {
  return status === 403
    ? 'denies access (HTTP 403): what is passed to mcp() as headers or authProvider is not allowed this'
    : 'wants authorization (HTTP 401): pass headers or an authProvider to mcp()'
}

function words(lastWords: string): string {
  return lastWords ? `. It wrote last:\n${lastWords}` : ''
}

/** With the cause, where the message is only that fetch() failed. */
function whole(error: unknown): string {
  const message = messageOf(error)
  const cause = isObject(error) ? error.cause : undefined
  return cause !== undefined && message.endsWith('fetch failed') ? `${message}: ${whole(cause)}` : message
}

/** What came from outside, short enough for a sentence. */
export function short(text: string, limit = 1_000): string {
  const trimmed = text.trim()
  return trimmed.length > limit ? `${trimmed.slice(0, limit)}…` : trimmed
}
