import type { ErrorCode, PublicError } from '../protocol/index.ts'
import { isMillraceError, isObject, MillraceError, messageOf } from '../protocol/index.ts'
import type { HttpError } from './protocol.ts'

const op = 'server.fetch'

/**
 * An error to throw for a rejected request. The client sees all of it. `param` is the field of the
 * request that is wrong, for protocols that report it.
 */
export function httpError(
  status: number,
  code: ErrorCode,
  message: string,
  { param, ...more }: { readonly retryAfterMs?: number; readonly param?: string } = {},
): MillraceError {
  return new MillraceError({
    op,
    code,
    status,
    message,
    ...more,
    ...(param !== undefined && { cause: { param } }),
  })
}

/** The same message whether the thread does not exist or belongs to another user. */
export function noThread(): MillraceError {
  return httpError(404, 'not_found', 'there is no such thread')
}

/** A number past the head belongs to another log: a deleted thread, or another server. */
export function checkCursor(after: number, head: number) {
  if (after > head) throw httpError(400, 'invalid_input', `after is ${after}, but the log ends at ${head}`)
}

/** The default status for each code. */
const statuses: { readonly [Code in ErrorCode]?: number } = {
  invalid_input: 400,
  auth: 401,
  not_found: 404,
  conflict: 409,
  rate_limit: 429,
  overloaded: 503,
  store_error: 503,
}

/**
 * Adds the HTTP status. Only errors of the server have their own: other errors have a provider's
 * status.
 */
export function withStatus(thrown: unknown, publicError: PublicError): HttpError {
  const own = isMillraceError(thrown) && thrown.op === op ? (thrown as MillraceError) : undefined
  const { param } = isObject(own?.cause) ? own.cause : {}
  return {
    ...publicError,
    status: own?.status ?? statuses[publicError.code] ?? 500,
    ...(typeof param === 'string' && { param }),
  }
}

/** The error that is reported to the server's owner, with the id that the client got. */
export function errorReport(thrown: unknown, id: string): MillraceError {
  const known = isMillraceError(thrown) ? (thrown as MillraceError) : undefined
  return new MillraceError({
    op: known?.op ?? op,
    code: known?.code ?? 'internal',
    message: `${messageOf(thrown)} (error ${id})`,
    cause: thrown,
  })
}
