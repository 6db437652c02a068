/** What `JSON.parse(JSON.stringify(value))` preserves. Everything in a log is made of this. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

export interface JsonObject {
  readonly [key: string]: JsonValue
}

/**
 * Copies a value through JSON. Throws like `JSON.stringify` on cycles and bigints; undefined
 * becomes null.
 */
export function toJson(value: unknown): JsonValue {
  const text = JSON.stringify(value)
  return text === undefined ? null : JSON.parse(text)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `isObject` for values known to be JSON. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isObject(value)
}

/** The kind of a value, for error messages. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value === undefined) return 'undefined'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** A string or number itself, or else its kind, for error messages. */
export function nameOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  return typeof value === 'number' ? String(value) : kindOf(value)
}
