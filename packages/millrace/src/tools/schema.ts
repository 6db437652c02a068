import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, messageOf, toJson } from '../protocol/index.ts'
import { isThenable } from './and-then.ts'
import { flawIn } from './json-schema.ts'

/** JSON Schema written by hand. Without `validate` the value is checked against the JSON Schema itself. */
export interface JsonSchema<Value = JsonObject> {
  readonly jsonSchema: JsonObject
  /** Answers as Standard Schema does: `{ value }`, or `{ issues }` if the value does not fit. */
  readonly validate?: (
    value: unknown,
  ) => StandardSchemaV1.Result<Value> | Promise<StandardSchemaV1.Result<Value>>
}

/** A schema of any library that speaks Standard Schema with JSON Schema (zod 4, arktype, valibot through its adapter), or our own form. */
export type Schema = StandardSchemaV1 | JsonSchema<unknown>

type ValueOf<Result> = [Extract<Result, { readonly value: unknown }>] extends [never]
  ? JsonObject
  : Extract<Result, { readonly value: unknown }>['value']

/** What a schema lets through. */
export type InferValue<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly validate?: (value: never) => infer Result }
    ? ValueOf<Awaited<Result>>
    : JsonObject

/** What is written to it, before any transformation. */
export type InferInput<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : InferValue<S>

/** Each issue names the place and what is wrong there, in words for a model. */
type Checked<Value = unknown> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly string[] }

export interface CompiledSchema<Value = unknown> {
  readonly jsonSchema: JsonObject
  /** Never throws or rejects. Synchronous where the schema is. */
  check(value: unknown): Checked<Value> | Promise<Checked<Value>>
}

/** Makes a schema ready to use. Throws `invalid_input` that names the library and the way out if it cannot give JSON Schema. */
export function compileSchema(schema: Schema, { op, what }: { op: string; what: string }): CompiledSchema {
  // arktype's schemas are functions.
  const isSchema = (typeof schema === 'object' && schema !== null) || typeof schema === 'function'
  if (isSchema && '~standard' in schema) return compileStandard(schema, op, what)
  if (isObject(schema) && isObject(schema.jsonSchema))
    return compileJsonSchema(schema as unknown as JsonSchema<unknown>, op, what)
  throw invalidInput(
    op,
    `${what} must be a schema (zod 4, arktype, valibot, …) or { jsonSchema, validate? }, not ${isSchema ? 'another kind of object' : kindOf(schema)}`,
  )
}

function compileStandard(schema: StandardSchemaV1, op: string, what: string): CompiledSchema {
  const standard = schema['~standard']
  const jsonSchema = standardToJsonSchema(standard, op, what)
  return { jsonSchema, check: (value) => guard(() => standard.validate(value)) }
}

function standardToJsonSchema(standard: StandardSchemaV1.Props, op: string, what: string): JsonObject {
  const { vendor } = standard
  const { jsonSchema } = standard as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (typeof jsonSchema?.input !== 'function')
    throw invalidInput(
      op,
      `${what} is a ${vendor} schema that cannot describe itself as JSON Schema: ${wayOut(vendor)}`,
    )
  // The input side: it is what the model writes, and the output side throws on transforms.
  let failure: unknown
  for (const target of ['draft-2020-12', 'draft-07']) {
    try {
      return clean(jsonSchema.input({ target }))
    } catch (error) {
      failure ??= error
    }
  }
  throw invalidInput(
    op,
    `${what} is a ${vendor} schema with a part that JSON Schema cannot express (${messageOf(failure)}): use another type there, or pass { jsonSchema, validate }`,
    failure,
  )
}

function wayOut(vendor: string): string {
  const byHand = 'or pass { jsonSchema, validate }'
  switch (vendor) {
    case 'zod':
      return `import { z } from 'zod' (4.2 or newer, not zod/mini), ${byHand}`
    case 'valibot':
      return `wrap it in toStandardJsonSchema() from '@valibot/to-json-schema', ${byHand}`
    default:
      return `use a version of ${vendor} that implements Standard JSON Schema, ${byHand}`
  }
}

