import type { JsonObject, JsonValue } from 'millrace'
import { isObject } from 'millrace/internal'

/** `isObject` for JSON values, so that the properties are typed as JSON too. */
export const isJsonObject = (value: JsonValue | undefined): value is JsonObject => isObject(value)
