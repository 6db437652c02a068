import type { JsonObject, JsonValue } from 'millrace'
import { kindOf } from 'millrace/internal'
import type { Failure } from './failures.ts'
import { isJsonObject } from './json-object.ts'
import { strictProblem } from './strict-schema.ts'

// What Chat Completions and Responses refuse alike, in the words they have in common.

export const refusal = (message: string, param?: string, code?: string): Failure => ({
  status: 400,
  message,
  ...(param !== undefined && { param }),
  ...(code !== undefined && { code }),
})

export const missing = (param: string) =>
  refusal(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter')

export function wrongValue(
  param: string,
  value: JsonValue | undefined,
  supported: readonly string[],
): Failure {
  const quoted = supported.map((one) => `'${one}'`)
  const list = `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
  return refusal(`Invalid value: '${String(value)}'. Supported values are: ${list}.`, param, 'invalid_value')
}

export const wrongType = (param: string, wanted: string, value: JsonValue | undefined) =>
  refusal(
    `Invalid type for '${param}': expected ${wanted}, but got ${kindOf(value)} instead.`,
    param,
    'invalid_type',
  )

export function tooLong(param: string, value: JsonValue | undefined, limit: number): Failure | undefined {
  if (typeof value !== 'string' || value.length <= limit) return undefined
  const message = `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${value.length} instead.`
  return refusal(message, param, 'string_above_max_length')
}

/** Names of functions, in `tools` and in the calls of a conversation alike. */
export function nameFlaw(param: string, name: string): Failure | undefined {
  if (name === '')
    return refusal(
      `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      param,
      'empty_string',
    )
  if (!/^[a-zA-Z0-9_-]+$/.test(name))
    return refusal(
      `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      param,
      'invalid_value',
    )
  return tooLong(param, name, 64)
}

/** The schema of an answer, where it is to be kept to the letter. */
export function formatFlaw(
  format: JsonValue | undefined,
  told: { readonly param: string; readonly code?: string },
): Failure | undefined {
  if (!isJsonObject(format) || format.strict !== true) return undefined
  return strictFlaw(format.schema, { what: `response_format '${format.name}'`, ...told })
}

function strictFlaw(
  schema: JsonValue | undefined,
  { what, param, code }: { readonly what: string; readonly param: string; readonly code?: string },
): Failure | undefined {
  const problem = strictProblem(schema)
  return problem === undefined ? undefined : refusal(`Invalid schema for ${what}: ${problem}`, param, code)
}

/** `tools`, and a `tool_choice` that names one of them. `place` leads to where a function stands in a tool. */
export function toolsFlaw(body: JsonObject, place: '' | '.function'): Failure | undefined {
  const tools = body.tools ?? []
  if (!Array.isArray(tools)) return wrongType('tools', 'an array of tools', tools)
  const names: string[] = []
  for (const [index, tool] of tools.entries()) {
    if (!isJsonObject(tool)) return wrongType(`tools[${index}]`, 'an object', tool)
    if (tool.type === undefined) return missing(`tools[${index}].type`)
    // Tools that the provider runs itself have no name.
    if (tool.type !== 'function') continue
    const fn = place ? tool.function : tool
    const param = `tools[${index}]${place}.name`
    if (!isJsonObject(fn) || typeof fn.name !== 'string' || fn.name === '') return missing(param)
    const flaw =
      nameFlaw(param, fn.name) ??
      (fn.strict === true
        ? strictFlaw(fn.parameters, {
            what: `function '${fn.name}'`,
            param: `tools[${index}]${place}.parameters`,
            code: 'invalid_function_parameters',
          })
        : undefined)
    if (flaw) return flaw
    names.push(fn.name)
  }
  return toolChoiceFlaw(body, names, tools.length)
}

function toolChoiceFlaw(
  { tool_choice: choice }: JsonObject,
  names: readonly string[],
  count: number,
): Failure | undefined {
  if (choice === 'required' && count === 0)
    return refusal("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
  if (!isJsonObject(choice) || choice.type !== 'function') return undefined
  const { name } = isJsonObject(choice.function) ? choice.function : choice
  if (typeof name !== 'string') return missing('tool_choice.name')
  return names.includes(name)
    ? undefined
    : refusal(`Tool choice '${choice.type}' not found in 'tools' parameter.`, 'tool_choice')
}
