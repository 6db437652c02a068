import { type JsonObject, type JsonValue, type Tool, type ToolContext, tool } from 'millrace'
import { flawIn, isObject, toJson } from 'millrace/internal'
import { fingerprintOf } from './clean.ts'
import type { ServerTool } from './sdk.ts'

interface AdoptOptions {
  readonly name: string
  readonly trust: boolean
  readonly call: (input: JsonObject, context: ToolContext) => Promise<unknown>
}

/** A server's tool as one of ours. Whatever its description and schema are like, there is a tool: the server checks as well. */
export function adopt(definition: ServerTool, options: AdoptOptions): Tool {
  return { ...toolOf(definition, options), fingerprint: fingerprintOf(definition) }
}

function toolOf(definition: ServerTool, { name, trust, call }: AdoptOptions): Tool {
  const { description, title, annotations, inputSchema } = definition
  const { readOnlyHint, idempotentHint } = trust ? (annotations ?? {}) : {}
  const words = description?.trim() || title || annotations?.title || definition.name
  const options = {
    name,
    run: call,
    // The server's own time counts from its last word of progress.
    timeoutMs: Number.POSITIVE_INFINITY,
    repeat: readOnlyHint || idempotentHint ? ('safe' as const) : ('never' as const),
    ...(readOnlyHint && { access: () => [] }),
  }
  const jsonSchema = acceptable(inputSchema)
  if (jsonSchema && !flawIn(jsonSchema))
    try {
      const input =
        trust || !canTakeForEver(jsonSchema) ? { jsonSchema } : { jsonSchema, validate: unchecked }
      return tool({ ...options, description: cut(words, 4_000), input })
    } catch {
      // A type that does not exist, a pattern that does not compile: told in words, below.
    }
  const told = `\n\nThe JSON Schema of its input: ${JSON.stringify(inputSchema) ?? 'not given'}`
  return tool({
    ...options,
    description: `${cut(words, 4_000)}${cut(told, 4_000)}`,
    input: { jsonSchema: { type: 'object' } },
  })
}

/** The schema if a provider takes it and it can be checked here. One that is refused takes the whole request down with it. */
function acceptable(inputSchema: unknown): JsonObject | undefined {
  if (!isObject(inputSchema)) return undefined
  const schema = toJson(inputSchema) as JsonObject
  const isCombined = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'].some((keyword) => keyword in schema)
  if (isCombined || JSON.stringify(schema).length > 100_000 || refersElsewhere(schema)) return undefined
  return schema
}

/** With `^(a+)+$`, or two references that double the work at each step, thirty characters of input would hold up this whole process. */
function canTakeForEver(schema: JsonObject): boolean {
  const text = JSON.stringify(schema)
  const references = text.match(/"\$(?:ref|dynamicRef|recursiveRef)":/g)?.length ?? 0
  return references > 1 || /"pattern(?:Properties)?":/.test(text)
}

function unchecked(value: unknown) {
  return { value: value as JsonObject }
}

/** A reference to another document, which nobody is going to fetch. */
function refersElsewhere(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(refersElsewhere)
  const { $ref } = value as JsonObject
  return (
    (typeof $ref === 'string' && !$ref.startsWith('#')) ||
    Object.values(value).some((item) => refersElsewhere(item))
  )
}

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
