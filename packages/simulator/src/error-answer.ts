import type { ServerResponse } from 'node:http'

/** An error in a format that works for all providers, so that every client shows the message. */
export function answerWithError(
  response: ServerResponse,
  { status, code, message }: { readonly status: number; readonly code: string; readonly message: string },
): void {
  const type = status < 500 ? 'invalid_request_error' : 'api_error'
  const error = { type, message, param: null, code }
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ type: 'error', error }))
}
