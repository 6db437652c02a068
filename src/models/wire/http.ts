import type { JsonObject } from '../../protocol/index.ts'
import { isObject, MillraceError, messageOf } from '../../protocol/index.ts'
import { failureOf } from './failures.ts'
import { withoutSecrets } from './secrets.ts'

/** `fetch`, or something that behaves like it: through a proxy, with another agent, recorded, signed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface HttpCall {
  readonly provider: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  readonly signal: AbortSignal
  readonly fetch: Fetch
  /** What must not stand in any error. */
  readonly secrets: readonly string[]
  readonly keyName: string | undefined
}

/** Sends a request and resolves when a stream of events has begun; whatever else comes back is thrown as our error. */
export async function openStream(call: HttpCall): Promise<ReadableStream<Uint8Array>> {
  const { url, headers, body, signal, fetch } = call
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify(body),
      signal,
    })
  } catch (thrown) {
    throw unreachable(thrown, call)
  }
  if (!response.ok) {
    const { provider, secrets, keyName } = call
    const said = await beginningOf(response)
    const { status } = response
    throw failureOf({ provider, status, headers: response.headers, body: said, secrets, keyName })
  }
  const type = response.headers.get('content-type') ?? ''
  // Some local servers leave the type out altogether.
  if (type !== '' && !/^text\/event-stream\b/i.test(type)) throw await notAStream(response, type, call)
  return response.body ?? new Blob([]).stream()
}

/** A connection that broke while its answer was read. */
export function broken(thrown: unknown, call: HttpCall): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  return networkFailure(thrown, call, 'the stream broke off')
}

function unreachable(thrown: unknown, call: HttpCall): MillraceError {
  const { host, hostname } = new URL(call.url)
  const local = /^(localhost|127\.|\[::1\])/.test(hostname)
  return networkFailure(thrown, call, `cannot reach ${host}${local ? ' (is the server running?)' : ''}`)
}

/** No second try makes these good: a certificate, a proxy that is set wrongly, a header that cannot be sent. */
const lasting = /CERT|TLS|SSL|SELF_SIGNED|ERR_INVALID|PROTOCOL/i

function networkFailure(thrown: unknown, call: HttpCall, what: string): MillraceError {
  if (call.signal.aborted)
    return new MillraceError({
      op: 'model.stream',
      code: 'stream_interrupted',
      message: 'the request was aborted',
    })
  const { code, text } = innermost(thrown)
  const timedOut = /TIMEOUT|ETIMEDOUT/.test(code)
  const said = withoutSecrets([code, text].filter(Boolean).join(' '), call.secrets)
  // An error of fetch may quote a header that it cannot send, with the key in it.
  const harmless = said === [code, text].filter(Boolean).join(' ') && !leaks(thrown, call.secrets)
  return new MillraceError({
    op: 'model.stream',
    code: timedOut ? 'timeout' : 'stream_error',
    message: `${call.provider}: ${what}: ${said}`,
    retryable: !lasting.test(code) && !(thrown instanceof TypeError && /invalid|header/i.test(text)),
    cause: harmless ? thrown : undefined,
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

function leaks(thrown: unknown, secrets: readonly string[]): boolean {
  const texts: string[] = []
  for (let at = thrown; isObject(at) && texts.length < 5; at = at.cause) texts.push(messageOf(at))
  return secrets.some((secret) => secret.length >= 4 && texts.some((text) => text.includes(secret)))
}

async function notAStream(response: Response, type: string, call: HttpCall): Promise<MillraceError> {
  const { provider, secrets, keyName, url } = call
  const said = await beginningOf(response)
  const json = /^application\/(\w+\+)?json\b/i.test(type)
  if (json && /^\s*\{\s*"error"|"type"\s*:\s*"error"/.test(said))
    return failureOf({ provider, body: said, headers: response.headers, secrets, keyName })
  const whole = json && /"choices"|"output"|"content"/.test(said)
  if (whole)
    return new MillraceError({
      op: 'model.stream',
      code: 'streaming_not_supported',
      message: `${provider} gave its answer in one piece although a stream was asked for: this server cannot stream; wrap it with fromGenerate()`,
    })
  const beginning = withoutSecrets(said.replace(/\s+/g, ' ').trim().slice(0, 120), secrets)
  return new MillraceError({
    op: 'model.stream',
    code: 'llm_error',
    message: `${provider} answered 200 with ${type} instead of a stream of events: check that the baseURL is right and that no proxy stands in between (${new URL(url).origin} sent: ${beginning})`,
    status: response.status,
  })
}

const enough = 64 * 1024

/** As much of a refusal as anybody will read, and no longer than it may take: a server that is broken may stall here too. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder()
  const timer = setTimeout(() => reader.cancel().catch(() => {}), 5000)
  let text = ''
  try {
    while (text.length < enough) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    // What came before it broke is better than nothing.
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }
  return text
}
