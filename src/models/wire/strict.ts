import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'

/**
 * Whether OpenAI can hold a model to this schema (`strict: true`): every object is closed, and every property of it required.
 * A schema that is not so is sent as a wish.
 */
export function fitsStrict(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(fitsStrict)
  if (!isObject(schema)) return true
  const { properties, required, additionalProperties, type } = schema
  if (type === 'object' || properties !== undefined) {
    const names = isObject(properties) ? Object.keys(properties) : []
    const wanted: readonly unknown[] = Array.isArray(required) ? required : []
    if (additionalProperties !== false || !names.every((name) => wanted.includes(name))) return false
  }
  return Object.values(schema).every((value) => fitsStrict(value as JsonValue))
}

/** Keywords that Anthropic refuses in a schema for its answers; the agent holds the answer to the whole schema afterwards. */
const refused = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'not',
  '$schema',
])

/** What stands in these is data, not schema. */
const values = new Set(['const', 'enum', 'default', 'examples'])

/** The same schema as far as Anthropic takes it: without those keywords, with every object closed. */
export function closedSchema(schema: JsonObject): JsonObject {
  const closed: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (refused.has(key)) continue
    // Names of properties are no keywords.
    if (values.has(key)) {
      closed[key] = value
      continue
    }
    const named = key === 'properties' || key === '$defs' || key === 'definitions'
    closed[key === 'oneOf' ? 'anyOf' : key] = named ? mapValues(value) : deeper(value)
  }
  if (closed.type === 'object' || closed.properties !== undefined) closed.additionalProperties = false
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
