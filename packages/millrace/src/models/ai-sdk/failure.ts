import type { ErrorCode } from '../../protocol/index.ts'
import { isObject, MillraceError, messageOf } from '../../protocol/index.ts'
import { failureOf } from '../wire/failures.ts'
import { isSafeToShow, secretsInUrl, withoutSecrets } from '../wire/secrets.ts'
import { streamError } from '../wire/stream-error.ts'

const op = 'model.stream'

/**
 * Converts what an AI SDK provider throws, or reports in its stream, to our error. Errors are
 * recognized by shape, since a program may contain several copies of the SDK's error classes:
 * - `APICallError`: `statusCode`, `responseHeaders`, `responseBody`; without a status, the request
 *   never reached the provider
 * - in a stream: `{ message, type, code, statusCode, data }`, or the provider's raw frame
 * - the SDK's other errors, by name
 */
export function failureFrom(
  thrown: unknown,
  { provider, secrets: known, signal }: { provider: string; secrets: readonly string[]; signal: AbortSignal },
): MillraceError {
  const secrets = [...known, ...secretsOf(thrown)]
  if (thrown instanceof MillraceError) return thrown
  const clean = (text: string) => withoutSecrets(text, secrets).slice(0, 1000).toWellFormed()
  const fail = (code: ErrorCode, message: string, retryable?: boolean) =>
    new MillraceError({
      op,
      code,
      message: clean(message),
      retryable,
      // The cause would show up in every event of this failure.
      cause: isSafeToShow(thrown, secrets) ? thrown : undefined,
    })

  if (signal.aborted) return fail('stream_interrupted', 'the request was aborted')
  if (!isObject(thrown)) return failureOf({ op, provider, body: thrown, secrets })

  const kind = kindByName(thrown.name)
  // The messages of these errors quote the response, so they are not kept as the cause either.
  if (kind?.code === 'stream_error')
    return streamError(`${provider} sent an invalid response (${thrown.name})`)
  if (kind) return fail(kind.code, `${provider}: ${messageOf(thrown)}`, kind.retryable)
  const status = typeof thrown.statusCode === 'number' ? thrown.statusCode : undefined
  // Some providers report a broken connection as `Failed to process successful response`, status
  // 200.
  const broken = status !== undefined && status >= 400 ? undefined : networkProblem(thrown)
  if (broken !== undefined) return fail('stream_error', `${provider}: the connection failed: ${broken}`)
  if (status !== undefined || typeof thrown.responseBody === 'string')
    return failureOf({
      op,
      provider,
      status,
      headers: headersOf(thrown.responseHeaders),
      body: thrown.responseBody || errorBody(thrown),
      secrets,
    })

  if (thrown instanceof Error) return fail('llm_error', messageOf(thrown), thrown.isRetryable === true)
  return failureOf({ op, provider, body: wireError(thrown), secrets })
}

/** A key in the request URL, as Google allows. */
function secretsOf(thrown: unknown): string[] {
  const url = isObject(thrown) ? thrown.url : undefined
  return typeof url === 'string' && URL.canParse(url) ? secretsInUrl(url) : []
}

/** The messages of `AI_LoadAPIKeyError` and others already say what to do. */
function kindByName(name: unknown): { code: ErrorCode; retryable: boolean } | undefined {
  switch (name) {
    case 'AI_LoadAPIKeyError':
    case 'AI_LoadSettingError':
      return { code: 'auth', retryable: false }
    case 'AI_UnsupportedFunctionalityError':
    case 'AI_InvalidPromptError':
    case 'AI_InvalidArgumentError':
      return { code: 'invalid_input', retryable: false }
    // A frame that is not JSON, or has the wrong shape.
    case 'AI_JSONParseError':
    case 'AI_TypeValidationError':
    case 'AI_InvalidResponseDataError':
    case 'AI_EmptyResponseBodyError':
      return { code: 'stream_error', retryable: true }
    default:
      return undefined
  }
}

function errorBody({ message, type, code, data }: Readonly<Record<string, unknown>>): unknown {
  const status = isObject(data) && typeof data.status === 'string' ? data.status : undefined
  return { error: { message, type, code, status } }
}

/**
 * The Responses API nests the error one level deeper:
 * `{"type":"response.failed","response":{"error":{…}}}`.
 */
function wireError(frame: Readonly<Record<string, unknown>>): unknown {
  return isObject(frame.response) && isObject(frame.response.error) ? frame.response : frame
}

function headersOf(headers: unknown): { get(name: string): string | null } | undefined {
  if (!isObject(headers)) return undefined
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    get(name) {
      const value = lower.get(name)
      return typeof value === 'string' ? value : null
    },
  }
}

/**
 * The message of a lost connection. undici says `fetch failed` or `terminated`, and the SDK `Cannot
 * connect to API: …`; the actual reason is in the innermost cause.
 */
function networkProblem(thrown: Readonly<Record<string, unknown>>): string | undefined {
  let at = thrown
  let lost = isConnectionLoss(at)
  for (let depth = 0; depth < 5 && isObject(at.cause); depth++) {
    at = at.cause
    lost ||= isConnectionLoss(at)
  }
  if (!lost) return undefined
  const code = typeof at.code === 'string' ? at.code : ''
  const text = messageOf(at)
  return text.includes(code) ? text : `${code} ${text}`
}

function isConnectionLoss(error: Readonly<Record<string, unknown>>): boolean {
  const { code } = error
  return (
    (typeof code === 'string' && /^(E[A-Z]{4,}|UND_ERR_\w+|HPE_\w+|Connection\w+)$/.test(code)) ||
    /^(terminated|fetch failed|failed to fetch|network error|Cannot connect to API)/i.test(messageOf(error))
  )
}
