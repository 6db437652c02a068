import type { ErrorCode, JsonValue } from '../../protocol/index.ts'
import { isObject, MillraceError } from '../../protocol/index.ts'
import type { HeaderLookup } from './retry-after.ts'
import { retryAfterOf } from './retry-after.ts'
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
  const { code, retryable, todo } = kindOfFailure(said, status)
  const advice = code === 'auth' && refusal.keyName ? `${todo} (${refusal.keyName})` : todo
  const answered = refusal.status === undefined ? `${provider} failed` : `${provider} answered ${status}`
  const words = withoutSecrets(said.message, secrets).trim().slice(0, 1000).toWellFormed()
  const retryAfterMs =
    code === 'rate_limit' || code === 'overloaded' || retryable
      ? retryAfterOf(headers, `${said.message} ${JSON.stringify(refusal.body) ?? ''}`)
      : undefined
  // Both OpenAI and Anthropic send it where the status alone would mislead.
  const wish = headers?.get('x-should-retry')
  return new MillraceError({
    op,
    code,
    message: [words ? `${answered}: ${words}` : answered, advice].filter(Boolean).join(' — '),
    retryable: wish === 'true' ? true : wish === 'false' ? false : retryable,
    status,
    retryAfterMs,
  })
}

interface Kind {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly todo?: string
}

/**
 * The conversation does not fit, in each provider's own words:
 * - OpenAI, DeepSeek, vLLM, OpenRouter: `This model's maximum context length is 8192 tokens. However, you requested …`, code
 *   `context_length_exceeded`; newer: `Your input exceeds the context window of this model`
 * - Anthropic: `prompt is too long: 210000 tokens > 200000 maximum`, ``input length and `max_tokens` exceed context limit``
 * - Gemini: `The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)`
 * - Groq: `Please reduce the length of the messages or completion`
 * - Mistral: `Prompt contains 40000 tokens … too large for model with 32768 maximum context length`
 * - xAI: `This model's maximum prompt length is 131072 but the request contains 537812 tokens`
 * - llama.cpp: `the request exceeds the available context size`, type `exceed_context_size_error`; LM Studio: `… tokens to keep
 *   from the initial prompt is greater than the context length`; Ollama: `prompt too long; exceeded max context length`
 * - Moonshot: `Your request exceeded model token limit`; Alibaba: `Range of input length should be [1, 98304]`; GitHub Copilot:
 *   `prompt token count of 64114 exceeds the limit of 64000`; Bedrock: `Input is too long for requested model`
 */
const overflow =
  /context.?(length|window|size|limit)[\w ]*exceed|exceed\w* (the |model'?s? |max\w* |available )*(context|token limit)|maximum (context|prompt) length|prompt (is )?too long|input is too long|input token count.*exceeds|input length.*exceed|reduce the length of the (messages|prompt|input)|greater than the context length|exceeded model token limit|range of input length|token count of \d+ exceeds|exceed_context_size|model_context_window_exceeded|too many (input )?tokens in|larger than the maximum context/i

/** No money or quota is left: waiting does not help. */
const broke =
  /insufficient_quota|insufficient.?balance|exceeded your current quota|credit balance is too low|billing|payment_required|out of credits|insufficient credits|arrearage/i

function kindOfFailure({ message, kinds }: Said, status: number | undefined): Kind {
  const all = `${kinds} ${message}`
  const is = (pattern: RegExp) => pattern.test(kinds)
  if (overflow.test(all)) return { code: 'context_overflow', retryable: false, todo: tooLong }
  if (status === 402 || (broke.test(all) && status !== 401))
    return { code: 'rate_limit', retryable: false, todo: 'check the plan and billing of the account' }
  if (
    status === 401 ||
    status === 403 ||
    is(/authentication|permission|invalid_api_key|unauthorized|unauthenticated/i)
  )
    return { code: 'auth', retryable: false, todo: 'check the API key and what it may do' }
  if (status === 429 || is(/rate_?limit|too_many_requests|resource_exhausted/i))
    return { code: 'rate_limit', retryable: true }
  if (
    status === 529 ||
    status === 503 ||
    is(/overloaded|unavailable|slow_down/i) ||
    /overloaded/i.test(message)
  )
    return { code: 'overloaded', retryable: true }
  if (status === 413 || is(/request_too_large/i))
    return { code: 'context_overflow', retryable: false, todo: tooLong }
  if (status === 408 || status === 504 || is(/timeout/i)) return { code: 'timeout', retryable: true }
  if (status === 404)
    return { code: 'llm_error', retryable: false, todo: "check the model's name and the baseURL" }
  if (status === 409 || (status !== undefined && status >= 500)) return { code: 'llm_error', retryable: true }
  if (status !== undefined) return { code: 'llm_error', retryable: false }
  // In the middle of a stream, with no status: what is not the request's own fault passes.
  return { code: 'llm_error', retryable: !is(/invalid|not_found|unsupported|policy|filter|bad_request/i) }
}

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
  // `{"error":{…}}`, `{"error":"…"}`, `{"type":"error","error":{…}}`, or the fields at the top (vLLM, FastAPI, Mistral).
  const inner = isObject(first.error) ? first.error : first
  const said = [inner.message, first.message, first.error, first.detail, inner.msg].find(
    (text) => text !== undefined && text !== null && text !== '' && !(isObject(text) && text === first.error),
  )
  const code = Number(inner.code ?? inner.status_code ?? first.status_code ?? first.status)
  return {
    message: [
      typeof said === 'string' ? said : said === undefined ? '' : JSON.stringify(said),
      upstream(inner),
    ]
      .filter(Boolean)
      .join(': '),
    kinds: [inner.type, inner.code, inner.status, first.code, first.type, first.error]
      .filter((kind) => typeof kind === 'string')
      .join(' '),
    status: Number.isInteger(code) && code >= 400 && code < 600 ? code : undefined,
  }
}

/** OpenRouter says `Provider returned error` and puts what the provider said into `metadata.raw`. */
function upstream({ metadata }: Record<string, unknown>): string {
  return isObject(metadata) && typeof metadata.raw === 'string' ? metadata.raw : ''
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
