import type { ErrorCode, MillraceError } from './errors.ts'
import { isMillraceError } from './errors.ts'

/** An error as a client is told of it: what it can act on, and nothing of what is inside. */
export interface PublicError {
  readonly code: ErrorCode
  readonly message: string
  /** How long to wait before the same is tried again. */
  readonly retryAfterMs?: number
  /** Stands in what the server's own `onError` is told, too. */
  readonly id?: string
}

/** Told as they are: they speak of what the client itself has said. */
const tellable: ReadonlySet<ErrorCode> = new Set([
  'invalid_input',
  'not_found',
  'conflict',
  'auth',
  'rate_limit',
  'overloaded',
])

/** What to tell a client. Whatever is not about the client itself goes to `report`, under an id that the client is given. */
export function publicError(thrown: unknown, report: (thrown: unknown, id: string) => void): PublicError {
  const error = isMillraceError(thrown) ? (thrown as MillraceError) : undefined
  if (error && tellable.has(error.code)) {
    const { code, message, retryAfterMs } = error
    return { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  const id = crypto.randomUUID()
  report(thrown, id)
  if (error?.code === 'store_error')
    return {
      code: 'store_error',
      message: 'the conversation cannot be read or written now: try again later',
      id,
    }
  return { code: 'internal', message: 'something went wrong here', id }
}
