import type { ErrorCode } from '../protocol/index.ts'
import { isObject, MillraceError, messageOf } from '../protocol/index.ts'

/** What a status means when the answer is not one of ours: a proxy's, or that of something else altogether. */
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

/** An answer that is a refusal, as our error: in the server's own words if it is ours. */
export async function failureOf(op: string, response: Response): Promise<MillraceError> {
  const { status, headers } = response
  const retryAfterMs = retryAfterOf(headers.get('retry-after'))
  const passes = status >= 500 || status === 429 || status === 408
  const said = await response.text().then(errorIn, () => undefined)
  if (said) return new MillraceError({ op, ...said, retryable: passes, status, retryAfterMs })
  return new MillraceError({
    op,
    code: codes[status] ?? 'stream_error',
    message: `the server answered ${status}, and not as a Millrace server does: is the address right?`,
    // A proxy whose server is away says 404 too.
    retryable: passes || status === 404,
    status,
    retryAfterMs,
  })
}

function errorIn(body: string): { code: ErrorCode; message: string } | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    if (!isObject(error) || typeof error.code !== 'string') return undefined
    const { code, message = code, id } = error
    // A server that is newer than this client may have codes of its own.
    return { code: code as ErrorCode, message: id === undefined ? `${message}` : `${message} (error ${id})` }
  } catch {
    return undefined
  }
}

/** As seconds, or as a date. */
function retryAfterOf(header: string | null): number | undefined {
  if (!header) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** The connection was refused, broke, or told nonsense. */
export function broken(op: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'stream_error', message, cause })
}

export function tooSlow(op: string, what: string, ms: number): MillraceError {
  return new MillraceError({ op, code: 'timeout', message: `${what} for ${ms} ms` })
}

export function interrupted(op: string): MillraceError {
  return new MillraceError({ op, code: 'stream_interrupted', message: 'it was aborted' })
}

/** `fetch failed` says nothing: the reason is the cause of the cause. */
export function reasonOf(thrown: unknown): string {
  let at = thrown
  for (let depth = 0; depth < 5 && isObject(at) && isObject(at.cause); depth++) at = at.cause
  return messageOf(at)
}

/** The thread was deleted while it was followed. */
export function gone(op: string): MillraceError {
  return new MillraceError({ op, code: 'not_found', message: 'the thread is gone' })
}
