import type { JsonObject, JsonValue } from 'millrace'
import { isObject } from 'millrace/internal'

/** `isObject` for what is known to be JSON, so that what is inside is known to be JSON too. */
export const isJsonObject = (value: JsonValue | undefined): value is JsonObject => isObject(value)
