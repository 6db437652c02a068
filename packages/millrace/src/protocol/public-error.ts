import type { ErrorCode, MillraceError } from './errors.ts'
import { isMillraceError } from './errors.ts'

/** An error as clients see it: what they can act on, without internals. */
export interface PublicError {
  readonly code: ErrorCode
  readonly message: string
  /** How long to wait before trying again. */
  readonly retryAfterMs?: number
  /** Also passed to the server's `onError`, to find the details. */
  readonly id?: string
}

/** Sent to clients unchanged: these errors are about the client's own request. */
const publicCodes: ReadonlySet<ErrorCode> = new Set([
  'invalid_input',
  'not_found',
  'conflict',
  'auth',
  'rate_limit',
  'overloaded',
])

/** Made by the server for the client, as the error of a response. */
function isForClient({ op, status }: MillraceError): boolean {
  return op === 'server.fetch' && status !== undefined
}

/**
 * The error to send to a client. Errors that are not about its request go to `report`, with an id
 * that the client gets too.
 */
export function publicError(thrown: unknown, report: (thrown: unknown, id: string) => void): PublicError {
  const error = isMillraceError(thrown) ? (thrown as MillraceError) : undefined
  if (error && (publicCodes.has(error.code) || isForClient(error))) {
    const { code, message, retryAfterMs } = error
    return { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  const id = crypto.randomUUID()
  report(thrown, id)
  if (error?.code === 'store_error')
    return {
      code: 'store_error',
      message: 'the conversation cannot be read or written right now: try again later',
      id,
    }
  return { code: 'internal', message: 'an internal error occurred', id }
}
