import { MillraceError } from 'millrace'
import type { Fetch, OptionTable, Problem } from 'millrace/internal'
import {
  aFunction,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  nameOf,
  someText,
} from 'millrace/internal'
import type { Speech } from '../speech.ts'
import { addressProblem, httpSpeech } from './http-speech.ts'

export interface OpenAISpeechOptions {
  /**
   * The API key, or a function that returns one for each request. Default: `OPENAI_API_KEY` in the
   * environment.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** For compatible APIs. Default: `OPENAI_BASE_URL` in the environment, or OpenAI. */
  readonly baseURL?: string | undefined
  /** Default: `gpt-4o-mini-tts`. */
  readonly model?: string | undefined
  /** Default: `alloy`. */
  readonly voice?: string | undefined
  /** How to speak: `Calm and friendly.` Not supported by `tts-1`. */
  readonly instructions?: string | undefined
  /** From 0.25 to 4. Default: 1. */
  readonly speed?: number | undefined
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** A request fails if nothing arrives for this long. Default: 15000. */
  readonly timeoutMs?: number | undefined
}

const table: OptionTable<OpenAISpeechOptions> = {
  apiKey: (value) => typeof value !== 'function' && someText(value),
  baseURL: addressProblem,
  model: someText,
  voice: someText,
  instructions: someText,
  speed: speedProblem,
  fetch: aFunction,
  timeoutMs: duration,
}

const defaultBaseURL = 'https://api.openai.com/v1'
/** The rate of its `pcm` format: https://developers.openai.com/api/docs/guides/text-to-speech */
const sampleRate = 24_000

/** OpenAI's speech API (`POST /audio/speech`) and compatible ones. Streams audio as it arrives. */
export function openaiSpeech(options: OpenAISpeechOptions = {}): Speech {
  if (!isObject(options as unknown))
    throw invalidInput(
      'openaiSpeech',
      `the options of openaiSpeech() must be an object, not ${kindOf(options)}`,
    )
  checkOptions(options, table, { op: 'openaiSpeech', what: 'the option of openaiSpeech()' })
  const {
    apiKey,
    model = 'gpt-4o-mini-tts',
    voice: defaultVoice = 'alloy',
    instructions,
    speed,
    fetch,
    timeoutMs,
  } = options
  const baseURL = options.baseURL ?? environment('OPENAI_BASE_URL') ?? defaultBaseURL
  const problem = addressProblem(baseURL)
  if (problem) throw invalidInput('openaiSpeech', `OPENAI_BASE_URL in the environment ${problem}`)
  const url = new URL(baseURL)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/audio/speech`

  async function headers(): Promise<Record<string, string>> {
    const key = (typeof apiKey === 'function' ? await apiKey() : apiKey) ?? environment('OPENAI_API_KEY')
    if (!key && url.host === new URL(defaultBaseURL).host) throw noKey('no API key for OpenAI')
    // Usually a newline at the end of a file. The error of fetch would quote the key.
    if (key && !/^[\x21-\x7e]+$/.test(key))
      throw noKey('the API key has characters that are not allowed in a header')
    return key ? { authorization: `Bearer ${key}` } : {}
  }

  return httpSpeech({
    url: url.href,
    provider: url.host === new URL(defaultBaseURL).host ? 'openai' : url.host,
    headers,
    body: (text, { voice = defaultVoice }) => ({
      model,
      voice,
      input: text.toWellFormed(),
      response_format: 'pcm',
      ...(instructions !== undefined && { instructions }),
      ...(speed !== undefined && { speed }),
    }),
    sampleRate,
    fetch,
    timeoutMs,
  })
}

function environment(name: string): string | undefined {
  return process.env[name]?.trim() || undefined
}

function noKey(problem: string): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'auth',
    message: `${problem}: set OPENAI_API_KEY, or pass apiKey to openaiSpeech()`,
  })
}

function speedProblem(value: unknown): Problem {
  const isValid = typeof value === 'number' && value >= 0.25 && value <= 4
  return !isValid && `must be a number from 0.25 to 4, not ${nameOf(value)}`
}
