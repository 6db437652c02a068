import type { PublicError } from '../channels/index.ts'
import { publicError } from '../channels/index.ts'
import type { ErrorCode } from '../protocol/index.ts'
import { isMillraceError, MillraceError, messageOf } from '../protocol/index.ts'

const op = 'server.fetch'

/** Why a request is not answered with what it asked for, to be thrown. */
export function refusal(
  status: number,
  code: ErrorCode,
  message: string,
  more: { readonly retryAfterMs?: number } = {},
): MillraceError {
  return new MillraceError({ op, code, status, message, ...more })
}

/** The same words whether it does not exist or is somebody else's. */
export function noThread(): MillraceError {
  return refusal(404, 'not_found', 'there is no such thread')
}

export function closingDown(): MillraceError {
  return refusal(503, 'overloaded', 'this server is going away: try again', { retryAfterMs: 1000 })
}

/** Where no finer status was given. */
const statuses: { readonly [Code in PublicError['code']]?: number } = {
  invalid_input: 400,
  auth: 401,
  not_found: 404,
  conflict: 409,
  rate_limit: 429,
  overloaded: 503,
  store_error: 503,
}

/** The answer to a request that was refused or failed. What is not the client's doing goes to `onError`. */
export function errorAnswer(thrown: unknown, onError: (error: MillraceError) => void): Response {
  const told = publicError(thrown, (error, id) => onError(reportOf(error, id)))
  // A status is ours only where the server has set it: that of other errors is a provider's.
  const ownStatus = isMillraceError(thrown) && thrown.op === op ? (thrown as MillraceError).status : undefined
  const status = ownStatus ?? statuses[told.code] ?? 500
  const headers = new Headers({ 'cache-control': 'no-store' })
  if (status === 401) headers.set('www-authenticate', 'Bearer')
  if (status === 429 || status === 503) headers.set('retry-after', retryAfterOf(told))
  return Response.json({ error: told }, { status, headers })
}

/** In whole seconds (RFC 9110, 10.2.3). */
export function retryAfterOf({ retryAfterMs = 1000 }: { readonly retryAfterMs?: number }): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
}

/** What the server's owner is told, under the id that the client was given. */
export function reportOf(thrown: unknown, id: string): MillraceError {
  const known = isMillraceError(thrown) ? (thrown as MillraceError) : undefined
  return new MillraceError({
    op: known?.op ?? op,
    code: known?.code ?? 'internal',
    message: `${messageOf(thrown)} (error ${id})`,
    cause: thrown,
  })
}
