import type { JsonObject, JsonValue, ToolSpec } from '../../protocol/index.ts'
import { isJsonObject, isObject } from '../../protocol/index.ts'

/**
 * One of these fails the whole request: `In context=('properties', 'data'), 'oneOf' is not
 * permitted.`
 */
const notStrict = new Set([
  ...['oneOf', 'allOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies'],
  ...['patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties'],
  ...['prefixItems', 'additionalItems', 'contains', 'minContains', 'maxContains', 'uniqueItems'],
  ...['unevaluatedItems', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType', 'contentSchema'],
])

const strictFormats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']

/**
 * Converts a schema to what OpenAI accepts with `strict: true`, or returns undefined if that is
 * impossible: every object must be closed, with all properties required, every value must have a
 * type, and some keywords are not allowed.
 */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  const closed = closeObjects(schema)
  return closed.type === 'object' && closed.anyOf === undefined && isStrict(closed) ? closed : undefined
}

/**
 * The schema and `strict` flag to send for a tool. Falls back to not strict if `close` cannot
 * convert the schema.
 */
export function strictTool(
  { inputSchema, strict }: ToolSpec,
  close: (schema: JsonObject) => JsonObject | undefined,
): { readonly schema: JsonObject; readonly strict: boolean | undefined } {
  const closed = strict ? close(inputSchema) : undefined
  return closed ? { schema: closed, strict } : { schema: inputSchema, strict: strict ? undefined : strict }
}

/**
 * Closes objects that list their properties: schemas generated from types leave this open but mean
 * it. If several schemas describe the same object, they stay open: closed, they would contradict
 * each other.
 */
export function closeObjects(schema: JsonObject): JsonObject {
  if (hasOverlap(schema)) return schema
  const closed = mapSchemas(schema, closeObjects)
  const { properties, additionalProperties } = closed
  const mustClose = properties !== undefined && additionalProperties === undefined
  return mustClose ? { ...closed, additionalProperties: false } : closed
}

const conditionalKeywords = ['allOf', 'not', 'if', 'then', 'else', 'dependentSchemas']

/** Whether the same object is described by more than one schema here. */
function hasOverlap(schema: JsonObject): boolean {
  const hasAlternatives = schema.anyOf !== undefined || schema.oneOf !== undefined
  return (
    conditionalKeywords.some((key) => schema[key] !== undefined) ||
    (hasAlternatives && schema.properties !== undefined)
  )
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
    const requiredNames: readonly unknown[] = Array.isArray(required) ? required : []
    if (additionalProperties !== false || !names.every((name) => requiredNames.includes(name))) return false
  }
  const maps = [properties, $defs, definitions].filter(isObject).flatMap((map) => Object.values(map))
  const parts = [...maps, ...(Array.isArray(anyOf) ? anyOf : []), ...(items === undefined ? [] : [items])]
  return parts.every(isStrict)
}

function isObjectType({ type, properties }: Record<string, unknown>): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined
}

/**
 * Keywords that Anthropic rejects. The agent still validates the answer against the full schema.
 */
const unsupported = new Set([
  ...notStrict,
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'pattern'],
  ...['minItems', 'maxItems', '$schema'],
])

const anthropicFormats = [...strictFormats, 'uri']

/** The values of these keywords are data, not schemas. */
const dataKeywords = new Set(['const', 'enum', 'default', 'examples'])

/**
 * Converts a schema to what Anthropic accepts: without the unsupported keywords, with every object
 * closed. Returns undefined if that would change its meaning (a record could only be empty, a tuple
 * would lose its items), or if it is circular (`Circular reference detected in schema
 * definitions`).
 */
export function closedSchema(schema: JsonObject): JsonObject | undefined {
  return isOpen(schema) || isCircular(schema, schema, new Set()) ? undefined : close(schema)
}

function close(schema: JsonObject): JsonObject {
  const { oneOf, ...rest } = mapSchemas(schema, close)
  const kept = Object.entries(rest).filter(
    ([key, value]) =>
      !(unsupported.has(key) || (key === 'format' && !anthropicFormats.includes(String(value)))),
  )
  const closed = { ...Object.fromEntries(kept), ...(oneOf !== undefined && { anyOf: oneOf }) }
  return isObjectType(closed) ? { ...closed, additionalProperties: false } : closed
}

function isOpen(schema: JsonObject): boolean {
  const { properties, additionalProperties, patternProperties } = schema
  const listed = properties !== undefined && additionalProperties === undefined
  const closed = (listed || additionalProperties === false) && patternProperties === undefined
  if (isObjectType(schema) && !closed) return true
  if (hasOverlap(schema) || schema.prefixItems !== undefined || Array.isArray(schema.items)) return true
  let open = false
  mapSchemas(schema, (inner) => {
    open ||= isOpen(inner)
    return inner
  })
  return open
}

/** Follows references to definitions. */
function isCircular(schema: JsonObject, root: JsonObject, visited: ReadonlySet<string>): boolean {
  const { $ref } = schema
  if (typeof $ref === 'string') {
    if ($ref === '#' || visited.has($ref)) return true
    const target = targetOf($ref, root)
    return target !== undefined && isCircular(target, root, new Set([...visited, $ref]))
  }
  let circular = false
  const { $defs, definitions, ...used } = schema
  mapSchemas(used, (inner) => {
    circular ||= isCircular(inner, root, visited)
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

/** Maps each direct subschema. */
function mapSchemas(schema: JsonObject, map: (inner: JsonObject) => JsonObject): JsonObject {
  const mapValue = (value: JsonValue): JsonValue =>
    Array.isArray(value) ? value.map(mapValue) : isJsonObject(value) ? map(value) : value
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    if (dataKeywords.has(key)) return [key, value]
    // Property names are not keywords.
    if (!maps.has(key) || !isJsonObject(value)) return [key, mapValue(value)]
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapValue(one)]))]
  })
  return Object.fromEntries(entries)
}

const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
