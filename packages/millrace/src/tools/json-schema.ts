import type { JsonObject, JsonValue } from '../protocol/index.ts'
import { isObject, messageOf } from '../protocol/index.ts'

const types = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

/** Keywords whose value is a schema or a list of schemas. */
const schemas = new Set(
  'items prefixItems additionalItems contains additionalProperties unevaluatedItems unevaluatedProperties propertyNames allOf anyOf oneOf not if then else'.split(
    ' ',
  ),
)
/** Keywords whose value is an object of schemas. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/**
 * Finds what would make a JSON Schema fail on every value: an unknown type, a pattern that does not
 * compile, a broken reference. The author should see this, not the model.
 */
export function jsonSchemaProblem(root: JsonObject): string | undefined {
  const open: { schema: JsonValue; at: string }[] = [{ schema: root, at: '#' }]
  for (const { schema, at } of open) {
    if (Array.isArray(schema))
      for (const [index, item] of schema.entries()) open.push({ schema: item, at: `${at}/${index}` })
    if (!isObject(schema)) continue
    const problem = problemAt(schema as JsonObject, root)
    if (problem) return `${problem} at ${at}`
    for (const [keyword, value] of Object.entries(schema as JsonObject)) {
      const path = `${at}/${keyword}`
      if (schemas.has(keyword)) open.push({ schema: value, at: path })
      if (named.has(keyword) && isObject(value))
        for (const [name, item] of Object.entries(value as JsonObject))
          open.push({ schema: item, at: `${path}/${name}` })
    }
  }
  return undefined
}

function problemAt({ type, pattern, $ref }: JsonObject, root: JsonObject): string | undefined {
  const unknown = (Array.isArray(type) ? type : [type]).find(
    (name) => typeof name === 'string' && !types.has(name),
  )
  if (unknown !== undefined) return `unknown type ${JSON.stringify(unknown)}`
  if (typeof pattern === 'string') {
    try {
      new RegExp(pattern, 'u')
    } catch (error) {
      return `the pattern does not compile (${messageOf(error)})`
    }
  }
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !resolves($ref, root))
    return `${$ref} does not resolve`
  return undefined
}

function resolves(ref: string, root: JsonObject): boolean {
  let at: JsonValue | undefined = root
  for (const key of ref.slice(2).split('/'))
    at = (at as Record<string, JsonValue> | undefined)?.[
      decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    ]
  return at !== undefined
}
