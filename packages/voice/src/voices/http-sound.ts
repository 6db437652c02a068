import { MillraceError } from 'millrace'
import type { Fetch } from 'millrace/internal'
import { failureOf, isHarmless, isObject, messageOf, withoutSecrets } from 'millrace/internal'
import { interrupted, patient } from './patience.ts'

export interface SoundCall {
  readonly provider: string
  readonly url: string
  readonly init: RequestInit
  readonly format: 'pcm' | 'wav'
  readonly signal: AbortSignal
  readonly fetch: Fetch
  /** So long nothing may come. */
  readonly timeoutMs: number
  /** What must not stand in any error. */
  readonly secrets: readonly string[]
}

/** Sound that has begun to come. */
export interface Sound {
  readonly first: Uint8Array
  /** The next bytes, or nothing at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Lets go of the connection. To be called in the end, whatever came of it. */
  close(): void
}

const op = 'speech.synthesize'

/** Sends a request, and resolves when the first bytes of sound are there. Throws what went wrong as our error. */
export async function openSound(call: SoundCall): Promise<Sound> {
  const { provider, url, init, signal, fetch, timeoutMs, secrets } = call
  if (signal.aborted) throw interrupted()
  // Node's fetch leaves its listener on a signal until it is collected, and a signal may live for many requests.
  const own = new AbortController()
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const gone = Promise.withResolvers<never>()
  gone.promise.catch(() => {})
  const close = () => {
    signal.removeEventListener('abort', close)
    own.abort()
    // A fetch of the caller's own may not have heard of the signal.
    void reader?.cancel().catch(() => {})
    gone.reject(interrupted())
  }
  signal.addEventListener('abort', close)

  /** Waits for what the network brings, and says it in our words if that is nothing good. */
  async function wait<Value>(promise: Promise<Value>, what: string): Promise<Value> {
    try {
      return await patient(Promise.race([promise, gone.promise]), timeoutMs, provider)
    } catch (thrown) {
      throw signal.aborted ? interrupted() : networkFailure(thrown, call, what)
    }
  }

  async function read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const { value, done } = await wait(reader?.read() ?? ended, 'the sound broke off')
      if (signal.aborted) throw interrupted()
      if (done) return undefined
      if (value.length > 0) return value
    }
  }

  try {
    // Followed to another host, it would take the key there.
    const sending = fetch(url, { ...init, signal: own.signal, redirect: 'manual' })
    const response = await wait(sending, `cannot reach ${new URL(url).host}`)
    reader = response.body?.getReader()
    const { status, headers } = response
    const type = headers.get('content-type') ?? ''
    if (response.type === 'opaqueredirect' || (status >= 300 && status < 400))
      throw refused(
        call,
        'sends us on to another address, where no key is taken: set the address to where it really is',
      )
    if (!response.ok) throw failureOf({ op, provider, status, headers, body: await wordsOf(read), secrets })
    const problem = typeProblem(type, call.format)
    if (problem)
      throw refused(call, `${problem}: ${withoutSecrets(await wordsOf(read), secrets).slice(0, 200)}`)
    const first = await read()
    if (!first) throw failure(call, 'stream_error', 'sent no sound')
    return { first, read, close }
  } catch (thrown) {
    close()
    throw thrown
  }
}

const ended = Promise.resolve({ done: true as const, value: undefined })

/** What cannot be the sound that was asked for, as the rest of a sentence. A type that says nothing is believed. */
function typeProblem(type: string, format: 'pcm' | 'wav'): string | undefined {
  const [name = ''] = type.toLowerCase().split(';')
  if (/^(text\/|application\/(\S+\+)?(json|xml)\b)/.test(name)) return `sent ${name} instead of sound`
  if (/^(audio|video|application)\/(x-)?(mpeg|mp3|mp4|aac|ogg|opus|flac|webm)\b/.test(name))
    return `sent ${name}, which cannot be read: ask it for ${format}`
  if (format === 'pcm' && /^audio\/(x-|vnd\.)?wave?\b/.test(name)) return `sent ${name}: set format to 'wav'`
  return undefined
}

/** The beginning of a text that came instead. */
async function wordsOf(read: () => Promise<Uint8Array | undefined>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = await read(); bytes && text.length < 64 * 1024; bytes = await read())
      text += decoder.decode(bytes, { stream: true })
  } catch {
    // What came before it broke is better than nothing.
  }
  return text.replaceAll('\0', '').trim()
}

function networkFailure(thrown: unknown, call: SoundCall, what: string): MillraceError {
  if (thrown instanceof MillraceError) return thrown
  // `fetch failed` says nothing: the reason is the cause of the cause.
  let at = thrown
  for (let depth = 0; depth < 5 && isObject(at) && isObject(at.cause); depth++) at = at.cause
  const code = isObject(at) && typeof at.code === 'string' ? at.code : ''
  const words = withoutSecrets([code, messageOf(at)].filter(Boolean).join(' '), call.secrets)
  return new MillraceError({
    op,
    code: 'stream_error',
    message: `${call.provider}: ${what}: ${words}`,
    // No second try makes a certificate good, or a header that cannot be sent.
    retryable: !/CERT|TLS|SSL|SELF_SIGNED|ERR_INVALID/i.test(code) && !/header/i.test(words),
    cause: isHarmless(thrown, call.secrets) ? thrown : undefined,
  })
}

function failure({ provider }: SoundCall, code: 'stream_error' | 'llm_error', what: string): MillraceError {
  return new MillraceError({ op, code, message: `${provider} ${what}` })
}

function refused(call: SoundCall, what: string): MillraceError {
  return failure(call, 'llm_error', what)
}
