import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'

/** `In context=('properties', 'data'), 'oneOf' is not permitted.`: the whole request is refused for one of these. */
const notStrict = new Set([
  ...['oneOf', 'allOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies'],
  ...['patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties'],
  ...['prefixItems', 'additionalItems', 'contains', 'minContains', 'maxContains', 'uniqueItems'],
  ...['unevaluatedItems', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType', 'contentSchema'],
])

const strictFormats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']

/**
 * Whether OpenAI can hold a model to this schema (`strict: true`): every object is closed and every property of it required,
 * everything has a type, and no keyword stands in it that is refused. A schema that is not so is sent as a wish.
 */
export function fitsStrict(schema: JsonValue | undefined): boolean {
  return isObject(schema) && schema.type === 'object' && schema.anyOf === undefined && isStrict(schema)
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return false
  const { type, properties, required, additionalProperties, items, anyOf, $ref, $defs, definitions, format } =
    schema
  if (Object.keys(schema).some((key) => notStrict.has(key))) return false
  // `schema must have a 'type' key`
  if (type === undefined && anyOf === undefined && $ref === undefined) return false
  if (format !== undefined && !strictFormats.includes(String(format))) return false
  if (isObjectType(schema)) {
    const names = isObject(properties) ? Object.keys(properties) : []
    const wanted: readonly unknown[] = Array.isArray(required) ? required : []
    if (additionalProperties !== false || !names.every((name) => wanted.includes(name))) return false
  }
  const maps = [properties, $defs, definitions].filter(isObject).flatMap((map) => Object.values(map))
  const parts = [...maps, ...(Array.isArray(anyOf) ? anyOf : []), ...(items === undefined ? [] : [items])]
  return parts.every(isStrict)
}

function isObjectType({ type, properties }: Record<string, unknown>): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined
}

/** Keywords that Anthropic refuses in a schema for its answers; the agent holds the answer to the whole schema afterwards. */
const refused = new Set([
  ...notStrict,
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'pattern'],
  ...['minItems', 'maxItems', '$schema'],
])

const formats = [...strictFormats, 'uri']

/** What stands in these is data, not schema. */
const values = new Set(['const', 'enum', 'default', 'examples'])

/** The same schema as far as Anthropic takes it: without those keywords, with every object closed. */
export function closedSchema(schema: JsonObject): JsonObject {
  const closed: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'oneOf') closed.anyOf = deeper(value)
    else if (key === 'allOf') closed.allOf = deeper(value)
    else if (refused.has(key) || (key === 'format' && !formats.includes(String(value)))) continue
    else if (values.has(key)) closed[key] = value
    // Names of properties are no keywords.
    else if (key === 'properties' || key === '$defs' || key === 'definitions') closed[key] = mapValues(value)
    else closed[key] = deeper(value)
  }
  if (isObjectType(closed)) closed.additionalProperties = false
  return closed
}

function mapValues(value: JsonValue): JsonValue {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, deeper(one as JsonValue)]))
}

function deeper(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(deeper)
  return isObject(value) ? closedSchema(value as JsonObject) : value
}
