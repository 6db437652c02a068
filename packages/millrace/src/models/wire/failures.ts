import type { ErrorCode, JsonValue } from '../../protocol/index.ts'
import { isObject, MillraceError } from '../../protocol/index.ts'
import { saysBadKey, saysLargerThanLimit, saysNoMoney, saysTooLong } from './failure-words.ts'
import type { HeaderLookup } from './retry-after.ts'
import { retryAfterOf, waitIn } from './retry-after.ts'
import { withoutSecrets } from './secrets.ts'

/** A provider's no: an HTTP answer that is not 2xx, or an error inside a stream that began well. */
export interface Refusal {
  readonly op?: string
  readonly provider: string
  readonly status?: number | undefined
  readonly headers?: HeaderLookup | undefined
  /** What it said: JSON in any of the usual shapes, as text or parsed, or anything else. */
  readonly body: unknown
  readonly secrets?: readonly string[]
  /** Where the key comes from, for whoever has to mend it. */
  readonly keyName?: string | undefined
}

/** What a provider said, whatever its shape. */
interface Said {
  readonly message: string
  /** Everything that can tell which kind of failure it is: types, codes, statuses, in words. */
  readonly kinds: string
  /** An HTTP status inside the body: OpenRouter and Gemini send it as `code`. */
  readonly status: number | undefined
}

/** A provider's failure as ours, with what it said and what to do about it. Never holds a key. */
export function failureOf(refusal: Refusal): MillraceError {
  const { op = 'model.stream', provider, headers, secrets = [] } = refusal
  const said = read(refusal.body)
  const status = refusal.status ?? said.status
  const told = waitIn(`${said.message} ${wordsOf(refusal.body)}`)
  const wait = retryAfterOf(headers) ?? told
  const { code, retryable, todo } = kindOfFailure(said, status, told !== undefined)
  const advice = code === 'auth' && refusal.keyName ? `${todo} (${refusal.keyName})` : todo
  const answered = refusal.status === undefined ? `${provider} failed` : `${provider} answered ${status}`
  const words = withoutSecrets(said.message, secrets).trim().slice(0, 1000).toWellFormed()
  // Both OpenAI and Anthropic send it where the status alone would mislead.
  const wish = headers?.get('x-should-retry')
  const again = wish === 'true' || (wish !== 'false' && retryable)
  return new MillraceError({
    op,
    code,
    message: [words ? `${answered}: ${words}` : answered, advice].filter(Boolean).join(' — '),
    retryable: again,
    status,
    retryAfterMs: again || code === 'rate_limit' ? wait : undefined,
  })
}

interface Kind {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly todo?: string
}

function kindOfFailure({ message, kinds }: Said, status: number | undefined, waits: boolean): Kind {
  const is = (pattern: RegExp) => pattern.test(kinds)
  if (status === 413 || saysTooLong(`${kinds} ${message}`) || is(/request_too_large/i))
    return { code: 'context_overflow', retryable: false, todo: tooLong }
  // Gemini says `You exceeded your current quota` of the one for a minute too, and then when to come back.
  if (status === 402 || (mayBeMoney.has(status) && saysNoMoney(kinds, waits ? '' : message)))
    return { code: 'rate_limit', retryable: false, todo: 'check the plan and billing of the account' }
  if (
    status === 401 ||
    status === 403 ||
    is(/authentication|permission|invalid_api_key|unauthorized|unauthenticated/i) ||
    ((status === 400 || status === undefined) && saysBadKey(message))
  )
    return { code: 'auth', retryable: false, todo: 'check the API key and what it may do' }
  if (status === 429 || is(/rate_?limit|too_many_requests|resource_exhausted|throttl/i))
    return saysLargerThanLimit(message)
      ? { code: 'rate_limit', retryable: false, todo: 'shorten the conversation, or raise the limit' }
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
    return { code: 'llm_error', retryable: false, todo: "check the model's name and the baseURL" }
  if (status === 409 || (status !== undefined && status >= 500)) return { code: 'llm_error', retryable: true }
  if (status !== undefined) return { code: 'llm_error', retryable: false }
  // In the middle of a stream, with no status: what is not the request's own fault passes.
  return { code: 'llm_error', retryable: !is(/invalid|not_found|unsupported|policy|filter|bad_request/i) }
}

const mayBeMoney: ReadonlySet<number | undefined> = new Set([400, 403, 429, undefined])

const tooLong = 'shorten the conversation, or use a model with a larger context'

function read(body: unknown): Said {
  const value = typeof body === 'string' ? parsed(body) : body
  if (typeof value === 'string') {
    const page = /^\s*<(!doctype|html|\?xml|head|body)/i.test(value)
    return { message: page ? `a web page${titleOf(value)}` : value, kinds: '', status: undefined }
  }
  // Gemini's compatible endpoint puts the one error into a list.
  const first: unknown = Array.isArray(value) ? value[0] : value
  if (!isObject(first)) return { message: '', kinds: '', status: undefined }
  // `{"error":{…}}`, `{"error":"…"}`, `{"type":"error","error":{…}}`, or the fields at the top (vLLM, FastAPI, Mistral, AWS).
  const inner = isObject(first.error) ? first.error : first
  const said = [inner.message, first.message, first.error, first.detail, inner.msg, inner.Message].find(
    (text) => text !== undefined && text !== null && text !== '' && !(isObject(text) && text === first.error),
  )
  const code = Number(inner.code ?? inner.status_code ?? first.status_code ?? first.status)
  const words = typeof said === 'string' ? said : said === undefined ? '' : JSON.stringify(said)
  const nested = typeof said === 'string' ? within(said) : undefined
  const { metadata } = inner
  // OpenRouter says `Provider returned error` and puts what the provider said here.
  const raw = isObject(metadata) && typeof metadata.raw === 'string' ? metadata.raw : ''
  const upstream = within(raw)
  const short = typeof first.error === 'string' && !/\s/.test(first.error) ? first.error : undefined
  const kinds = [inner.type, inner.code, inner.status, first.code, first.type, first.__type, short]
  return {
    message: [nested?.message || words, upstream?.message || raw].filter(Boolean).join(': '),
    kinds: [...kinds, nested?.kinds, upstream?.kinds].filter((kind) => typeof kind === 'string').join(' '),
    status: Number.isInteger(code) && code >= 400 && code < 600 ? code : nested?.status,
  }
}

/** Proxies put the whole answer of a provider into a text, as JSON. */
function within(text: string): Said | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  const value = parsed(text)
  return typeof value === 'string' ? undefined : read(value)
}

function wordsOf(body: unknown): string {
  return typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function titleOf(page: string): string {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(page)?.[1]?.trim()
  return title ? ` titled "${title}"` : ''
}
