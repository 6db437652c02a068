import type { JsonObject, JsonValue } from 'millrace'
import { isJsonObject } from './json-object.ts'

interface Place {
  readonly schema: JsonObject
  readonly path: readonly string[]
}

/** What OpenAI says of a schema that it cannot hold a model to; undefined if it can. */
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

/** Anthropic wants every object closed, and leaves it to the schema what must be there. */
export function openProblem(schema: JsonValue | undefined): string | undefined {
  const open = objectsIn(schema).some((place) => place.schema.additionalProperties !== false)
  return open ? "For 'object' type, 'additionalProperties' must be explicitly set to false" : undefined
}

/** The schemas of objects in a schema, from the outside in, with the way to each. */
function objectsIn(schema: JsonValue | undefined, path: readonly string[] = []): Place[] {
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
    ...[...inMaps, ...inLists].flatMap(([inner, ...way]) => objectsIn(inner, [...path, ...way])),
    ...objectsIn(items, [...path, 'items']),
  ]
}

/** As Python writes it: `()`, `('items',)`, `('properties', 'a')`. */
function tuple(path: readonly string[]): string {
  return `(${path.map((step) => `'${step}'`).join(', ')}${path.length === 1 ? ',' : ''})`
}
