import type { JsonObject } from './json.ts'

/** What a model is told that cannot be held to a schema. */
export function askForJson(schema: JsonObject): string {
  return `Give your final answer as one JSON document that fits this JSON Schema, with nothing before or after it:\n${JSON.stringify(schema)}`
}
