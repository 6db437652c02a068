import type { JsonObject, WireListener } from '../../protocol/index.ts'
import { isObject, MillraceError, messageOf } from '../../protocol/index.ts'
import { bodyText } from './body.ts'
import { failureOf } from './failures.ts'
import type { Fetch, HttpResponse } from './http-response.ts'
import { isSafeToShow, withoutSecrets } from './secrets.ts'
import { send } from './send.ts'
import { wireRecorder } from './wire-recorder.ts'

export interface HttpCall {
  readonly provider: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Without a body the request is a GET. */
  readonly body: JsonObject | undefined
  readonly signal: AbortSignal
  /** Replaces the platform's own way to send requests. */
  readonly fetch: Fetch | undefined
  /** Must not appear in any error. */
  readonly secrets: readonly string[]
  readonly keyName: string | undefined
  readonly wire?: WireListener | undefined
}

/**
 * Sends a request and resolves when an event stream has started. Throws our error for anything
 * else.
 */
export async function openStream(call: HttpCall): Promise<HttpResponse> {
  const { provider, url, body, signal, fetch, secrets, keyName } = call
  // A custom fetch may ignore the signal.
  if (signal.aborted) throw abortError()
  const text = body && bodyText(body)
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    accept: 'text/event-stream',
    ...call.headers,
  }
  const recorder = call.wire && wireRecorder(call.wire, secrets)
  recorder?.sent({ url, headers, body: text ?? '' })
  let response = await send({ url, headers, body: text, signal }, fetch).catch((thrown: unknown) => {
    throw unreachable(thrown, call)
  })
  try {
    if (recorder) response = recorder.responded(response)
    const { status, headers } = response
    if (response.isRedirect) throw redirected(response, call)
    if (status < 200 || status > 299) {
      const errorBody = response.encoding ? '' : await readStart(response)
      throw failureOf({ provider, status, headers, body: errorBody, secrets, keyName })
    }
    if (response.encoding) throw compressed(response.encoding, call)
    const type = headers.get('content-type') ?? ''
    // Some local servers send no content type at all.
    if (type !== '' && !/^text\/event-stream\b/i.test(type)) throw await notAStream(response, type, call)
    return response
  } catch (thrown) {
    response.close()
    throw thrown
  }
}

/** The error for a connection that broke while the response was read. */
export function brokenConnection(thrown: unknown, call: HttpCall): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  return networkFailure(thrown, call, 'the stream broke off')
}

function unreachable(thrown: unknown, call: HttpCall): MillraceError {
  const { host, hostname } = new URL(call.url)
  if (/^(UND_)?ERR_INVALID/.test(rootCause(thrown).code))
    return networkFailure(thrown, call, 'the request cannot be sent')
  const local = /^(localhost|127\.|\[::1\])/.test(hostname)
  return networkFailure(thrown, call, `cannot reach ${host}${local ? ' (is the server running?)' : ''}`)
}

/** Not worth a retry: a bad certificate, a misconfigured proxy, an invalid header. */
const permanentErrors = /CERT|TLS|SSL|SELF_SIGNED|ERR_INVALID|PROTOCOL/i

/** Node's `fetch` has its own timeouts, which are shorter than those of the agent. */
const fetchTimeouts: ReadonlyMap<string, string> = new Map([
  [
    'UND_ERR_HEADERS_TIMEOUT',
    'fetch timed out waiting for the response to start: pass a fetch with a longer timeout',
  ],
  [
    'UND_ERR_BODY_TIMEOUT',
    'fetch timed out in the middle of the response: pass a fetch with a longer timeout',
  ],
])

function networkFailure(thrown: unknown, call: HttpCall, what: string): MillraceError {
  if (call.signal.aborted) return abortError()
  const { code, text } = rootCause(thrown)
  const timedOut = /TIMEOUT|ETIMEDOUT/.test(code)
  const timeoutMessage = fetchTimeouts.get(code)
  // `connect ECONNREFUSED 127.0.0.1:9` only repeats the code and the host.
  const reason = code && text.includes(code) ? code : [code, text].filter(Boolean).join(' ')
  const detail = withoutSecrets(reason, call.secrets)
  // A TypeError without a cause is not about the network but about the request.
  const isBadRequest =
    thrown instanceof TypeError && thrown.cause === undefined && /invalid|header|url/i.test(text)
  return new MillraceError({
    op: 'model.stream',
    code: timedOut ? 'timeout' : 'stream_error',
    message: `${call.provider}: ${timeoutMessage ?? `${what}: ${detail}`}`,
    retryable: !permanentErrors.test(code) && !isBadRequest,
    cause: isSafeToShow(thrown, call.secrets) ? thrown : undefined,
  })
}

