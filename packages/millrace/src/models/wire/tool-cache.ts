import type { JsonObject, ToolSpec } from '../../protocol/index.ts'
import { keepText } from './body.ts'

interface Entry {
  readonly spec: ToolSpec
  readonly item: JsonObject
}

/**
 * Every round sends all tools again, each described by a new object with the same schema. Each is
 * converted and serialized once, as long as its schema is kept. `convert` must depend on nothing
 * but the tool.
 */
export function toolCache(convert: (tool: ToolSpec) => JsonObject): (tool: ToolSpec) => JsonObject {
  const entries = new WeakMap<JsonObject, Entry>()
  return (tool) => {
    const known = entries.get(tool.inputSchema)
    if (known && isSame(known.spec, tool)) return known.item
    const item = convert(tool)
    keepText(item)
    entries.set(tool.inputSchema, { spec: tool, item })
    return item
  }
}

/** Tools may share a schema. */
function isSame(one: ToolSpec, other: ToolSpec): boolean {
  return one.name === other.name && one.description === other.description && one.strict === other.strict
}
