import type { ErrorCode, PublicError } from '../protocol/index.ts'
import { isMillraceError, MillraceError, messageOf } from '../protocol/index.ts'
import type { HttpError } from './protocol.ts'

const op = 'server.fetch'

/** Why a request is refused, to be thrown. The client is told all of it. */
export function httpError(
  status: number,
  code: ErrorCode,
  message: string,
  more: { readonly retryAfterMs?: number } = {},
): MillraceError {
  return new MillraceError({ op, code, status, message, ...more })
}

/** The same message whether it does not exist or belongs to another user. */
export function noThread(): MillraceError {
  return httpError(404, 'not_found', 'there is no such thread')
}

/** A number that is not there yet belongs to another log: one that was deleted, or of another server. */
export function checkCursor(after: number, head: number) {
  if (after > head) throw httpError(400, 'invalid_input', `after is ${after}, but the log ends at ${head}`)
}

/** Where no finer status was given. */
const statuses: { readonly [Code in ErrorCode]?: number } = {
  invalid_input: 400,
  auth: 401,
  not_found: 404,
  conflict: 409,
  rate_limit: 429,
  overloaded: 503,
  store_error: 503,
}

/** The status of what was thrown. One is ours only where the server has set it: that of other errors is a provider's. */
export function withStatus(thrown: unknown, told: PublicError): HttpError {
  const own = isMillraceError(thrown) && thrown.op === op ? (thrown as MillraceError).status : undefined
  return { ...told, status: own ?? statuses[told.code] ?? 500 }
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
