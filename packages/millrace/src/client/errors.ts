import type { ErrorCode } from '../protocol/index.ts'
import { isObject, MillraceError, messageOf } from '../protocol/index.ts'

/** Error codes for responses that are not from a Millrace server, such as those of a proxy. */
const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'auth',
  403: 'auth',
  408: 'timeout',
  413: 'invalid_input',
  429: 'rate_limit',
  502: 'overloaded',
  503: 'overloaded',
  504: 'timeout',
}

/** The error for a failed response, with the server's own code and message if it has them. */
export async function responseError(op: string, response: Response): Promise<MillraceError> {
  const { status, headers } = response
  const retryAfterMs = retryAfterOf(headers.get('retry-after'))
  const isTransient = status >= 500 || status === 429 || status === 408
  const serverError = await response.text().then(errorIn, () => undefined)
  if (serverError)
    return new MillraceError({ op, ...serverError, retryable: isTransient, status, retryAfterMs })
  return new MillraceError({
    op,
    code: codes[status] ?? 'stream_error',
    message: `the server answered ${status}, which does not look like a Millrace server: check the URL`,
    // A proxy whose backend is down may answer 404 too.
    retryable: isTransient || status === 404,
    status,
    retryAfterMs,
  })
}

function errorIn(body: string): { code: ErrorCode; message: string } | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    if (!isObject(error) || typeof error.code !== 'string') return undefined
    const { code, message = code, id } = error
    // A newer server may send codes that this client does not know.
    return { code: code as ErrorCode, message: id === undefined ? `${message}` : `${message} (error ${id})` }
  } catch {
    return undefined
  }
}

/** In seconds, or a date. */
function retryAfterOf(header: string | null): number | undefined {
  if (!header) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** The connection failed, was rejected, or sent invalid data. */
export function streamError(op: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'stream_error', message, cause })
}

export function timeoutError(op: string, what: string, ms: number): MillraceError {
  return new MillraceError({ op, code: 'timeout', message: `${what} within ${ms} ms` })
}

export function abortedError(op: string): MillraceError {
  return new MillraceError({ op, code: 'stream_interrupted', message: 'the request was aborted' })
}

/** `fetch failed` says nothing: the reason is in a nested `cause`. */
export function reasonOf(thrown: unknown): string {
  let at = thrown
  for (let depth = 0; depth < 5 && isObject(at) && isObject(at.cause); depth++) at = at.cause
  return messageOf(at)
}

/** The thread was deleted while it was being followed. */
export function threadDeleted(op: string): MillraceError {
  return new MillraceError({ op, code: 'not_found', message: 'the thread was deleted' })
}
