import type { JsonObject, JsonValue } from 'millrace'
import { isJsonObject } from './json-object.ts'

interface SchemaLocation {
  readonly schema: JsonObject
  readonly path: readonly string[]
}

/** OpenAI's error for a schema that strict mode does not support, if any. */
export function strictProblem(schema: JsonValue | undefined): string | undefined {
  for (const { schema: object, path } of objectsIn(schema)) {
    const context = `In context=${tuple(path)}`
    if (object.additionalProperties !== false)
      return `${context}, 'additionalProperties' is required to be supplied and to be false.`
    const required = Array.isArray(object.required) ? object.required : []
    const names = isJsonObject(object.properties) ? Object.keys(object.properties) : []
    const missing = names.find((name) => !required.includes(name))
    if (missing !== undefined)
      return `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  }
  return undefined
}

/**
 * Anthropic's error for an open object schema, if any. Unlike OpenAI it allows optional properties.
 */
export function openObjectProblem(schema: JsonValue | undefined): string | undefined {
  const open = objectsIn(schema).some((location) => location.schema.additionalProperties !== false)
  return open ? "For 'object' type, 'additionalProperties' must be explicitly set to false" : undefined
}

/** All object schemas in a schema with their paths, outermost first. */
function objectsIn(schema: JsonValue | undefined, path: readonly string[] = []): SchemaLocation[] {
  if (!isJsonObject(schema)) return []
  const { type, items } = schema
  const isObjectType = type === 'object' || (Array.isArray(type) && type.includes('object'))
  const inMaps = ['properties', '$defs', 'definitions'].flatMap((key) => {
    const map = schema[key]
    return Object.entries(isJsonObject(map) ? map : {}).map(([name, inner]) => [inner, key, name] as const)
  })
  const inLists = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => {
    const list = schema[key]
    return (Array.isArray(list) ? list : []).map((inner, index) => [inner, key, String(index)] as const)
  })
  return [
    ...(isObjectType ? [{ schema, path }] : []),
    ...[...inMaps, ...inLists].flatMap(([inner, ...keys]) => objectsIn(inner, [...path, ...keys])),
    ...objectsIn(items, [...path, 'items']),
  ]
}

/** A Python tuple: `()`, `('items',)`, `('properties', 'a')`. */
function tuple(path: readonly string[]): string {
  return `(${path.map((step) => `'${step}'`).join(', ')}${path.length === 1 ? ',' : ''})`
}
