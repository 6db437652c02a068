import type { JsonObject, JsonValue, RunRequest } from '../../protocol/index.ts'
import { isJsonObject, isObject, kindOf } from '../../protocol/index.ts'
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
import type { ReadItems } from './response-input.ts'
import { readItems } from './response-input.ts'

/** A request for a response. */
export interface ResponseRequest extends ReadItems {
  /** Names the agent. Not checked yet. */
  readonly model: unknown
  /** Without `system`, which may also depend on the response that it follows. */
  readonly request: RunRequest
  readonly instructions: string
  readonly format: ResponseFormat | undefined
  readonly isStream: boolean
  readonly isBackground: boolean
  readonly store: boolean
  readonly previousResponseId: string | undefined
  readonly conversation: string | undefined
  readonly metadata: JsonObject
}

/** What a response repeats of the format that was asked for, except the schema. */
export type ResponseFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly description: string | null
      readonly strict: boolean
    }

/** Reads the body of a request. Throws 400 with the name of the field that is wrong. */
export function readResponseRequest(body: unknown): ResponseRequest {
  if (!isObject(body)) throw rejected('', `The body must be a JSON object, not ${kindOf(body)}.`)
  const { previous_response_id: previous, background, store } = body
  const conversation = readConversation(body.conversation)
  const previousResponseId = readText(previous, 'previous_response_id')
  if (previousResponseId !== undefined && conversation !== undefined)
    throw rejected(
      'previous_response_id',
      "Mutually exclusive parameters: provide only one of 'previous_response_id' or 'conversation'.",
    )
  if (background === true && store === false)
    throw rejected('background', "'background' needs a stored response: leave out 'store: false'.")
  if (body.prompt) throw rejected('prompt', "'prompt' is not supported: send 'instructions' and 'input'.")
  const tools = readTools(body.tools, '')
  const { format, output } = readFormat(body.text)
  return {
    model: body.model,
    ...readItems(body.input, 'input'),
    request: {
      ...readToolChoice(body.tool_choice, tools, ''),
      ...readSettings(body),
      ...(output && { output }),
    },
    instructions: readText(body.instructions, 'instructions') ?? '',
    format,
    isStream: body.stream === true,
    isBackground: background === true,
    store: store !== false,
    previousResponseId,
    conversation,
    metadata: readMetadata(body.metadata),
  }
}

function readText(value: unknown, param: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw rejected(param, `'${param}' must be a string, not ${kindOf(value)}.`)
  return value
}

function readConversation(value: unknown): string | undefined {
  const id = isObject(value) ? value.id : value
  return readText(id, 'conversation')
}

/** Labels that are stored and returned. */
export function readMetadata(value: unknown): JsonObject {
  const metadata = value ?? {}
  if (!isObject(metadata) || !Object.values(metadata).every((label) => typeof label === 'string'))
    throw rejected('metadata', "'metadata' must be an object whose values are strings.")
  return metadata as JsonObject
}

function readSettings(body: Fields): Pick<RunRequest, 'settings'> {
  const { reasoning } = body
  return settingsField({
    ...readSharedSettings(body),
    maxOutputTokens: readNumber(body, 'max_output_tokens'),
    reasoning: isObject(reasoning) ? readEffort(reasoning.effort) : undefined,
  })
}

function readFormat(text: unknown): { readonly format?: ResponseFormat; readonly output?: JsonObject } {
  const { format } = isObject(text) ? text : {}
  if (format === undefined || format === null) return {}
  const { type, name, description, schema, strict } = isObject(format) ? format : {}
  if (type === 'text') return {}
  if (type === 'json_object') return { format: { type }, output: { type: 'object' } }
  if (type !== 'json_schema' || typeof name !== 'string' || !isJsonObject(schema as JsonValue)) {
    const types = "{ type: 'text' }, { type: 'json_object' } or { type: 'json_schema', name, schema }"
    throw rejected('text.format', `'text.format' must be ${types}.`)
  }
  return {
    format: {
      type,
      name,
      description: typeof description === 'string' ? description : null,
      strict: strict === true,
    },
    output: schema as JsonObject,
  }
}
