import type { ErrorCode, JsonObject } from 'millrace'
import type { ErrorFields } from 'millrace/internal'
import type { Frame, Wire } from './wire.ts'

/** An error of the provider, independent of its wire format. */
export interface Failure {
  readonly status: number
  readonly message: string
  readonly type?: string
  readonly code?: string
  readonly param?: string
  readonly headers?: Readonly<Record<string, string>>
}

const openaiTypes: Record<number, string> = {
  429: 'requests',
  500: 'server_error',
  502: 'server_error',
  503: 'service_unavailable_error',
  504: 'server_error',
  529: 'service_unavailable_error',
}

const openaiCodes: Record<number, string> = {
  401: 'invalid_api_key',
  429: 'rate_limit_exceeded',
  503: 'server_is_overloaded',
  529: 'server_is_overloaded',
}

const anthropicTypes: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** The providers' default messages by status. */
const defaultMessages: Record<'openai' | 'anthropic', Record<number, string>> = {
  openai: {
    401: 'Incorrect API key provided: sk-sim****ator. You can find your API key at https://platform.openai.com/account/api-keys.',
    408: 'Request timed out.',
    409: 'The resource is locked. Please try again.',
    413: 'Request body too large.',
    429: 'Rate limit reached for requests. Please try again later.',
    500: 'The server had an error while processing your request. Sorry about that!',
    502: 'Bad gateway.',
    503: 'The engine is currently overloaded, please try again later.',
    529: 'The engine is currently overloaded, please try again later.',
  },
  anthropic: {
    401: 'invalid x-api-key',
    408: 'Request timed out',
    409: 'Conflict',
    413: 'Request exceeds the maximum size',
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: 'Internal server error',
    502: 'Bad gateway',
    503: 'Service unavailable',
    529: 'Overloaded',
  },
}

const familyOf = (wire: Wire) => (wire === 'anthropic' ? 'anthropic' : 'openai')

/** A failure with the provider's default message for this status. */
export function defaultFailure(wire: Wire, status: number, fields: Partial<Failure> = {}): Failure {
  const message = defaultMessages[familyOf(wire)][status] ?? `The request failed with status ${status}.`
  return { status, message, ...fields }
}

const codeStatus: Partial<Record<ErrorCode, number>> = {
  rate_limit: 429,
  auth: 401,
  context_overflow: 400,
  invalid_input: 400,
  timeout: 408,
}

/**
 * A script's error as this provider would report it. An error that is not retryable is a 400, a
 * retryable one a 500, so that a script means the same on every wire.
 */
export function scriptFailure(wire: Wire, error: Partial<ErrorFields>): Failure {
  const { code = 'llm_error', message, retryAfterMs, retryable } = error
  const overloaded = wire === 'anthropic' ? 529 : 503
  const status =
    error.status ??
    (code === 'overloaded' ? overloaded : (codeStatus[code] ?? (retryable === true ? 500 : 400)))
  return {
    ...defaultFailure(wire, status),
    ...(message !== undefined && { message }),
    ...(code === 'context_overflow' && contextOverflow(wire, message)),
    ...(retryAfterMs !== undefined && { headers: retryHeaders(wire, retryAfterMs) }),
  }
}

/** Anthropic has no code for it: clients recognize the message. */
function contextOverflow(wire: Wire, message: string | undefined): Partial<Failure> {
  const defaultMessage = {
    'openai-chat':
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130017 tokens. Please reduce the length of the messages.",
    'openai-responses':
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    anthropic: 'prompt is too long: 210017 tokens > 200000 maximum',
  }[wire]
  if (wire === 'anthropic') return { message: message ? `prompt is too long: ${message}` : defaultMessage }
  return {
    message: message ?? defaultMessage,
    code: 'context_length_exceeded',
    param: wire === 'openai-chat' ? 'messages' : 'input',
  }
}

function retryHeaders(wire: Wire, ms: number): Record<string, string> {
  const seconds = { 'retry-after': String(Math.ceil(ms / 1000)) }
  return wire === 'anthropic' ? seconds : { 'retry-after-ms': String(ms), ...seconds }
}

/**
 * `{"error":{"message":…,"type":…,"param":null,"code":null}}` and
 * `{"type":"error","error":{"type":…,"message":…}}`.
 */
export function failureBody(wire: Wire, failure: Failure, requestId: string): JsonObject {
  if (wire === 'anthropic') return { type: 'error', error: anthropicError(failure), request_id: requestId }
  return { error: openaiError(failure) }
}

function anthropicError({ status, message, type }: Failure): JsonObject {
  return { type: type ?? anthropicTypes[status] ?? 'invalid_request_error', message }
}

function openaiError({ status, message, type, code, param }: Failure): JsonObject {
  return {
    message,
    type: type ?? openaiTypes[status] ?? 'invalid_request_error',
    param: param ?? null,
    code: code ?? openaiCodes[status] ?? null,
  }
}

/**
 * A failure in a stream that started with status 200. Responses reports it twice, in `error` and in
 * `response.failed`. `response` is the response so far.
 */
export function failureFrames(
  wire: Wire,
  failure: Failure,
  { sequence = 0, response = {} }: { sequence?: number; response?: JsonObject } = {},
): Frame[] {
  if (wire === 'anthropic')
    return [{ event: 'error', data: { type: 'error', error: anthropicError(failure) } }]
  const error = openaiError(failure)
  if (wire === 'openai-chat') return [{ data: { error } }]
  const { type, code, message, param } = error as { [key: string]: string | null }
  const failed = {
    ...response,
    status: 'failed',
    error: { code: code ?? type ?? 'server_error', message: message ?? '' },
  }
  return [
    {
      event: 'error',
      data: {
        type: 'error',
        sequence_number: sequence,
        error: { type: type ?? '', code: code ?? type ?? null, message: message ?? '', param: param ?? null },
      },
    },
    {
      event: 'response.failed',
      data: { type: 'response.failed', sequence_number: sequence + 1, response: failed },
    },
  ]
}
