import type { ErrorCode, MillraceError } from '../../protocol/index.ts'
import { isMillraceError, isObject } from '../../protocol/index.ts'
import { httpError } from '../http-error.ts'
import type { HttpError } from '../protocol.ts'

/** An error in OpenAI's format. */
export interface OpenAIError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** What OpenAI's SDKs and their users compare `error.code` with. */
const codes: { readonly [Code in ErrorCode]?: string } = {
  auth: 'invalid_api_key',
  context_overflow: 'context_length_exceeded',
  rate_limit: 'rate_limit_exceeded',
  overloaded: 'server_error',
  store_error: 'server_error',
  internal: 'server_error',
}

/** By the field of the request that names what does not exist. */
const notFound: Readonly<Record<string, string>> = {
  model: 'model_not_found',
  previous_response_id: 'previous_response_not_found',
}

type Failure = Pick<HttpError, 'status' | 'code' | 'message' | 'param'>

export function openaiError({ status, code, message, param }: Failure): OpenAIError {
  const type = status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error'
  const known = code === 'not_found' ? notFound[param ?? ''] : codes[code]
  // 403: the key is valid, but the request comes from an origin that is not allowed.
  return { message, type, param: param ?? null, code: (status === 403 ? undefined : known) ?? null }
}

/** The error format of all routes. `x-request-id` is what `error.requestID` of the SDKs shows. */
export function errorResponse(error: HttpError): Response {
  const headers = { 'x-request-id': requestId() }
  return Response.json({ error: openaiError(error) }, { status: error.status, headers })
}

export function requestId(): string {
  return `req_${crypto.randomUUID().replaceAll('-', '')}`
}

/** The last frame of a stream that failed. The SDKs throw it, and do not wait for `[DONE]`. */
export function errorFrame(error: OpenAIError): string {
  return `data: ${JSON.stringify({ error })}\n\n`
}

/** An error to throw for one field of a request. Without a name it is about the whole body. */
export function rejected(param: string, message: string): MillraceError {
  return httpError(400, 'invalid_input', message, param ? { param } : {})
}

/** The fields of a format for what a thread checks. */
interface FieldNames {
  readonly input: string
  readonly output: string
}

/** An error of a thread about what a request sends to it, with the name of the field. */
export function namingField(thrown: unknown, { input, output }: FieldNames): unknown {
  if (!isMillraceError(thrown) || thrown.code !== 'invalid_input') return thrown
  const { message, cause } = thrown as MillraceError
  const { param } = isObject(cause) ? cause : {}
  if (typeof param === 'string') return param === 'input' ? rejected(input, message) : thrown
  if (message.includes('toolChoice')) return rejected('tool_choice', message)
  if (message.includes('request.output')) return rejected(output, message)
  return rejected(/\btools?\b/.test(message) ? 'tools' : input, message)
}
