import type { JsonObject, JsonValue, ToolMessage } from '../../protocol/index.ts'
import { isJsonObject } from '../../protocol/index.ts'

type Fields = Record<string, JsonValue | undefined>

/** A request's body: what is undefined is left out, and the caller's own fields lie over everything; tools are added to ours. */
export function bodyOf(fields: Fields, extra: JsonObject | undefined): JsonObject {
  const { tools: _, ...rest } = extra ?? {}
  const all: Fields = { ...fields, ...rest }
  const own = Array.isArray(fields.tools) ? fields.tools : []
  const more = extraTools(extra)
  // An empty list is refused: `Invalid 'tools': empty array. Expected an array with minimum length 1`.
  all.tools = own.length + more.length > 0 ? [...own, ...more] : undefined
  const given = Object.entries(all).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return Object.fromEntries(given)
}

/** The tools that a caller declares in the provider's own way. */
export function extraTools(extra: JsonObject | undefined): JsonObject[] {
  return Array.isArray(extra?.tools) ? extra.tools.filter(isJsonObject) : []
}

/** The words of a tool's result, for wires that take nothing else. */
export function resultText(content: ToolMessage['content'], image: string): string {
  return content
    .map((part) =>
      part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : image,
    )
    .join('\n')
}
