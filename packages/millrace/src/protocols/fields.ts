import type { JsonObject, Problem } from '../protocol/index.ts'
import {
  anObject,
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  logPosition,
  messageOf,
  oneOf,
  someText,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'

/** A value that a client may send: a check, and the matching JSON Schema for `openapi.json`. */
export interface Field {
  readonly schema: JsonObject
  readonly problem: (value: unknown) => Problem
  readonly required?: boolean
}

export type Fields = Readonly<Record<string, Field>>

export function textField({ max, ...more }: { max: number; description?: string }): Field {
  return {
    schema: { type: 'string', minLength: 1, maxLength: max, ...more },
    problem: (value) => someText(value) || (String(value).length > max && `is longer than ${max} characters`),
  }
}

export function patternField({ pattern, expected, ...more }: PatternFieldOptions): Field {
  const regex = new RegExp(pattern, 'u')
  return {
    schema: { type: 'string', pattern, ...more },
    problem: (value) => !(typeof value === 'string' && regex.test(value)) && `must be ${expected}`,
  }
}

interface PatternFieldOptions {
  readonly pattern: string
  /** Completes the error message "must be …". */
  readonly expected: string
  readonly description?: string
}

export function choiceField(...values: readonly string[]): Field {
  return { schema: { type: 'string', enum: values }, problem: oneOf(...values) }
}

export function numberField({ min, max, ...more }: NumberFieldOptions): Field {
  return {
    schema: { type: 'integer', minimum: min, ...(max !== undefined && { maximum: max }), ...more },
    problem: (value) =>
      wholeNumber(min)(value) || (max !== undefined && Number(value) > max && `must be at most ${max}`),
  }
}

interface NumberFieldOptions {
  readonly min: number
  readonly max?: number
  readonly description?: string
}

/** A number of an entry, or `now`. */
export function positionField(more: { description?: string } = {}): Field {
  return {
    schema: { anyOf: [{ type: 'integer', minimum: 0 }, { const: 'now' }], ...more },
    problem: logPosition,
  }
}

export function booleanField(more: { description?: string } = {}): Field {
  return { schema: { type: 'boolean', ...more }, problem: yesOrNo }
}

export function objectField(more: { description?: string } = {}): Field {
  return { schema: { type: 'object', ...more }, problem: anObject }
}

export function listField(more: { items: JsonObject; description?: string }): Field {
  return {
    schema: { type: 'array', ...more },
    problem: (value) => !Array.isArray(value) && `must be a list, not ${kindOf(value)}`,
  }
}

export function required(field: Field): Field {
  return { ...field, required: true }
}

/** Throws `invalid_input` if it is not an object, or if a field is missing, unknown or invalid. */
export function checkFields(
  value: unknown,
  fields: Fields,
  { op, what }: { op: string; what: string },
): Record<string, unknown> {
  if (!isObject(value)) throw invalidInput(op, `${what} must be a JSON object, not ${kindOf(value)}`)
  const table = Object.fromEntries(Object.entries(fields).map(([name, { problem }]) => [name, problem]))
  checkOptions(value, table, { op, what: `${what}: the field` })
  for (const [name, field] of Object.entries(fields))
    if (field.required && value[name] === undefined)
      throw invalidInput(op, `${what}: the field '${name}' is missing`)
  return value
}

/** The JSON Schema of an object with these fields. */
export function schemaOf(fields: Fields): JsonObject {
  const names = Object.keys(fields).filter((name) => fields[name]?.required)
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
    ...(names.length > 0 && { required: names }),
    additionalProperties: false,
  }
}

/**
 * Deeper than any real input. JSON a thousand levels deep can be parsed, but writing it overflows
 * the stack.
 */
const maxDepth = 100

const quote = 0x22
const backslash = 0x5c
// The closing characters are at +2.
const bracket = 0x5b
const brace = 0x7b

/** Parses JSON from a client. Throws `invalid_input`; `what` is the subject of the message. */
export function parseJson(text: string, { op, what }: { op: string; what: string }): unknown {
  if (isTooDeep(text)) throw invalidInput(op, `${what} is nested more than ${maxDepth} levels deep`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidInput(op, `${what} is not valid JSON: ${messageOf(error)}`, error)
  }
}

/** Scans characters: a regular expression would take longer than the parser. */
function isTooDeep(text: string): boolean {
  if (text.length <= 2 * maxDepth) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === backslash) at++
      else if (code === quote) isInString = false
    } else if (code === quote) isInString = true
    else if (code === bracket || code === brace) {
      if (++depth > maxDepth) return true
    } else if (code === bracket + 2 || code === brace + 2) depth--
  }
  return false
}
