import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, messageOf, toJson } from '../protocol/index.ts'
import { jsonSchemaProblem } from './json-schema.ts'
import { isThenable } from './map-maybe-async.ts'

/**
 * JSON Schema written by hand. Without `validate` the value is checked against the JSON Schema
 * itself.
 */
export interface JsonSchema<Value = JsonObject> {
  readonly jsonSchema: JsonObject
  /** Returns `{ value }`, or `{ issues }` if the value is invalid, as in Standard Schema. */
  readonly validate?: (
    value: unknown,
  ) => StandardSchemaV1.Result<Value> | Promise<StandardSchemaV1.Result<Value>>
}

/**
 * A schema of any library that implements Standard Schema with JSON Schema (zod 4, arktype, valibot
 * with its adapter), or a JSON Schema.
 */
export type Schema = StandardSchemaV1 | JsonSchema<unknown>

type ValueOf<Result> = [Extract<Result, { readonly value: unknown }>] extends [never]
  ? JsonObject
  : Extract<Result, { readonly value: unknown }>['value']

/** The output type of a schema. */
export type InferValue<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly validate?: (value: never) => infer Result }
    ? ValueOf<Awaited<Result>>
    : JsonObject

/** The input type of a schema, before any transformation. */
export type InferInput<S extends Schema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : InferValue<S>

/** Each issue names the path and the problem, for a model to read. */
type Checked<Value = unknown> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly string[] }

export interface CompiledSchema<Value = unknown> {
  readonly jsonSchema: JsonObject
  /** Never throws or rejects. Synchronous if the schema is. */
  check(value: unknown): Checked<Value> | Promise<Checked<Value>>
}

/**
 * Compiles a schema. Throws `invalid_input` with the library's name and a fix if it cannot produce
 * JSON Schema.
 */
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
  return { jsonSchema, check: (value) => runValidator(() => standard.validate(value)) }
}

function standardToJsonSchema(standard: StandardSchemaV1.Props, op: string, what: string): JsonObject {
  const { vendor } = standard
  const { jsonSchema } = standard as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (typeof jsonSchema?.input !== 'function')
    throw invalidInput(
      op,
      `${what} is a ${vendor} schema that cannot describe itself as JSON Schema: ${remedyFor(vendor)}`,
    )
  // The input side is what the model writes; the output side throws on transforms.
  let failure: unknown
  for (const target of ['draft-2020-12', 'draft-07']) {
    try {
      return withoutSchemaUri(jsonSchema.input({ target }))
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

function remedyFor(vendor: string): string {
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
    jsonSchema = withoutSchemaUri(schema.jsonSchema)
  } catch (error) {
    throw invalidInput(op, `${what}.jsonSchema is not JSON (${messageOf(error)})`, error)
  }
  if (validate) return { jsonSchema, check: (value) => runValidator(() => validate(value)) }
  const problem = jsonSchemaProblem(jsonSchema)
  if (problem) throw invalidInput(op, `${what}.jsonSchema cannot be used: ${problem}`)
  let checker: Promise<(value: unknown) => Checked> | undefined
  return {
    jsonSchema,
    check: async (value) => {
      checker ??= jsonSchemaChecker(jsonSchema)
      return checker.then((check) => check(value)).catch(validatorFailed)
    },
  }
}

/**
 * Loads the validator only for schemas without their own: it is larger than the rest of this
 * module.
 */
async function jsonSchemaChecker(jsonSchema: JsonObject): Promise<(value: unknown) => Checked> {
  const { Validator } = await import('@cfworker/json-schema')
  const validator = new Validator(jsonSchema as never, '2020-12', false)
  return (value) => {
    try {
      const { valid, errors } = validator.validate(value)
      if (valid) return { value }
      // Errors of wrapper keywords only repeat those below them.
      const leaves = errors.filter(({ keyword }) => !wrapperKeywords.has(keyword))
      const reported = leaves.length > 0 ? leaves : errors
      return {
        issues: reported.map((error) => withPath(segments(error.instanceLocation), messageFor(error))),
      }
    } catch (error) {
      return { issues: [`the JSON Schema cannot be used: ${messageOf(error)}`] }
    }
  }
}

function runValidator(
  validate: () => StandardSchemaV1.Result<unknown> | Promise<StandardSchemaV1.Result<unknown>>,
): Checked | Promise<Checked> {
  try {
    const result = validate()
    return isThenable(result)
      ? Promise.resolve(result).then(toChecked).catch(validatorFailed)
      : toChecked(result)
  } catch (error) {
    return validatorFailed(error)
  }
}

/**
 * Valid only without issues: valibot returns a value along with them, and arktype's failure is
 * itself an array.
 */
function toChecked(result: StandardSchemaV1.Result<unknown>): Checked {
  if (typeof result !== 'object' || result === null)
    return { issues: ['the validator returned neither { value } nor { issues }'] }
  if (Array.isArray(result.issues)) {
    const issues: readonly StandardSchemaV1.Issue[] = result.issues
    return { issues: issues.length > 0 ? issues.map(describe) : ['the value was rejected without a reason'] }
  }
  if ('value' in result) return { value: result.value }
  return { issues: ['the validator returned neither { value } nor { issues }'] }
}

function validatorFailed(error: unknown): Checked {
  return { issues: [`the validator failed: ${messageOf(error)}`] }
}

function describe(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map((segment) => String(isObject(segment) ? segment.key : segment)) ?? []
  return withPath(path, issue.message)
}

const wrapperKeywords = new Set(
  'properties patternProperties additionalProperties items prefixItems allOf anyOf oneOf $ref'.split(' '),
)

function messageFor({ keyword, error }: { keyword: string; error: string }): string {
  return keyword === 'false' ? 'is not allowed' : error
}

/** The keys of a JSON pointer in a URI fragment, such as `#/a~1b/0`. */
function segments(pointer: string): string[] {
  const [, ...keys] = pointer.split('/')
  return keys.map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function withPath(path: readonly string[], message: string): string {
  return path.length > 0 ? `${path.join('.')}: ${message}` : message
}

function withoutSchemaUri(schema: object): JsonObject {
  const { $schema, ...rest } = toJson(schema) as JsonObject
  return rest
}
