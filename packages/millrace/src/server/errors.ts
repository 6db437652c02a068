import type { MillraceError } from '../protocol/index.ts'
import { publicError } from '../protocol/index.ts'
import type { MountedProtocol } from '../protocols/index.ts'
import { errorReport, httpError, withStatus } from '../protocols/index.ts'

export function shuttingDown(): MillraceError {
  return httpError(503, 'overloaded', 'the server is shutting down: try again', { retryAfterMs: 1000 })
}

/**
 * The response to a request that was rejected or failed, in the format of its protocol if it
 * defines one. Errors that the client did not cause are reported to `onError`.
 */
export function errorResponse(
  thrown: unknown,
  onError: (error: MillraceError) => void,
  shape: MountedProtocol['error'] = ({ status, ...error }) => Response.json({ error }, { status }),
): Response {
  const error = withStatus(
    thrown,
    publicError(thrown, (error, id) => onError(errorReport(error, id))),
  )
  const response = shape(error)
  const { headers } = response
  headers.set('cache-control', 'no-store')
  if (response.status === 401 && !headers.has('www-authenticate')) headers.set('www-authenticate', 'Bearer')
  if (response.status === 429 || response.status === 503) headers.set('retry-after', retryAfterOf(error))
  return response
}

/** In whole seconds (RFC 9110, 10.2.3). */
export function retryAfterOf({ retryAfterMs = 1000 }: { readonly retryAfterMs?: number }): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
}
