import type { ErrorCode, ErrorJson, MillraceError } from '../../protocol/index.ts'
import { httpError } from '../http-error.ts'

/** The statuses that clients of providers expect, and act on. */
const statuses: { readonly [Code in ErrorCode]?: number } = {
  invalid_input: 400,
  context_overflow: 400,
  rate_limit: 429,
  overloaded: 503,
  timeout: 504,
  store_error: 503,
  internal: 500,
}

/**
 * A failed run as the error of an HTTP response. A provider that rejects the server's key or its
 * request is not the client's fault, so those are 502.
 */
export function runFailure({ code, message, retryAfterMs }: ErrorJson): MillraceError {
  const status = statuses[code] ?? 502
  // `auth` is about the client's own key in every protocol.
  const shown: ErrorCode = code === 'auth' ? 'llm_error' : code
  return httpError(status, shown, message, { ...(retryAfterMs !== undefined && { retryAfterMs }) })
}
