import type { JsonObject } from 'millrace'
import { isMillraceError } from 'millrace'
import type { Fetch, OptionTable, Problem } from 'millrace/internal'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  nameOf,
  oneOf,
  secretsIn,
  secretsInUrl,
  sleep,
  someText,
  systemClock,
  wholeNumber,
} from 'millrace/internal'
import type { Speech, SpeechChunk, SynthesizeOptions } from '../speech.ts'
import type { AudioRequest } from './http-audio.ts'
import { openAudio } from './http-audio.ts'
import { aborted } from './timeout.ts'
import { rawReader, wavReader } from './wav.ts'

export interface HttpSpeechOptions {
  readonly url: string
  /** Default: `POST`. */
  readonly method?: 'POST' | 'GET' | undefined
  /** Such as `authorization`. A function is called for each text. */
  readonly headers?: HeadersOf | undefined
  /** Returns the body. An object is sent as JSON. Not for a GET. */
  readonly body?: ((text: string, options: SynthesizeOptions) => JsonObject | string) | undefined
  /** Returns query parameters, such as `{ text }`. */
  readonly query?:
    | ((text: string, options: SynthesizeOptions) => Readonly<Record<string, string>>)
    | undefined
  /**
   * Raw 16-bit little-endian mono samples (`pcm`, the default) or a WAV file (`wav`), which
   * includes its rate.
   */
  readonly format?: 'pcm' | 'wav' | undefined
  /** Required for `pcm`. */
  readonly sampleRate?: number | undefined
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** A request fails if nothing arrives for this long. Default: 15000. */
  readonly timeoutMs?: number | undefined
  /**
   * How many times a text is tried while errors are retryable and no audio has arrived. Default: 3.
   */
  readonly attempts?: number | undefined
  /** The name in error messages. Default: the host. */
  readonly provider?: string | undefined
}

type HeadersOf = Readonly<Record<string, string>> | (() => HeadersNow | Promise<HeadersNow>)
type HeadersNow = Readonly<Record<string, string>>

const table: OptionTable<HttpSpeechOptions> = {
  url: addressProblem,
  method: oneOf('POST', 'GET'),
  headers: (value) => typeof value !== 'function' && anObject(value),
  body: aFunction,
  query: aFunction,
  format: oneOf('pcm', 'wav'),
  sampleRate: (value) =>
    !(Number.isInteger(value) && Number(value) >= 8000 && Number(value) <= 192_000) &&
    `must be a whole number from 8000 to 192000, not ${nameOf(value)}`,
  fetch: aFunction,
  timeoutMs: duration,
  attempts: wholeNumber(1),
  provider: someText,
}

/** The average delay before the first retry. It doubles each time. */
const firstWaitMs = 300
/** A longer `retry-after` is not worth waiting for in a conversation. */
const maxWaitMs = 5000

/** Any HTTP API that takes text and returns audio. Streams audio as it arrives. */
export function httpSpeech(options: HttpSpeechOptions): Speech {
  checkHttpSpeech(options, 'httpSpeech')
  const { url, method = 'POST', headers = {}, body, query, format = 'pcm', sampleRate = 0 } = options
  const { fetch = globalFetch, timeoutMs = 15_000, attempts = 3 } = options
  const provider = options.provider ?? new URL(url).host

  async function requestFor(text: string, speechOptions: SynthesizeOptions): Promise<AudioRequest> {
    const address = new URL(url)
    for (const [name, value] of Object.entries(query?.(text, speechOptions) ?? {}))
      address.searchParams.set(name, value)
    const resolvedHeaders = typeof headers === 'function' ? await headers() : headers
    const content = body?.(text, speechOptions)
    const sent = typeof content === 'string' || content === undefined ? content : JSON.stringify(content)
    const isJson = content !== undefined && typeof content !== 'string'
    return {
      provider,
      url: address.href,
      init: {
        method,
        headers: { ...(isJson && { 'content-type': 'application/json' }), ...resolvedHeaders },
        ...(sent !== undefined && { body: sent }),
      },
      format,
      signal: speechOptions.signal,
      fetch,
      timeoutMs,
      secrets: [...secretsIn(resolvedHeaders), ...secretsInUrl(address.href)],
    }
  }

  async function* synthesize(
    text: string,
    speechOptions: SynthesizeOptions,
  ): AsyncGenerator<SpeechChunk, void> {
    const { signal } = speechOptions
    const response = await openWithRetries(() => requestFor(text, speechOptions), attempts, signal)
    try {
      const reader = format === 'pcm' ? rawReader(sampleRate) : wavReader()
      for (let bytes: Uint8Array | undefined = response.first; bytes; bytes = await response.read()) {
        const pcm = reader.push(bytes)
        const rate = reader.sampleRate
        if (pcm.length > 0 && rate !== undefined) yield { pcm, sampleRate: rate }
      }
      reader.end()
    } finally {
      response.close()
    }
  }

  return { synthesize }
}

/** Retries until the first audio arrives. A later retry would repeat speech. */
async function openWithRetries(callFor: () => Promise<AudioRequest>, attempts: number, signal: AbortSignal) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openAudio(await callFor())
    } catch (thrown) {
      const { retryable, retryAfterMs = 0 } = isMillraceError(thrown) ? thrown : { retryable: false }
      if (!retryable || attempt >= attempts || retryAfterMs > maxWaitMs) throw thrown
      // Jitter, so that clients that failed together do not retry together.
      const backoff = firstWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random())
      await sleep(Math.max(retryAfterMs, backoff), { clock: systemClock, signal })
      if (signal.aborted) throw aborted()
    }
  }
}

/** Looked up at each call, since it may be replaced. */
const globalFetch: Fetch = (url, init) => globalThis.fetch(url, init)

function checkHttpSpeech(options: HttpSpeechOptions, op: string): void {
  if (!isObject(options as unknown))
    throw invalidInput(op, `${op}() takes options such as { url, body, sampleRate }, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: `the option of ${op}()` })
  const { url, format = 'pcm', sampleRate, method = 'POST', body } = options
  if (url === undefined) throw invalidInput(op, `${op}() needs the option 'url'`)
  if (format === 'pcm' && sampleRate === undefined)
    throw invalidInput(op, `${op}() needs the option 'sampleRate' for format 'pcm'`)
  if (method === 'POST' && !body) throw invalidInput(op, `${op}() needs the option 'body' for a POST request`)
  if (method === 'GET' && body)
    throw invalidInput(op, `a GET request has no body: use the option 'query' of ${op}()`)
}

export function addressProblem(value: unknown): Problem {
  const isValid = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
  if (!isValid) return 'must be a URL such as https://host/v1'
  const { username, password } = new URL(value)
  return (username || password) && 'must not include a user name or password: send them in headers'
}
