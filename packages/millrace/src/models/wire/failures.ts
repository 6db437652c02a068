import type { ErrorCode, JsonValue } from '../../protocol/index.ts'
import { isObject, MillraceError } from '../../protocol/index.ts'
import { exceedsRateLimit, isBadKey, isContextOverflow, isOutOfCredit } from './failure-patterns.ts'
import type { HeaderLookup } from './retry-after.ts'
import { retryAfterOf, waitInText } from './retry-after.ts'
import { withoutSecrets } from './secrets.ts'

/** An HTTP response that is not 2xx, or an error inside a stream that started normally. */
export interface ProviderFailure {
  readonly op?: string
  readonly provider: string
  readonly status?: number | undefined
  readonly headers?: HeaderLookup | undefined
  /** The body: JSON in any of the usual shapes, as text or parsed, or anything else. */
  readonly body: unknown
  readonly secrets?: readonly string[]
  /** The environment variable of the key, named in `auth` errors. */
  readonly keyName?: string | undefined
}

/** An error body in any shape, normalized. */
interface ParsedFailure {
  readonly message: string
  /** Everything that identifies the kind of failure: types, codes and statuses, joined. */
  readonly kinds: string
  /** An HTTP status inside the body: OpenRouter and Gemini send it as `code`. */
  readonly status: number | undefined
}

/**
 * Converts a provider's error to ours, with its message and what to do about it. Contains no keys.
 */
export function failureOf(failure: ProviderFailure): MillraceError {
  const { op = 'model.stream', provider, headers, secrets = [] } = failure
  const parsed = parseFailure(failure.body)
  const status = failure.status ?? parsed.status
  const bodyWait = waitInText(`${parsed.message} ${asText(failure.body)}`)
  const wait = retryAfterOf(headers) ?? bodyWait
  const { code, retryable, advice } = classify(parsed, status, bodyWait !== undefined)
  const nextStep = code === 'auth' && failure.keyName ? `${advice} (${failure.keyName})` : advice
  const outcome = failure.status === undefined ? `${provider} failed` : `${provider} returned ${status}`
  const text = withoutSecrets(parsed.message, secrets).trim().slice(0, 1000).toWellFormed()
  // OpenAI and Anthropic send this when the status alone would mislead.
  const shouldRetry = headers?.get('x-should-retry')
  const mayRetry = shouldRetry === 'true' || (shouldRetry !== 'false' && retryable)
  return new MillraceError({
    op,
    code,
    message: [text ? `${outcome}: ${text}` : outcome, nextStep].filter(Boolean).join(' — '),
    retryable: mayRetry,
    status,
    retryAfterMs: mayRetry || code === 'rate_limit' ? wait : undefined,
  })
}

interface Kind {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly advice?: string
}

function classify({ message, kinds }: ParsedFailure, status: number | undefined, namesWait: boolean): Kind {
  const is = (pattern: RegExp) => pattern.test(kinds)
  if (status === 413 || isContextOverflow(`${kinds} ${message}`) || is(/request_too_large/i))
    return { code: 'context_overflow', retryable: false, advice: overflowAdvice }
  // Gemini sends `You exceeded your current quota` for the limit per minute too, but then with a
  // delay.
  if (status === 402 || (billingStatuses.has(status) && isOutOfCredit(kinds, namesWait ? '' : message)))
    return { code: 'rate_limit', retryable: false, advice: 'check the plan and billing of the account' }
  if (
    status === 401 ||
    status === 403 ||
    is(/authentication|permission|invalid_api_key|unauthorized|unauthenticated/i) ||
    ((status === 400 || status === undefined) && isBadKey(message))
  )
    return { code: 'auth', retryable: false, advice: 'check the API key and its permissions' }
  if (status === 429 || is(/rate_?limit|too_many_requests|resource_exhausted|throttl/i))
    return exceedsRateLimit(message)
      ? { code: 'rate_limit', retryable: false, advice: 'shorten the conversation, or raise the limit' }
      : { code: 'rate_limit', retryable: true }
  if (
    status === 529 ||
    status === 503 ||
    is(/overloaded|unavailable|slow_down/i) ||
    ((status === undefined || status >= 500) && /overloaded/i.test(message))
  )
    return { code: 'overloaded', retryable: true }
  if (status === 408 || status === 504 || is(/timeout|deadline_exceeded/i))
    return { code: 'timeout', retryable: true }
  // LM Studio, with a 200: `Unexpected endpoint or method. (POST /chat/completions)`.
  if (status === 404 || /^unexpected endpoint/i.test(message))
    return { code: 'llm_error', retryable: false, advice: "check the model's name and the baseURL" }
  if (status === 409 || (status !== undefined && status >= 500)) return { code: 'llm_error', retryable: true }
  if (status !== undefined) return { code: 'llm_error', retryable: false }
  // Mid-stream, without a status: retryable unless the request itself is at fault.
  return { code: 'llm_error', retryable: !is(/invalid|not_found|unsupported|policy|filter|bad_request/i) }
}

const billingStatuses: ReadonlySet<number | undefined> = new Set([400, 403, 429, undefined])

const overflowAdvice = 'shorten the conversation, or use a model with a larger context'

function parseFailure(body: unknown): ParsedFailure {
  const value = typeof body === 'string' ? tryParse(body) : body
  if (typeof value === 'string') {
    const page = /^\s*<(!doctype|html|\?xml|head|body)/i.test(value)
    return { message: page ? `a web page${titleSuffix(value)}` : value, kinds: '', status: undefined }
  }
  // Gemini's OpenAI-compatible endpoint wraps the error in a list.
  const first: unknown = Array.isArray(value) ? value[0] : value
  if (!isObject(first)) return { message: '', kinds: '', status: undefined }
  // `{"error":{…}}`, `{"error":"…"}`, `{"type":"error","error":{…}}`, or the fields at the top
  // level (vLLM, FastAPI, Mistral, AWS).
  const inner = isObject(first.error) ? first.error : first
  const reported = [inner.message, first.message, first.error, first.detail, inner.msg, inner.Message].find(
    (text) => text !== undefined && text !== null && text !== '' && !(isObject(text) && text === first.error),
  )
  const code = Number(inner.code ?? inner.status_code ?? first.status_code ?? first.status)
  const messageText =
    typeof reported === 'string' ? reported : reported === undefined ? '' : JSON.stringify(reported)
  const nested = typeof reported === 'string' ? nestedFailure(reported) : undefined
  const { metadata } = inner
  // OpenRouter says `Provider returned error` and puts the upstream error here.
  const raw = isObject(metadata) && typeof metadata.raw === 'string' ? metadata.raw : ''
  const upstream = nestedFailure(raw)
  const errorName = typeof first.error === 'string' && !/\s/.test(first.error) ? first.error : undefined
  const kinds = [inner.type, inner.code, inner.status, first.code, first.type, first.__type, errorName]
  return {
    message: [nested?.message || messageText, upstream?.message || raw].filter(Boolean).join(': '),
    kinds: [...kinds, nested?.kinds, upstream?.kinds].filter((kind) => typeof kind === 'string').join(' '),
    status: Number.isInteger(code) && code >= 400 && code < 600 ? code : nested?.status,
  }
}

/** Proxies put the provider's whole response into a string, as JSON. */
function nestedFailure(text: string): ParsedFailure | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = tryParse(text)
  return typeof value === 'string' ? undefined : parseFailure(value)
}

function asText(body: unknown): string {
  return typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
}

function tryParse(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function titleSuffix(page: string): string {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(page)?.[1]?.trim()
  return title ? ` titled "${title}"` : ''
}
