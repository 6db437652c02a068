import { MillraceError } from 'millrace'
import type { Fetch } from 'millrace/internal'
import { failureOf, isObject, isSafeToShow, messageOf, withoutSecrets } from 'millrace/internal'
import { aborted, withTimeout } from './timeout.ts'

export interface AudioRequest {
  readonly provider: string
  readonly url: string
  readonly init: RequestInit
  readonly format: 'pcm' | 'wav'
  readonly signal: AbortSignal
  readonly fetch: Fetch
  /** Fails if nothing arrives for this long. */
  readonly timeoutMs: number
  /** Must not appear in any error. */
  readonly secrets: readonly string[]
}

/** Audio that has started to arrive. */
export interface AudioResponse {
  readonly first: Uint8Array
  /** The next bytes, or undefined at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Releases the connection. Must always be called. */
  close(): void
}

const op = 'speech.synthesize'

/** Sends a request and resolves with the first bytes of audio. Rejects with a `MillraceError`. */
export async function openAudio(call: AudioRequest): Promise<AudioResponse> {
  const { provider, url, init, signal, fetch, timeoutMs, secrets } = call
  if (signal.aborted) throw aborted()
  // Node's fetch keeps its listener on a signal until garbage collection, and the signal may be
  // used
  // for many requests.
  const controller = new AbortController()
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const closed = Promise.withResolvers<never>()
  closed.promise.catch(() => {})
  const close = () => {
    signal.removeEventListener('abort', close)
    controller.abort()
    // A custom fetch may ignore the signal.
    void reader?.cancel().catch(() => {})
    closed.reject(aborted())
  }
  signal.addEventListener('abort', close)

  /** Awaits the network with a timeout, and converts its errors. */
  async function wait<Value>(promise: Promise<Value>, what: string): Promise<Value> {
    try {
      return await withTimeout(Promise.race([promise, closed.promise]), timeoutMs, provider)
    } catch (thrown) {
      throw signal.aborted ? aborted() : networkFailure(thrown, call, what)
    }
  }

  async function read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const { value, done } = await wait(reader?.read() ?? ended, 'the audio stream failed')
      if (signal.aborted) throw aborted()
      if (done) return undefined
      if (value.length > 0) return value
    }
  }

  try {
    // A redirect to another host would send the key there.
    const sending = fetch(url, { ...init, signal: controller.signal, redirect: 'manual' })
    const response = await wait(sending, `cannot reach ${new URL(url).host}`)
    reader = response.body?.getReader()
    const { status, headers } = response
    const type = headers.get('content-type') ?? ''
    if (response.type === 'opaqueredirect' || (status >= 300 && status < 400))
      throw badResponse(
        call,
        'redirects to another address, which is not followed because of the API key: set the final address',
      )
    if (!response.ok) throw failureOf({ op, provider, status, headers, body: await textOf(read), secrets })
    const problem = typeProblem(type, call.format)
    if (problem)
      throw badResponse(call, `${problem}: ${withoutSecrets(await textOf(read), secrets).slice(0, 200)}`)
    const first = await read()
    if (!first) throw failure(call, 'stream_error', 'sent no audio')
    return { first, read, close }
  } catch (thrown) {
    close()
    throw thrown
  }
}

const ended = Promise.resolve({ done: true as const, value: undefined })

/**
 * Why a content type cannot be the requested audio, as the rest of a sentence. Unknown types are
 * accepted.
 */
function typeProblem(type: string, format: 'pcm' | 'wav'): string | undefined {
  const [name = ''] = type.toLowerCase().split(';')
  if (/^(text\/|application\/(\S+\+)?(json|xml)\b)/.test(name)) return `sent ${name} instead of audio`
  if (/^(audio|video|application)\/(x-)?(mpeg|mp3|mp4|aac|ogg|opus|flac|webm)\b/.test(name))
    return `sent ${name}, which is not supported: request ${format}`
  if (format === 'pcm' && /^audio\/(x-|vnd\.)?wave?\b/.test(name)) return `sent ${name}: set format to 'wav'`
  return undefined
}

/** The start of a text body. */
async function textOf(read: () => Promise<Uint8Array | undefined>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = await read(); bytes && text.length < 64 * 1024; bytes = await read())
      text += decoder.decode(bytes, { stream: true })
  } catch {
    // Use what arrived before the failure.
  }
  return text.replaceAll('\0', '').trim()
}

function networkFailure(thrown: unknown, call: AudioRequest, what: string): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  // `fetch failed` says nothing: the reason is in the nested causes.
  let at = thrown
  for (let depth = 0; depth < 5 && isObject(at) && isObject(at.cause); depth++) at = at.cause
  const code = isObject(at) && typeof at.code === 'string' ? at.code : ''
  const words = withoutSecrets([code, messageOf(at)].filter(Boolean).join(' '), call.secrets)
  return new MillraceError({
    op,
    code: 'stream_error',
    message: `${call.provider}: ${what}: ${words}`,
    // A retry does not fix a bad certificate or an invalid header.
    retryable: !/CERT|TLS|SSL|SELF_SIGNED|ERR_INVALID/i.test(code) && !/header/i.test(words),
    cause: isSafeToShow(thrown, call.secrets) ? thrown : undefined,
  })
}

function failure(
  { provider }: AudioRequest,
  code: 'stream_error' | 'llm_error',
  what: string,
): MillraceError {
  return new MillraceError({ op, code, message: `${provider} ${what}` })
}

function badResponse(call: AudioRequest, what: string): MillraceError {
  return failure(call, 'llm_error', what)
}
