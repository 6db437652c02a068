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

/** Something that a client may say, told twice from the same facts: as a check, and as JSON Schema for those who read about it. */
export interface Field {
  readonly schema: JsonObject
  readonly problem: (value: unknown) => Problem
  readonly required?: boolean
}

export type Fields = Readonly<Record<string, Field>>

export function textField({ most, ...more }: { most: number; description?: string }): Field {
  return {
    schema: { type: 'string', minLength: 1, maxLength: most, ...more },
    problem: (value) =>
      someText(value) || (String(value).length > most && `is longer than ${most} characters`),
  }
}

export function patternField({ pattern, says, ...more }: PatternFacts): Field {
  const regex = new RegExp(pattern, 'u')
  return {
    schema: { type: 'string', pattern, ...more },
    problem: (value) => !(typeof value === 'string' && regex.test(value)) && `must be ${says}`,
  }
}

interface PatternFacts {
  readonly pattern: string
  /** What belongs there, as the rest of «must be …». */
  readonly says: string
  readonly description?: string
}

export function choiceField(...values: readonly string[]): Field {
  return { schema: { type: 'string', enum: values }, problem: oneOf(...values) }
}

export function numberField({ least, most, ...more }: NumberFacts): Field {
  return {
    schema: { type: 'integer', minimum: least, ...(most !== undefined && { maximum: most }), ...more },
    problem: (value) =>
      wholeNumber(least)(value) || (most !== undefined && Number(value) > most && `must be at most ${most}`),
  }
}

interface NumberFacts {
  readonly least: number
  readonly most?: number
  readonly description?: string
}

/** The number of an entry, or `now`. */
export function positionField(more: { description?: string } = {}): Field {
  return {
    schema: { anyOf: [{ type: 'integer', minimum: 0 }, { const: 'now' }], ...more },
    problem: logPosition,
  }
}

export function yesNoField(more: { description?: string } = {}): Field {
  return { schema: { type: 'boolean', ...more }, problem: yesOrNo }
}

export function objectField(more: { description?: string } = {}): Field {
  return { schema: { type: 'object', ...more }, problem: anObject }
}

export function required(field: Field): Field {
  return { ...field, required: true }
}

/** Refuses with `invalid_input` what is no object, lacks a field, or has one that does not exist or cannot be so. */
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

/** The same as JSON Schema. */
export function schemaOf(fields: Fields): JsonObject {
  const names = Object.keys(fields).filter((name) => fields[name]?.required)
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
    ...(names.length > 0 && { required: names }),
    additionalProperties: false,
  }
}

/** Deeper than anybody means. What is a thousand deep can be read, but nobody could write it again without running out of stack. */
const deepest = 100

const quote = 0x22
const backslash = 0x5c
// What closes them is two further.
const bracket = 0x5b
const brace = 0x7b

/** Reads JSON of a client. Throws `invalid_input` that says what is wrong with it; `what` begins the sentence. */
export function parseJson(text: string, { op, what }: { op: string; what: string }): unknown {
  if (isTooDeep(text)) throw invalidInput(op, `${what} is nested more than ${deepest} deep`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidInput(op, `${what} is not valid JSON: ${messageOf(error)}`)
  }
}

/** By letters: a pattern would take longer than the parser. */
function isTooDeep(text: string): boolean {
  if (text.length <= 2 * deepest) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at)
    if (isInString) {
      if (letter === backslash) at++
      else if (letter === quote) isInString = false
    } else if (letter === quote) isInString = true
    else if (letter === bracket || letter === brace) {
      if (++depth > deepest) return true
    } else if (letter === bracket + 2 || letter === brace + 2) depth--
  }
  return false
}
