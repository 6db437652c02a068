import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { mergePatch } from '../../protocol/index.ts'
import { jsonPatchOf, mergePatchTo } from './state.ts'

const names = fc.constantFrom('a', 'b', 'a/b', 'c~d', '__proto__', '')
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(0, 1, 'text', null, true),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
  ),
}))
const object = fc.dictionary(names, value, { maxKeys: 4 }).map((fields) => mergePatch({}, fields))

/** JSON without the order of fields. */
const plain = (json: JsonValue) => JSON.parse(JSON.stringify(json)) as JsonValue

/** What the operations that are used here do. */
function apply(target: JsonValue, operations: ReturnType<typeof jsonPatchOf>): JsonValue {
  const result = plain(target)
  for (const { op, path, ...more } of operations) {
    const keys = path
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    let parent = result as Record<string, JsonValue>
    for (const key of keys.slice(0, -1)) parent = parent[key] as Record<string, JsonValue>
    const key = keys.at(-1) as string
    if (op === 'remove') expect(Object.hasOwn(parent, key)).toBe(true)
    if (op === 'remove') delete parent[key]
    else
      Object.defineProperty(parent, key, {
        value: (more as { value: JsonValue }).value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return result
}

test('a state of a client becomes the state of the thread by one merge patch, without its nulls', () => {
  fc.assert(
    fc.property(object, object, value, (from, to, other) => {
      const patch = mergePatchTo(from, to)
      const changed = patch === undefined ? from : mergePatch({ state: from }, { state: patch }).state
      expect(plain(changed as JsonValue)).toEqual(plain(to))
      // Then it no longer differs.
      expect(mergePatchTo(changed, to)).toBeUndefined()
      const replaced = mergePatch({ state: from }, { state: mergePatchTo(from, other) ?? {} }).state
      if (other !== null) expect(mergePatchTo(replaced, other)).toBeUndefined()
    }),
  )
})

test('a merge patch and its JSON Patch do the same', () => {
  fc.assert(
    fc.property(object, fc.dictionary(names, value, { maxKeys: 4 }), (target, patch) => {
      expect(apply(target, jsonPatchOf(target, patch))).toEqual(plain(mergePatch(target, patch)))
    }),
  )
})
