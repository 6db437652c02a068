import type { JsonObject, JsonValue, ToolMessage } from '../../protocol/index.ts'
import { isJsonObject } from '../../protocol/index.ts'

type Fields = Record<string, JsonValue | undefined>

/**
 * A request body: undefined fields are left out, and `extra` overrides everything except `tools`,
 * which are appended to ours.
 */
export function bodyOf(fields: Fields, extra: JsonObject | undefined): JsonObject {
  const { tools: _, ...rest } = extra ?? {}
  const all: Fields = { ...fields, ...rest }
  const ours = Array.isArray(fields.tools) ? fields.tools : []
  const theirs = extraTools(extra)
  // An empty list is rejected: `Invalid 'tools': empty array. Expected an array with minimum length
  // 1`.
  all.tools = ours.length + theirs.length > 0 ? [...ours, ...theirs] : undefined
  const entries = Object.entries(all).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return Object.fromEntries(entries)
}

/** The tools that the caller declares in the provider's format. */
export function extraTools(extra: JsonObject | undefined): JsonObject[] {
  return Array.isArray(extra?.tools) ? extra.tools.filter(isJsonObject) : []
}

/** A tool result as text, for APIs that accept nothing else. `image` stands in for each image. */
export function resultText(content: ToolMessage['content'], image: string): string {
  return content
    .map((part) =>
      part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : image,
    )
    .join('\n')
}
