import type { JsonObject, WireListener } from '../../protocol/index.ts'
import { invalidInput, isObject, MillraceError, messageOf } from '../../protocol/index.ts'
import { failureOf } from './failures.ts'
import type { Fetch, HttpAnswer } from './http-answer.ts'
import { isHarmless, withoutSecrets } from './secrets.ts'
import { send } from './send.ts'
import { wireTeller } from './wire-teller.ts'

export interface HttpCall {
  readonly provider: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Without one it is a GET. */
  readonly body: JsonObject | undefined
  readonly signal: AbortSignal
  /** Instead of what the platform has. */
  readonly fetch: Fetch | undefined
  /** What must not stand in any error. */
  readonly secrets: readonly string[]
  readonly keyName: string | undefined
  readonly wire?: WireListener | undefined
}

/** Sends a request and resolves when a stream of events has begun; whatever else comes back is thrown as our error. */
export async function openStream(call: HttpCall): Promise<HttpAnswer> {
  const { provider, url, body, signal, fetch, secrets, keyName } = call
  // A fetch of the caller's own may not look at the signal.
  if (signal.aborted) throw interrupted()
  const text = body && wellFormed(body)
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    accept: 'text/event-stream',
    ...call.headers,
  }
  const teller = call.wire && wireTeller(call.wire, secrets)
  teller?.sent({ url, headers, body: text ?? '' })
  let answer = await send({ url, headers, body: text, signal }, fetch).catch((thrown: unknown) => {
    throw unreachable(thrown, call)
  })
  try {
    if (teller) answer = teller.answered(answer)
    const { status } = answer
    if (answer.isRedirect) throw redirected(answer, call)
    if (status < 200 || status > 299) {
      const said = answer.encoding ? '' : await beginningOf(answer)
      throw failureOf({ provider, status, headers: answer.headers, body: said, secrets, keyName })
    }
    if (answer.encoding) throw encoded(answer.encoding, call)
    const type = answer.headers.get('content-type') ?? ''
    // Some local servers leave the type out altogether.
    if (type !== '' && !/^text\/event-stream\b/i.test(type)) throw await notAStream(answer, type, call)
    return answer
  } catch (thrown) {
    answer.close()
    throw thrown
  }
}

/**
 * Half of a character that takes two is written as an escape, which Anthropic refuses (`no low surrogate in string`), and with it
 * every further request of the conversation. They are rare: only text in which one shows is gone through again.
 */
function wellFormed(body: JsonObject): string {
  const text = written(body)
  if (!/\\ud[89a-f]/.test(text)) return text
  return JSON.stringify(body, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value))
}

function written(body: JsonObject): string {
  try {
    return JSON.stringify(body)
  } catch (cause) {
    const message = `the request cannot be written as JSON (${messageOf(cause)}): look at settings.extra`
    throw invalidInput('model.stream', message, cause)
  }
}

/** A connection that broke while its answer was read. */
export function broken(thrown: unknown, call: HttpCall): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  return networkFailure(thrown, call, 'the stream broke off')
}

function unreachable(thrown: unknown, call: HttpCall): MillraceError {
  const { host, hostname } = new URL(call.url)
  if (innermost(thrown).code === 'UND_ERR_INVALID_ARG')
    return networkFailure(thrown, call, 'the request cannot be sent')
  const local = /^(localhost|127\.|\[::1\])/.test(hostname)
  return networkFailure(thrown, call, `cannot reach ${host}${local ? ' (is the server running?)' : ''}`)
}

/** No second try makes these good: a certificate, a proxy that is set wrongly, a header that cannot be sent. */
const lasting = /CERT|TLS|SSL|SELF_SIGNED|ERR_INVALID|PROTOCOL/i

/** Where a request goes through Node's fetch, that has limits of its own, under those of the agent. */
const silences: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_HEADERS_TIMEOUT', 'fetch did not wait any longer for an answer to begin: pass a fetch that does'],
  ['UND_ERR_BODY_TIMEOUT', 'fetch did not wait any longer for the answer to go on: pass a fetch that does'],
])

