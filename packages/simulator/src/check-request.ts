import type { JsonObject } from 'millrace'
import { isObject } from 'millrace/internal'
import { anthropicError } from './check-anthropic.ts'
import { chatError } from './check-chat.ts'
import { responsesError } from './check-responses.ts'
import type { Failure } from './failures.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import { surrogateProblem } from './surrogates.ts'
import type { Wire } from './wire.ts'

export interface Checked {
  readonly wire: Wire
  /** Undefined if it is not JSON. */
  readonly body: JsonObject | undefined
  /** The raw body; undefined if it is not UTF-8. */
  readonly text: string | undefined
  readonly keys: { readonly bearer?: string; readonly apiKey?: string }
  readonly headers: Readonly<Record<string, string>>
  /** The only accepted key; any if absent. */
  readonly apiKey?: string
  readonly issued: IssuedTokens
}

/** The provider's error for a request, or undefined if it is valid. */
export function checkRequest(checked: Checked): Failure | undefined {
  const { wire, body, text, headers, issued } = checked
  const error = keyError(checked)
  if (error) return error
  if (wire === 'anthropic' && !('anthropic-version' in headers))
    return { status: 400, message: 'anthropic-version: header is required' }
  const broken = wire === 'anthropic' ? brokenText(text) : undefined
  if (broken) return { status: 400, message: `The request body is not valid JSON: ${broken}` }
  if (!isObject(body)) return { status: 400, message: noJson[wire] }
  if (wire === 'anthropic') return anthropicError(body, issued)
  return wire === 'openai-chat' ? chatError(body) : responsesError(body, issued)
}

/** The error for the API key of a request, if any. */
export function keyError({
  wire,
  keys,
  apiKey,
}: Pick<Checked, 'wire' | 'keys' | 'apiKey'>): Failure | undefined {
  const key = wire === 'anthropic' ? (keys.apiKey ?? keys.bearer) : (keys.bearer ?? keys.apiKey)
  if (key === undefined) return { status: 401, ...missingKey[wire] }
  if (apiKey !== undefined && key !== apiKey) return { status: 401, ...wrongKey(wire, key) }
  return undefined
}

/** Lone surrogates are known to be rejected by Anthropic only. */
function brokenText(text: string | undefined): string | undefined {
  if (text === undefined) return 'str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)'
  return surrogateProblem(text)
}

const noKey =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from https://platform.openai.com/account/api-keys."

const missingKey: Record<Wire, Omit<Failure, 'status'>> = {
  'openai-chat': { message: noKey },
  'openai-responses': { message: noKey },
  anthropic: { message: 'x-api-key header is required' },
}

/** OpenAI shows the start and the end of the key. */
function wrongKey(wire: Wire, key: string): Omit<Failure, 'status'> {
  if (wire === 'anthropic') return { message: 'invalid x-api-key' }
  const shown = key.length > 12 ? `${key.slice(0, 8)}${'*'.repeat(key.length - 12)}${key.slice(-4)}` : '****'
  const message = `Incorrect API key provided: ${shown}. You can find your API key at https://platform.openai.com/account/api-keys.`
  return { message, code: 'invalid_api_key' }
}

const openaiNoJson =
  "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)"

const noJson: Record<Wire, string> = {
  'openai-chat': openaiNoJson,
  'openai-responses': openaiNoJson,
  anthropic: 'The request body is not valid JSON: expected value at line 1 column 1',
}
