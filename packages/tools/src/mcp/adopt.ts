import { type JsonObject, type JsonValue, type Tool, type ToolContext, tool } from 'millrace'
import { isObject, jsonSchemaProblem, toJson } from 'millrace/internal'
import { fingerprintOf } from './clean.ts'
import type { ServerTool } from './sdk.ts'

interface AdoptOptions {
  readonly name: string
  readonly trust: boolean
  /** Whether its calls may become tasks, which outlive the process. */
  readonly mayBeTask?: boolean
  readonly call: (input: JsonObject, context: ToolContext) => Promise<unknown>
}

/**
 * Turns a server's tool into one of ours, even with an invalid description or schema: the server
 * validates too.
 */
export function adopt(definition: ServerTool, options: AdoptOptions): Tool {
  return { ...toolOf(definition, options), fingerprint: fingerprintOf(definition) }
}

function toolOf(definition: ServerTool, { name, trust, mayBeTask = false, call }: AdoptOptions): Tool {
  const { description, title, annotations, inputSchema } = definition
  const readOnlyHint = trust && annotations?.readOnlyHint
  const words = description?.trim() || title || annotations?.title || definition.name
  const options = {
    name,
    run: call,
    // callServer() has its own timeout, which restarts with each progress notification.
    timeoutMs: Number.POSITIVE_INFINITY,
    // callServer() decides about a call that may have become a task.
    repeat: mayBeTask || isSafe(definition, trust) ? ('safe' as const) : ('never' as const),
    ...(readOnlyHint && { access: () => [] }),
  }
  const jsonSchema = acceptable(inputSchema)
  if (jsonSchema && !jsonSchemaProblem(jsonSchema))
    try {
      const input = trust || !mayHang(jsonSchema) ? { jsonSchema } : { jsonSchema, validate: unchecked }
      return tool({ ...options, description: cut(words, 4_000), input })
    } catch {
      // An unknown type, or a pattern that does not compile: the schema goes into the description
      // instead.
    }
  const schemaText = `\n\nThe JSON Schema of its input: ${JSON.stringify(inputSchema) ?? 'not given'}`
  return tool({
    ...options,
    description: `${cut(words, 4_000)}${cut(schemaText, 4_000)}`,
    input: { jsonSchema: { type: 'object' } },
  })
}

/** Whether a call can be repeated. */
export function isSafe({ annotations }: ServerTool, trust: boolean): boolean {
  return trust && Boolean(annotations?.readOnlyHint || annotations?.idempotentHint)
}

/**
 * The schema if providers accept it and it can be validated here. A rejected schema would fail the
 * whole request.
 */
function acceptable(inputSchema: unknown): JsonObject | undefined {
  if (!isObject(inputSchema)) return undefined
  const schema = toJson(inputSchema) as JsonObject
  const isCombined = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'].some((keyword) => keyword in schema)
  if (isCombined || JSON.stringify(schema).length > 100_000 || hasExternalRef(schema)) return undefined
  return schema
}

/**
 * With `^(a+)+$`, or two references that double the work at each step, thirty characters could
 * block the process.
 */
function mayHang(schema: JsonObject): boolean {
  const text = JSON.stringify(schema)
  const references = text.match(/"\$(?:ref|dynamicRef|recursiveRef)":/g)?.length ?? 0
  return references > 1 || /"pattern(?:Properties)?":/.test(text)
}

function unchecked(value: unknown) {
  return { value: value as JsonObject }
}

/** Whether it refers to another document, which is not fetched. */
function hasExternalRef(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasExternalRef)
  const { $ref } = value as JsonObject
  return (
    (typeof $ref === 'string' && !$ref.startsWith('#')) ||
    Object.values(value).some((item) => hasExternalRef(item))
  )
}

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
