import type { JsonObject, JsonValue } from '../protocol/index.ts'
import { isObject, messageOf } from '../protocol/index.ts'

const types = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

/** Keywords whose value is a schema or a list of them, and those whose value has schemas by name. */
const schemas = new Set(
  'items prefixItems additionalItems contains additionalProperties unevaluatedItems unevaluatedProperties propertyNames allOf anyOf oneOf not if then else'.split(
    ' ',
  ),
)
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/**
 * What would make a JSON Schema fail on every value it is held against: a type that does not exist, a pattern that does not
 * compile, a reference into nowhere. Better said to its author than to the model.
 */
export function flawIn(root: JsonObject): string | undefined {
  const open: { schema: JsonValue; at: string }[] = [{ schema: root, at: '#' }]
  for (const { schema, at } of open) {
    if (Array.isArray(schema))
      for (const [index, item] of schema.entries()) open.push({ schema: item, at: `${at}/${index}` })
    if (!isObject(schema)) continue
    const flaw = flawAt(schema as JsonObject, root)
    if (flaw) return `${flaw} at ${at}`
    for (const [keyword, value] of Object.entries(schema as JsonObject)) {
      const below = `${at}/${keyword}`
      if (schemas.has(keyword)) open.push({ schema: value, at: below })
      if (named.has(keyword) && isObject(value))
        for (const [name, item] of Object.entries(value as JsonObject))
          open.push({ schema: item, at: `${below}/${name}` })
    }
  }
  return undefined
}

function flawAt({ type, pattern, $ref }: JsonObject, root: JsonObject): string | undefined {
  const unknown = (Array.isArray(type) ? type : [type]).find(
    (name) => typeof name === 'string' && !types.has(name),
  )
  if (unknown !== undefined) return `there is no type ${JSON.stringify(unknown)}`
  if (typeof pattern === 'string') {
    try {
      new RegExp(pattern, 'u')
    } catch (error) {
      return `the pattern does not compile (${messageOf(error)})`
    }
  }
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !resolves($ref, root))
    return `${$ref} points nowhere`
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
