import type { JsonObject, JsonValue, Message, RunRequest } from '../../protocol/index.ts'
import { isJsonObject, isObject, kindOf } from '../../protocol/index.ts'
import { readMessages } from './chat-messages.ts'
import { rejected } from './errors.ts'
import type { Fields } from './request-fields.ts'
import {
  readEffort,
  readNumber,
  readSharedSettings,
  readToolChoice,
  readTools,
  settingsField,
} from './request-fields.ts'

/** A request for a chat completion. */
export interface ChatRequest {
  /** Names the agent. Not checked yet. */
  readonly model: unknown
  readonly messages: readonly Message[]
  readonly request: RunRequest
  readonly isStream: boolean
  /** Whether the stream ends with the usage. */
  readonly withUsage: boolean
}

/** Reads the body of a request. Throws 400 with the name of the field that is wrong. */
export function readChatRequest(body: unknown, { isPartial = false } = {}): ChatRequest {
  if (!isObject(body)) throw rejected('', `The body must be a JSON object, not ${kindOf(body)}.`)
  checkUnsupported(body)
  const { system, messages } = readMessages(body.messages, { isPartial })
  const { include_usage: withUsage } = isObject(body.stream_options) ? body.stream_options : {}
  const tools = readTools(body.tools, '.function')
  const output = readFormat(body.response_format)
  return {
    model: body.model,
    messages,
    request: {
      ...readToolChoice(body.tool_choice, tools, '.function'),
      ...(system && { system }),
      ...readSettings(body),
      ...(output && { output }),
    },
    isStream: body.stream === true,
    withUsage: withUsage === true,
  }
}

/** What a client asks for and would miss in the answer. Other unknown fields are ignored. */
function checkUnsupported({ n, logprobs, modalities, functions, function_call }: Fields) {
  if (typeof n === 'number' && n > 1)
    throw rejected('n', "'n' must be 1: this server returns one choice per request.")
  if (logprobs === true) throw rejected('logprobs', "'logprobs' is not supported: leave it out.")
  if (Array.isArray(modalities) && modalities.includes('audio'))
    throw rejected('modalities', "Audio output is not supported: leave out 'modalities'.")
  if (functions) throw rejected('functions', "'functions' is not supported: use 'tools'.")
  if (function_call) throw rejected('function_call', "'function_call' is not supported: use 'tool_choice'.")
}

function readSettings(body: Fields): Pick<RunRequest, 'settings'> {
  const stop = typeof body.stop === 'string' ? [body.stop] : (body.stop ?? undefined)
  if (stop !== undefined && !(Array.isArray(stop) && stop.every((text) => typeof text === 'string')))
    throw rejected('stop', "'stop' must be a string or an array of strings.")
  return settingsField({
    ...readSharedSettings(body),
    maxOutputTokens: readNumber(body, 'max_completion_tokens') ?? readNumber(body, 'max_tokens'),
    stop,
    seed: readNumber(body, 'seed'),
    reasoning: readEffort(body.reasoning_effort),
  })
}

function readFormat(format: unknown): JsonObject | undefined {
  if (format === undefined || format === null) return undefined
  const { type, json_schema: named } = isObject(format) ? format : {}
  if (type === 'text') return undefined
  if (type === 'json_object') return { type: 'object' }
  const { schema } = isObject(named) ? named : {}
  if (type === 'json_schema' && isJsonObject(schema as JsonValue)) return schema as JsonObject
  const types =
    "{ type: 'text' }, { type: 'json_object' } or { type: 'json_schema', json_schema: { schema } }"
  throw rejected('response_format', `'response_format' must be ${types}.`)
}
