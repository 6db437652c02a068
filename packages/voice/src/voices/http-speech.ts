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
import type { SoundCall } from './http-sound.ts'
import { openSound } from './http-sound.ts'
import { interrupted } from './patience.ts'
import { rawReader, wavReader } from './wav.ts'

export interface HttpSpeechOptions {
  readonly url: string
  /** `POST` if absent. */
  readonly method?: 'POST' | 'GET' | undefined
  /** The same for each text, or made for it: `authorization` and the like. */
  readonly headers?: HeadersOf | undefined
  /** What to send: an object goes as JSON. Not needed for a GET. */
  readonly body?: ((text: string, options: SynthesizeOptions) => JsonObject | string) | undefined
  /** What is added to the address: `{ text }`. */
  readonly query?:
    | ((text: string, options: SynthesizeOptions) => Readonly<Record<string, string>>)
    | undefined
  /** Samples of 16 bits, little-endian, one channel (`pcm`), or a WAV file (`wav`), which says its rate itself. `pcm` if absent. */
  readonly format?: 'pcm' | 'wav' | undefined
  /** Of `pcm`, which needs it. */
  readonly sampleRate?: number | undefined
  /** Instead of the global one. */
  readonly fetch?: Fetch | undefined
  /** So long nothing may come; 15000 if absent. */
  readonly timeoutMs?: number | undefined
  /** How often a text is sent before it fails, if no sound has come and another try may do better; 3 if absent. */
  readonly attempts?: number | undefined
  /** Stands in errors; the host's name if absent. */
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

/** The first wait before another try, on average; the next one is twice as long. */
const firstWaitMs = 300
/** Who asks for more is not waited for: a conversation has gone on by then. */
const longestWaitMs = 5000

/** Any API that is sent text and sends sound, which is given out as it comes. */
export function httpSpeech(options: HttpSpeechOptions): Speech {
  checkHttpSpeech(options, 'httpSpeech')
  const { url, method = 'POST', headers = {}, body, query, format = 'pcm', sampleRate = 0 } = options
  const { fetch = globalFetch, timeoutMs = 15_000, attempts = 3 } = options
  const provider = options.provider ?? new URL(url).host

  async function callFor(text: string, told: SynthesizeOptions): Promise<SoundCall> {
    const place = new URL(url)
    for (const [name, value] of Object.entries(query?.(text, told) ?? {})) place.searchParams.set(name, value)
    const own = typeof headers === 'function' ? await headers() : headers
    const content = body?.(text, told)
    const sent = typeof content === 'string' || content === undefined ? content : JSON.stringify(content)
    const isJson = content !== undefined && typeof content !== 'string'
    return {
      provider,
      url: place.href,
      init: {
        method,
        headers: { ...(isJson && { 'content-type': 'application/json' }), ...own },
        ...(sent !== undefined && { body: sent }),
      },
      format,
      signal: told.signal,
      fetch,
      timeoutMs,
      secrets: [...secretsIn(own), ...secretsInUrl(place.href)],
    }
  }

  async function* synthesize(text: string, told: SynthesizeOptions): AsyncGenerator<SpeechChunk, void> {
    const { signal } = told
    const sound = await opened(() => callFor(text, told), attempts, signal)
    try {
      const reader = format === 'pcm' ? rawReader(sampleRate) : wavReader()
      for (let bytes: Uint8Array | undefined = sound.first; bytes; bytes = await sound.read()) {
        const pcm = reader.push(bytes)
        const rate = reader.sampleRate
        if (pcm.length > 0 && rate !== undefined) yield { pcm, sampleRate: rate }
      }
      reader.end()
    } finally {
      sound.close()
    }
  }

  return { synthesize }
}

/** Tries until the first sound is there. After that, to begin anew would say something twice. */
async function opened(callFor: () => Promise<SoundCall>, attempts: number, signal: AbortSignal) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openSound(await callFor())
    } catch (thrown) {
      const { retryable, retryAfterMs = 0 } = isMillraceError(thrown) ? thrown : { retryable: false }
      if (!retryable || attempt >= attempts || retryAfterMs > longestWaitMs) throw thrown
      // Jitter, so that those who failed together do not come back together.
      const backoff = firstWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random())
      await sleep(Math.max(retryAfterMs, backoff), { clock: systemClock, signal })
      if (signal.aborted) throw interrupted()
    }
  }
}

/** As it is when it is used: somebody may have put another in its place. */
const globalFetch: Fetch = (url, init) => globalThis.fetch(url, init)

function checkHttpSpeech(options: HttpSpeechOptions, op: string): void {
  if (!isObject(options as unknown))
    throw invalidInput(op, `${op}() takes options such as { url, body, sampleRate }, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: `the option of ${op}()` })
  const { url, format = 'pcm', sampleRate, method = 'POST', body } = options
  if (url === undefined) throw invalidInput(op, `${op}() needs the option 'url'`)
  if (format === 'pcm' && sampleRate === undefined)
    throw invalidInput(op, `${op}() needs the option 'sampleRate', since format 'pcm' does not tell it`)
  if (method === 'POST' && !body)
    throw invalidInput(op, `${op}() needs the option 'body', since it sends a POST`)
  if (method === 'GET' && body) throw invalidInput(op, `a GET has no body: use the option 'query' of ${op}()`)
}

export function addressProblem(value: unknown): Problem {
  const sound = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
  if (!sound) return 'must be an address such as https://host/v1'
  const { username, password } = new URL(value)
  return (username || password) && 'must hold no user name and no password: send them in headers'
}
