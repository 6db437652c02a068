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
  /** The key, or where to get one for each request. `OPENAI_API_KEY` in the environment if absent. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** `OPENAI_BASE_URL` in the environment, or OpenAI itself, if absent. Others offer the same API. */
  readonly baseURL?: string | undefined
  /** `gpt-4o-mini-tts` if absent. */
  readonly model?: string | undefined
  /** `alloy` if absent. */
  readonly voice?: string | undefined
  /** How to speak, in words: `Calm and friendly.` Not for `tts-1`. */
  readonly instructions?: string | undefined
  /** From 0.25 to 4; 1 if absent. */
  readonly speed?: number | undefined
  /** Instead of the global one. */
  readonly fetch?: Fetch | undefined
  /** So long nothing may come; 15000 if absent. */
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

const usualPlace = 'https://api.openai.com/v1'
/** What `pcm` is there: https://developers.openai.com/api/docs/guides/text-to-speech */
const sampleRate = 24_000

/** OpenAI's speech API (`POST /audio/speech`), and that of others who offer the same. Sound is given out as it comes. */
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
    voice: usual = 'alloy',
    instructions,
    speed,
    fetch,
    timeoutMs,
  } = options
  const baseURL = options.baseURL ?? environment('OPENAI_BASE_URL') ?? usualPlace
  const problem = addressProblem(baseURL)
  if (problem) throw invalidInput('openaiSpeech', `OPENAI_BASE_URL in the environment ${problem}`)
  const place = new URL(baseURL)
  place.pathname = `${place.pathname.replace(/\/+$/, '')}/audio/speech`

  async function headers(): Promise<Record<string, string>> {
    const key = (typeof apiKey === 'function' ? await apiKey() : apiKey) ?? environment('OPENAI_API_KEY')
    if (!key && place.host === new URL(usualPlace).host) throw noKey('there is no API key for OpenAI')
    // A line break at the end of a file, most often. fetch would refuse it in words that quote the key.
    if (key && !/^[\x21-\x7e]+$/.test(key)) throw noKey('the API key has characters that no header can carry')
    return key ? { authorization: `Bearer ${key}` } : {}
  }

  return httpSpeech({
    url: place.href,
    provider: place.host === new URL(usualPlace).host ? 'openai' : place.host,
    headers,
    body: (text, { voice = usual }) => ({
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
  const sound = typeof value === 'number' && value >= 0.25 && value <= 4
  return !sound && `must be a number from 0.25 to 4, not ${nameOf(value)}`
}