function abortError(): MillraceError {
  return new MillraceError({
    op: 'model.stream',
    code: 'stream_interrupted',
    message: 'the request was aborted',
  })
}

/** `fetch failed` and `terminated` say nothing: the reason is in the innermost cause. */
function rootCause(thrown: unknown): { code: string; text: string } {
  let at: unknown = thrown
  for (let depth = 0; depth < 5 && isObject(at) && isObject(at.cause); depth++) at = at.cause
  const code = isObject(at) && typeof at.code === 'string' ? at.code : ''
  const text = messageOf(at)
  return { code, text: text.startsWith(code) ? text.slice(code.length).trim() : text }
}

function redirected({ status, headers }: HttpResponse, { provider, url }: HttpCall): MillraceError {
  const location = headers.get('location') ?? ''
  const target = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : ''
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} ${status ? `returned ${status}` : 'redirected the request'}: redirects${target} are not followed, so that the key stays here. Set baseURL to the final address`,
    status: status || undefined,
  })
}

/**
 * The server compressed the response although we ask for `identity`. `fetch` would decompress it.
 */
function compressed(encoding: string, { provider, secrets }: HttpCall): MillraceError {
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} sent a compressed response (${withoutSecrets(encoding, secrets).slice(0, 40)}): pass fetch: globalThis.fetch, which can read it`,
  })
}

async function notAStream(response: HttpResponse, type: string, call: HttpCall): Promise<MillraceError> {
  const { provider, secrets, keyName, url } = call
  const { headers } = response
  const text = await readStart(response)
  const kind = /^application\/(\S+\+)?json\b/i.test(type) ? kindOfJson(text) : 'other'
  if (kind === 'failure') return failureOf({ provider, body: text, headers, secrets, keyName })
  if (kind === 'whole')
    return new MillraceError({
      op: 'model.stream',
      code: 'streaming_not_supported',
      message: `${provider} returned the whole answer instead of a stream: this server cannot stream. Wrap it with fromGenerate()`,
    })
  // Keys are removed before the text is cut, or a part of one could remain.
  const start = withoutSecrets(text, secrets).replace(/\s+/g, ' ').trim().slice(0, 120).toWellFormed()
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} returned 200 with ${withoutSecrets(type, secrets).slice(0, 100)} instead of an event stream: check the baseURL, and that no proxy is in between (${new URL(url).origin} sent: ${start})`,
    status: response.status,
  })
}

/**
 * What was sent instead of a stream. A long body is not read to its end but recognized by its
 * start.
 */
function kindOfJson(text: string): 'failure' | 'whole' | 'other' {
  // For example an event stream with a wrong content type.
  if (!/^\s*[[{]/.test(text)) return 'other'
  const whole = /"(choices|output|content)"\s*:\s*\[/.test(text)
  try {
    const value: unknown = JSON.parse(text)
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (!isObject(first)) return 'other'
    const { error, object, type, detail, message } = first
    if (error || object === 'error' || type === 'error' || (!whole && (detail || message))) return 'failure'
  } catch {
    // Cut off, or not JSON after all.
  }
  return whole ? 'whole' : 'other'
}

const maxErrorChars = 64 * 1024

/** The start of an error body, read for 5 s at most: a broken server may stall here too. */
async function readStart(response: HttpResponse): Promise<string> {
  const decoder = new TextDecoder()
  const timer = setTimeout(response.close, 5000)
  let text = ''
  try {
    while (text.length < maxErrorChars) {
      const bytes = await response.read()
      if (!bytes) break
      text += decoder.decode(bytes, { stream: true })
    }
  } catch {
    // Use what was read before the connection broke.
  } finally {
    clearTimeout(timer)
    response.close()
  }
  return text
}
