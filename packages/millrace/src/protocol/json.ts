/** What survives `JSON.parse(JSON.stringify(value))` unchanged. Everything that enters a log is made of this. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Copies a value through JSON. Throws (as `JSON.stringify` does) on cycles and bigints; what JSON leaves out is `null`. */
export function toJson(value: unknown): JsonValue {
  const text = JSON.stringify(value)
  return text === undefined ? null : JSON.parse(text)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same of what is known to be JSON. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isObject(value)
}

/** What sort of value it is, for an error. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value === undefined) return 'undefined'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** The same, with the value itself where that is short. */
export function nameOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  return typeof value === 'number' ? String(value) : kindOf(value)
}
