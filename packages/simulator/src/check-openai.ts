import type { JsonObject, JsonValue } from 'millrace'
import { kindOf } from 'millrace/internal'
import type { Failure } from './failures.ts'
import { isJsonObject } from './json-object.ts'
import { strictProblem } from './strict-schema.ts'

// Checks and error messages that Chat Completions and Responses share.

export const badRequest = (message: string, param?: string, code?: string): Failure => ({
  status: 400,
  message,
  ...(param !== undefined && { param }),
  ...(code !== undefined && { code }),
})

export const missing = (param: string) =>
  badRequest(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter')

export function wrongValue(
  param: string,
  value: JsonValue | undefined,
  supported: readonly string[],
): Failure {
  const quoted = supported.map((one) => `'${one}'`)
  const list = `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
  return badRequest(
    `Invalid value: '${String(value)}'. Supported values are: ${list}.`,
    param,
    'invalid_value',
  )
}

export const wrongType = (param: string, wanted: string, value: JsonValue | undefined) =>
  badRequest(
    `Invalid type for '${param}': expected ${wanted}, but got ${kindOf(value)} instead.`,
    param,
    'invalid_type',
  )

export function tooLong(param: string, value: JsonValue | undefined, limit: number): Failure | undefined {
  if (typeof value !== 'string' || value.length <= limit) return undefined
  const message = `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${value.length} instead.`
  return badRequest(message, param, 'string_above_max_length')
}

/** Checks a function name, in `tools` or in a tool call. */
export function nameError(param: string, name: string): Failure | undefined {
  if (name === '')
    return badRequest(
      `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      param,
      'empty_string',
    )
  if (!/^[a-zA-Z0-9_-]+$/.test(name))
    return badRequest(
      `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      param,
      'invalid_value',
    )
  return tooLong(param, name, 64)
}

/** Checks the schema of a strict response format. */
export function formatError(
  format: JsonValue | undefined,
  details: { readonly param: string; readonly code?: string },
): Failure | undefined {
  if (!isJsonObject(format) || format.strict !== true) return undefined
  return strictError(format.schema, { what: `response_format '${format.name}'`, ...details })
}

function strictError(
  schema: JsonValue | undefined,
  { what, param, code }: { readonly what: string; readonly param: string; readonly code?: string },
): Failure | undefined {
  const problem = strictProblem(schema)
  return problem === undefined ? undefined : badRequest(`Invalid schema for ${what}: ${problem}`, param, code)
}

/** Checks `tools` and `tool_choice`. `functionPath` is the path of the function within a tool. */
export function toolsError(body: JsonObject, functionPath: '' | '.function'): Failure | undefined {
  const tools = body.tools ?? []
  if (!Array.isArray(tools)) return wrongType('tools', 'an array of tools', tools)
  const names: string[] = []
  for (const [index, tool] of tools.entries()) {
    if (!isJsonObject(tool)) return wrongType(`tools[${index}]`, 'an object', tool)
    if (tool.type === undefined) return missing(`tools[${index}].type`)
    // Provider tools have no name.
    if (tool.type !== 'function') continue
    const fn = functionPath ? tool.function : tool
    const param = `tools[${index}]${functionPath}.name`
    if (!isJsonObject(fn) || typeof fn.name !== 'string' || fn.name === '') return missing(param)
    const error =
      nameError(param, fn.name) ??
      (fn.strict === true
        ? strictError(fn.parameters, {
            what: `function '${fn.name}'`,
            param: `tools[${index}]${functionPath}.parameters`,
            code: 'invalid_function_parameters',
          })
        : undefined)
    if (error) return error
    names.push(fn.name)
  }
  return toolChoiceError(body, names, tools.length)
}

function toolChoiceError(
  { tool_choice: choice }: JsonObject,
  names: readonly string[],
  count: number,
): Failure | undefined {
  if (choice === 'required' && count === 0)
    return badRequest("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
  if (!isJsonObject(choice) || choice.type !== 'function') return undefined
  const { name } = isJsonObject(choice.function) ? choice.function : choice
  if (typeof name !== 'string') return missing('tool_choice.name')
  return names.includes(name)
    ? undefined
    : badRequest(`Tool choice '${choice.type}' not found in 'tools' parameter.`, 'tool_choice')
}
