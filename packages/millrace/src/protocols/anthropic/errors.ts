import type { ErrorJson, PublicError } from '../../protocol/index.ts'
import { httpError, withStatus } from '../http-error.ts'
import { runFailure } from '../model-api/index.ts'
import type { HttpError } from '../protocol.ts'

/** Anthropic's error types by status. Clients decide by them whether to try again. */
const types: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

/** The status that Anthropic uses where HTTP has 503. */
const statusOf = (status: number) => (status === 503 ? 529 : status)

type Failure = Pick<HttpError, 'status' | 'code' | 'message'>

/** An error in Anthropic's format. */
function errorBody({ status, code, message }: Failure, id: string, details?: object) {
  const type = types.get(statusOf(status)) ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  // Claude Code compacts its conversation if the message starts like this.
  const isTooLong = code === 'context_overflow' && !message.startsWith('prompt is too long')
  const shown = isTooLong ? `prompt is too long: ${message}` : message
  return { type: 'error', error: { ...(details && { details }), type, message: shown }, request_id: id }
}

/** The error format of all routes. */
export function errorResponse(error: HttpError, details?: object): Response {
  const id = requestId()
  const status = statusOf(error.status)
  const { retryAfterMs = 1000 } = error
  return Response.json(errorBody(error, id, details), {
    status,
    headers: {
      'request-id': id,
      // The server adds it to 429 and 503.
      ...(status === 529 && { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }),
    },
  })
}

/** The last frame of a stream that failed. `id` is that of the request. */
export function errorFrame(error: PublicError, id: string, thrown?: unknown): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(withStatus(thrown, error), id))}\n\n`
}

/** The same for a run that has failed, or was stopped. */
export function runErrorFrame(error: ErrorJson | undefined, id: string): string {
  const failure = error ? runFailure(error) : stopped()
  return errorFrame({ code: failure.code, message: failure.message }, id, failure)
}

/** The run was stopped by another client. The SDKs do not repeat a request with this status. */
export function stopped() {
  return httpError(499, 'stream_interrupted', 'the run was stopped')
}

export function requestId(): string {
  return `req_${crypto.randomUUID().replaceAll('-', '')}`
}
