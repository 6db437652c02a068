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

/**
 * Objects that list their properties have no others: schemas made from types leave that open, and mean it so. Where several schemas
 * speak of one object, each of them is left open: closed, they would contradict each other.
 */
export function closeObjects(schema: JsonObject): JsonObject {
  if (speaksTwice(schema)) return schema
  const closed = mapSchemas(schema, closeObjects)
  const { properties, additionalProperties } = closed
  const closes = properties !== undefined && additionalProperties === undefined
  return closes ? { ...closed, additionalProperties: false } : closed
}

const conditions = ['allOf', 'not', 'if', 'then', 'else', 'dependentSchemas']

/** Whether an object is described here in more than one place. */
function speaksTwice(schema: JsonObject): boolean {
  const chooses = schema.anyOf !== undefined || schema.oneOf !== undefined
  return conditions.some((key) => schema[key] !== undefined) || (chooses && schema.properties !== undefined)
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return false
  const { type, properties, required, additionalProperties, items, anyOf, $ref, $defs, definitions, format } =
    schema
  if (Object.keys(schema).some((key) => notStrict.has(key))) return false
  if (anyOf !== undefined && properties !== undefined) return false
  // `schema must have a 'type' key`
  if (type === undefined && anyOf === undefined && $ref === undefined) return false
  // `$ref cannot have keywords {'description'}`
  if ($ref !== undefined && Object.keys(schema).length > 1) return false
  // `regex lookaround is not supported`
  if (/\(\?<?[=!]/.test(String(schema.pattern ?? ''))) return false
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
 * The same schema as far as Anthropic takes it: without those keywords, with every object closed. Nothing if that would be another
 * schema: an object with properties of any name could only be empty, a tuple would lose its items; or if it goes in circles, which
 * is refused (`Circular reference detected in schema definitions`).
 */
export function closedSchema(schema: JsonObject): JsonObject | undefined {
  return isOpen(schema) || isCircular(schema, schema, new Set()) ? undefined : close(schema)
}

function close(schema: JsonObject): JsonObject {
  const { oneOf, ...rest } = mapSchemas(schema, close)
  const kept = Object.entries(rest).filter(
    ([key, value]) => !(refused.has(key) || (key === 'format' && !formats.includes(String(value)))),
  )
  const closed = { ...Object.fromEntries(kept), ...(oneOf !== undefined && { anyOf: oneOf }) }
  return isObjectType(closed) ? { ...closed, additionalProperties: false } : closed
}

function isOpen(schema: JsonObject): boolean {
  const { properties, additionalProperties, patternProperties } = schema
  const listed = properties !== undefined && additionalProperties === undefined
  const closed = (listed || additionalProperties === false) && patternProperties === undefined
  if (isObjectType(schema) && !closed) return true
  if (speaksTwice(schema) || schema.prefixItems !== undefined || Array.isArray(schema.items)) return true
  let open = false
  mapSchemas(schema, (inner) => {
    open ||= isOpen(inner)
    return inner
  })
  return open
}

/** Follows references to definitions; one that leads back to where it came from is a circle. */
function isCircular(schema: JsonObject, root: JsonObject, trail: ReadonlySet<string>): boolean {
  const { $ref } = schema
  if (typeof $ref === 'string') {
    if ($ref === '#' || trail.has($ref)) return true
    const target = targetOf($ref, root)
    return target !== undefined && isCircular(target, root, new Set([...trail, $ref]))
  }
  let circular = false
  const { $defs, definitions, ...used } = schema
  mapSchemas(used, (inner) => {
    circular ||= isCircular(inner, root, trail)
    return inner
  })
  return circular
}

function targetOf(ref: string, { $defs, definitions }: JsonObject): JsonObject | undefined {
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(ref)?.[1]
  const found = [$defs, definitions].map((map) =>
    isJsonObject(map) && name !== undefined ? map[name] : undefined,
  )
  return found.find(isJsonObject)
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