function networkFailure(thrown: unknown, call: HttpCall, what: string): MillraceError {
  if (call.signal.aborted) return interrupted()
  const { code, text } = innermost(thrown)
  const timedOut = /TIMEOUT|ETIMEDOUT/.test(code)
  const known = silences.get(code)
  const said = withoutSecrets([code, text].filter(Boolean).join(' '), call.secrets)
  // What fetch throws by itself, and not because of the network, is about the request.
  const refused =
    thrown instanceof TypeError && thrown.cause === undefined && /invalid|header|url/i.test(text)
  return new MillraceError({
    op: 'model.stream',
    code: timedOut ? 'timeout' : 'stream_error',
    message: `${call.provider}: ${known ?? `${what}: ${said}`}`,
    retryable: !lasting.test(code) && !refused,
    cause: isHarmless(thrown, call.secrets) ? thrown : undefined,
  })
}

function interrupted(): MillraceError {
  return new MillraceError({
    op: 'model.stream',
    code: 'stream_interrupted',
    message: 'the request was aborted',
  })
}

/** `fetch failed` and `terminated` say nothing: the reason is the cause of the cause. */
function innermost(thrown: unknown): { code: string; text: string } {
  let at: unknown = thrown
  for (let depth = 0; depth < 5 && isObject(at) && isObject(at.cause); depth++) at = at.cause
  const code = isObject(at) && typeof at.code === 'string' ? at.code : ''
  const text = messageOf(at)
  return { code, text: text.startsWith(code) ? text.slice(code.length).trim() : text }
}

function redirected({ status, headers }: HttpAnswer, { provider, url }: HttpCall): MillraceError {
  const location = headers.get('location') ?? ''
  const place = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : ''
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} answered ${status || 'with a redirect'}: it sends us on${place}, where no key is taken: set the baseURL to where it really is`,
    status: status || undefined,
  })
}

/** It is asked not to, and `fetch` would undo it. */
function encoded(encoding: string, { provider, secrets }: HttpCall): MillraceError {
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} sent its answer compressed (${withoutSecrets(encoding, secrets).slice(0, 40)}): pass fetch: globalThis.fetch, which can read it`,
  })
}

async function notAStream(answer: HttpAnswer, type: string, call: HttpCall): Promise<MillraceError> {
  const { provider, secrets, keyName, url } = call
  const said = await beginningOf(answer)
  const kind = /^application\/(\S+\+)?json\b/i.test(type) ? kindOfJson(said) : 'other'
  if (kind === 'failure')
    return failureOf({ provider, body: said, headers: answer.headers, secrets, keyName })
  if (kind === 'whole')
    return new MillraceError({
      op: 'model.stream',
      code: 'streaming_not_supported',
      message: `${provider} gave its answer in one piece although a stream was asked for: this server cannot stream; wrap it with fromGenerate()`,
    })
  // Taken out before it is cut: a part of a key is still a part of it.
  const beginning = withoutSecrets(said, secrets).replace(/\s+/g, ' ').trim().slice(0, 120).toWellFormed()
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} answered 200 with ${withoutSecrets(type, secrets).slice(0, 100)} instead of a stream of events: check that the baseURL is right and that no proxy stands in between (${new URL(url).origin} sent: ${beginning})`,
    status: answer.status,
  })
}

/** What came instead of a stream. A long answer is not read to its end, and known by its beginning. */
function kindOfJson(text: string): 'failure' | 'whole' | 'other' {
  // A stream after all, under a name that is not its own.
  if (!/^\s*[[{]/.test(text)) return 'other'
  const whole = /"(choices|output|content)"\s*:\s*\[/.test(text)
  try {
    const value: unknown = JSON.parse(text)
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (!isObject(first)) return 'other'
    const { error, object, type, detail, message } = first
    if (error || object === 'error' || type === 'error' || (!whole && (detail || message))) return 'failure'
  } catch {
    // Cut off, or no JSON after all.
  }
  return whole ? 'whole' : 'other'
}

const enough = 64 * 1024

/** As much of a refusal as anybody will read, and no longer than it may take: a server that is broken may stall here too. */
async function beginningOf(answer: HttpAnswer): Promise<string> {
  const decoder = new TextDecoder()
  const timer = setTimeout(answer.close, 5000)
  let text = ''
  try {
    while (text.length < enough) {
      const bytes = await answer.read()
      if (!bytes) break
      text += decoder.decode(bytes, { stream: true })
    }
  } catch {
    // What came before it broke is better than nothing.
  } finally {
    clearTimeout(timer)
    answer.close()
  }
  return text
}