function compileJsonSchema(schema: JsonSchema<unknown>, op: string, what: string): CompiledSchema {
  const { validate } = schema
  if (validate !== undefined && typeof validate !== 'function')
    throw invalidInput(op, `${what}.validate must be a function, not ${kindOf(validate)}`)
  let jsonSchema: JsonObject
  try {
    jsonSchema = clean(schema.jsonSchema)
  } catch (error) {
    throw invalidInput(op, `${what}.jsonSchema is not JSON (${messageOf(error)})`, error)
  }
  if (validate) return { jsonSchema, check: (value) => guard(() => validate(value)) }
  const flaw = flawIn(jsonSchema)
  if (flaw) throw invalidInput(op, `${what}.jsonSchema cannot be used: ${flaw}`)
  let checker: Promise<(value: unknown) => Checked> | undefined
  return {
    jsonSchema,
    check: async (value) => {
      checker ??= jsonSchemaChecker(jsonSchema)
      return checker.then((check) => check(value)).catch(refuse)
    },
  }
}

/** Loads the validator only where a schema comes without one of its own: it is larger than all the rest of this room. */
async function jsonSchemaChecker(jsonSchema: JsonObject): Promise<(value: unknown) => Checked> {
  const { Validator } = await import('@cfworker/json-schema')
  const validator = new Validator(jsonSchema as never, '2020-12', false)
  return (value) => {
    try {
      const { valid, errors } = validator.validate(value)
      if (valid) return { value }
      // What only repeats that something below it is wrong says nothing new, as long as that is said.
      const leaves = errors.filter(({ keyword }) => !repeating.has(keyword))
      const told = leaves.length > 0 ? leaves : errors
      return { issues: told.map((error) => place(segments(error.instanceLocation), wording(error))) }
    } catch (error) {
      return { issues: [`the JSON Schema cannot be used: ${messageOf(error)}`] }
    }
  }
}

function guard(
  validate: () => StandardSchemaV1.Result<unknown> | Promise<StandardSchemaV1.Result<unknown>>,
): Checked | Promise<Checked> {
  try {
    const result = validate()
    return isThenable(result) ? Promise.resolve(result).then(judge).catch(refuse) : judge(result)
  } catch (error) {
    return refuse(error)
  }
}

/** Valid only without issues: valibot hands out a value beside them, and arktype's failure is itself an array. */
function judge(result: StandardSchemaV1.Result<unknown>): Checked {
  if (typeof result !== 'object' || result === null)
    return { issues: ['the validator answered neither { value } nor { issues }'] }
  if (Array.isArray(result.issues)) {
    const issues: readonly StandardSchemaV1.Issue[] = result.issues
    return { issues: issues.length > 0 ? issues.map(describe) : ['the value was refused without a reason'] }
  }
  if ('value' in result) return { value: result.value }
  return { issues: ['the validator answered neither { value } nor { issues }'] }
}

function refuse(error: unknown): Checked {
  return { issues: [`the validator failed: ${messageOf(error)}`] }
}

function describe(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map((segment) => String(isObject(segment) ? segment.key : segment)) ?? []
  return place(path, issue.message)
}

const repeating = new Set(
  'properties patternProperties additionalProperties items prefixItems allOf anyOf oneOf $ref'.split(' '),
)

function wording({ keyword, error }: { keyword: string; error: string }): string {
  return keyword === 'false' ? 'is not allowed' : error
}

/** The keys of a JSON pointer in a URI fragment, such as `#/a~1b/0`. */
function segments(pointer: string): string[] {
  const [, ...keys] = pointer.split('/')
  return keys.map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function place(path: readonly string[], message: string): string {
  return path.length > 0 ? `${path.join('.')}: ${message}` : message
}

function clean(schema: object): JsonObject {
  const { $schema, ...rest } = toJson(schema) as JsonObject
  return rest
}
