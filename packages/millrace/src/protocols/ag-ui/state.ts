import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { isJsonObject } from '../../protocol/index.ts'

// The state of AG-UI is the field `state` of the thread's metadata, which is changed by JSON merge
// patches (RFC 7396). Clients are sent JSON Patch (RFC 6902).

/** An operation of a JSON Patch. */
type Operation =
  | { readonly op: 'add'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string }

/** The same change as a JSON Patch. */
export function jsonPatchOf(target: JsonObject, patch: JsonObject, path = ''): Operation[] {
  return Object.entries(patch).flatMap(([name, value]): Operation[] => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const before = Object.hasOwn(target, name) ? target[name] : undefined
    if (value === null) return before === undefined ? [] : [{ op: 'remove', path: at }]
    if (isJsonObject(value) && isJsonObject(before)) return jsonPatchOf(before, value, at)
    return [{ op: 'add', path: at, value: withoutNulls(value) }]
  })
}

/** The merge patch from one value to another. Undefined if nothing changes. */
export function mergePatchTo(from: JsonValue | undefined, to: JsonValue): JsonValue | undefined {
  if (!isJsonObject(from) || !isJsonObject(to))
    return JSON.stringify(from) === JSON.stringify(withoutNulls(to)) ? undefined : to
  const fields = Object.keys({ ...from, ...to }).flatMap((name) => {
    const before = Object.hasOwn(from, name) ? from[name] : undefined
    const after = (Object.hasOwn(to, name) ? to[name] : undefined) ?? null
    if (after === null) return before === undefined ? [] : [[name, null] as const]
    const patch = mergePatchTo(before, after)
    return patch === undefined ? [] : [[name, patch] as const]
  })
  return fields.length > 0 ? Object.fromEntries(fields) : undefined
}

/** What a merge patch sets in place of something that is no object. */
function withoutNulls(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]))
}
