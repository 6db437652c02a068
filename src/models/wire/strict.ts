import type { JsonObject, JsonValue, ToolSpec } from '../../protocol/index.ts'
import { isJsonObject, isObject } from '../../protocol/index.ts'

/** `In context=('properties', 'data'), 'oneOf' is not permitted.`: the whole request is refused for one of these. */
const notStrict = new Set([
  ...['oneOf', 'allOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies'],
  ...['patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties'],
  ...['prefixItems', 'additionalItems', 'contains', 'minContains', 'maxContains', 'uniqueItems'],
  ...['unevaluatedItems', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType', 'contentSchema'],
])

const strictFormats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']

/**
 * A schema as OpenAI can hold a model to it (`strict: true`), or nothing if it cannot: every object is closed and every property of
 * it required, everything has a type, and no keyword stands in it that is refused.
 */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  const closed = closeObjects(schema)
  return closed.type === 'object' && closed.anyOf === undefined && isStrict(closed) ? closed : undefined
}

/** What is said of a tool for which `strict` was asked: the schema it is held to, or its own without that. */
export function strictTool(
  { inputSchema, strict }: ToolSpec,
  close: (schema: JsonObject) => JsonObject | undefined,
): { readonly schema: JsonObject; readonly strict: boolean | undefined } {
  const closed = strict ? close(inputSchema) : undefined
  return closed ? { schema: closed, strict } : { schema: inputSchema, strict: strict ? undefined : strict }
}

/** Objects that list their properties have no others: schemas made from types leave that open, and mean it so. */
export function closeObjects(schema: JsonObject): JsonObject {
  const closed = mapSchemas(schema, closeObjects)
  const { properties, additionalProperties } = closed
  const closes = properties !== undefined && additionalProperties === undefined
  return closes ? { ...closed, additionalProperties: false } : closed
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

/**
 * The same schema as far as Anthropic takes it: without those keywords, with every object closed. Nothing if an object in it has
 * properties of any name: closed, it could only be empty.
 */
export function closedSchema(schema: JsonObject): JsonObject | undefined {
  return isOpen(schema) ? undefined : close(schema)
}

function close(schema: JsonObject): JsonObject {
  const { oneOf, ...rest } = mapSchemas(schema, close)
  const kept = Object.entries(rest).filter(
    ([key, value]) =>
      key === 'allOf' || !(refused.has(key) || (key === 'format' && !formats.includes(String(value)))),
  )
  const closed = { ...Object.fromEntries(kept), ...(oneOf !== undefined && { anyOf: oneOf }) }
  return isObjectType(closed) ? { ...closed, additionalProperties: false } : closed
}

function isOpen(schema: JsonObject): boolean {
  const { properties, additionalProperties, patternProperties } = schema
  const listed = properties !== undefined && additionalProperties === undefined
  const closed = (listed || additionalProperties === false) && patternProperties === undefined
  if (isObjectType(schema) && !closed) return true
  let open = false
  mapSchemas(schema, (inner) => {
    open ||= isOpen(inner)
    return inner
  })
  return open
}

/** A schema with each schema directly within it replaced. */
function mapSchemas(schema: JsonObject, map: (inner: JsonObject) => JsonObject): JsonObject {
  const deeper = (value: JsonValue): JsonValue =>
    Array.isArray(value) ? value.map(deeper) : isJsonObject(value) ? map(value) : value
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    if (values.has(key)) return [key, value]
    // Names of properties are no keywords.
    if (!maps.has(key) || !isJsonObject(value)) return [key, deeper(value)]
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deeper(one)]))]
  })
  return Object.fromEntries(entries)
}

const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
