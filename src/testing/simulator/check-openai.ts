import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { kindOf } from '../../protocol/index.ts'
import type { Failure } from './failures.ts'
import { isJsonObject } from './json-object.ts'

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
    if (!/^[a-zA-Z0-9_-]+$/.test(fn.name))
      return refusal(
        `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        param,
        'invalid_value',
      )
    const long = tooLong(param, fn.name, 64)
    if (long) return long
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
