import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import type { MetadataEvent } from './events.ts'
import type { JsonObject } from './json.ts'
import type { MetadataState } from './metadata.ts'
import {
  appendMetadata,
  applyMetadata,
  foldMetadata,
  maxMetadataBytes,
  mergePatch,
  metadataEvent,
  numberMetadata,
  readPatch,
} from './metadata.ts'

const name = fc.constantFrom('a', 'b', '__proto__')
const { value: patch } = fc.letrec<{ value: JsonObject }>((tie) => ({
  value: fc
    .array(
      fc.tuple(
        name,
        fc.oneof({ depthSize: 'small' }, fc.constantFrom(null, 1, 'x'), fc.constant([1]), tie('value')),
      ),
      { maxLength: 3 },
    )
    .map((fields) => Object.fromEntries(fields) as JsonObject),
}))

/** The same, whatever the order of fields. */
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, inner]) => [key, sorted(inner)])
    : value

describe('a merge patch', () => {
  test('does what the examples of RFC 7396 say', () => {
    const examples: [target: JsonObject, patch: JsonObject, result: JsonObject][] = [
      [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
      [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
      [{ a: 'b' }, { a: null }, {}],
      [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
      [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
      [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
      [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
      [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
      [{ e: null }, { a: 1 }, { e: null, a: 1 }],
      [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    ]
    for (const [target, change, result] of examples) expect(mergePatch(target, change)).toEqual(result)
  })

  test('changes neither the target nor a prototype', () => {
    const target = { a: { b: 1 } }
    const merged = mergePatch(target, JSON.parse('{"a": {"b": 2}, "__proto__": {"polluted": true}}'))
    expect(target).toEqual({ a: { b: 1 } })
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    expect(JSON.stringify(merged)).toBe('{"a":{"b":2},"__proto__":{"polluted":true}}')
  })

  test('must be an object of JSON that fits, and may always shorten what is too long', () => {
    const read = (given: unknown, current: JsonObject = {}) => readPatch(given, current, 'test')
    expect(read({ a: undefined, b: 1 })).toEqual({ b: 1 })
    const circular: Record<string, unknown> = {}
    circular.self = circular
    for (const given of [undefined, null, 'x', [1], circular, { a: 1n }, { a: 'x'.repeat(maxMetadataBytes) }])
      expect(() => read(given)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    const long = { a: 'x'.repeat(maxMetadataBytes - 20), b: 'y'.repeat(100) }
    expect(() => read({ c: 'z'.repeat(100) }, { a: long.a })).toThrow('too long')
    expect(read({ b: 'y' }, long)).toEqual({ b: 'y' })
    expect(() => read({ b: 'é'.repeat(60) }, long)).toThrow('too long')
  })
})

describe('metadata as a fold', () => {
  test('is the same in the order of numbers, whenever entries of others arrive', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('append' as const), patch }),
      fc.record({ kind: fc.constant('signal' as const), patch }),
      fc.constant({ kind: 'written' as const }),
    )
    fc.assert(
      fc.property(patch, fc.array(step, { maxLength: 12 }), (initial, steps) => {
        const log: MetadataEvent[] = []
        const pending: MetadataEvent[] = []
        let state: MetadataState | undefined
        const written = () => {
          const event = pending.shift()
          if (!event) return
          log.push(event)
          numberMetadata(state)
        }
        for (const one of steps) {
          if (one.kind === 'written') {
            written()
            continue
          }
          const event = metadataEvent(state, one.patch, initial)
          if (one.kind === 'append') {
            state = appendMetadata(state, event)
            pending.push(event)
          } else {
            state = applyMetadata(state, event)
            log.push(event)
          }
        }
        while (pending.length > 0) written()
        const folded = foldMetadata(log)
        expect(sorted(state?.current)).toEqual(sorted(folded?.current))
        expect(state?.initial).toEqual(folded?.initial)
        expect(state?.unnumbered ?? []).toEqual([])
      }),
      { numRuns: sized(500) },
    )
  })

  test('ends the same if the end of a log is applied again to what it led to', () => {
    fc.assert(
      fc.property(patch, fc.array(patch, { maxLength: 6 }), fc.nat(6), (initial, patches, from) => {
        const end = patches.reduce(mergePatch, initial)
        expect(sorted(patches.slice(from).reduce(mergePatch, end))).toEqual(sorted(end))
      }),
      { numRuns: sized(500) },
    )
  })
})
