import type { JsonObject } from './json.ts'

/** The prompt for a model whose provider cannot enforce a schema. */
export function askForJson(schema: JsonObject): string {
  return `Return your final answer as a single JSON document that matches this JSON Schema, with nothing before or after it:\n${JSON.stringify(schema)}`
}
