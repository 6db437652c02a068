import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readTrace, writeTrace } from './trace-context.ts'

const hex = (length: number) =>
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
    .filter((text) => /[^0]/.test(text))

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'

describe('a trace context', () => {
  test('can be read back', () => {
    fc.assert(
      fc.property(hex(32), hex(16), fc.integer({ min: 0, max: 255 }), (traceId, spanId, traceFlags) => {
        const text = writeTrace({ traceId, spanId, traceFlags })
        expect(text).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
        // Only the sampling flag is defined in this version.
        expect(readTrace(text)).toEqual({ traceId, spanId, traceFlags: traceFlags & 1, isRemote: true })
      }),
    )
  })

  test('may have a later version with the same format', () => {
    expect(readTrace(`01-${trace}-${span}-00`)).toEqual({
      traceId: trace,
      spanId: span,
      traceFlags: 0,
      isRemote: true,
    })
  })

  test.each([
    ['a trace of zeros', `00-${'0'.repeat(32)}-${span}-01`],
    ['a span of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${trace.toUpperCase()}-${span}-01`],
    ['the version ff', `ff-${trace}-${span}-01`],
    ['a trace that is too short', `00-${trace.slice(1)}-${span}-01`],
    ['a trace that is too long', `00-${trace}0-${span}-01`],
    ['a span that is too short', `00-${trace}-${span.slice(1)}-01`],
    ['a span that is too long', `00-${trace}-${span}0-01`],
    ['no flags', `00-${trace}-${span}`],
    ['flags that are too long', `00-${trace}-${span}-011`],
    ['trailing text', `00-${trace}-${span}-01-more`],
    ['a trailing line break', `00-${trace}-${span}-01\n`],
    ['a leading space', ` 00-${trace}-${span}-01`],
    ['a letter that is not a hex digit', `00-${trace.replace('a', 'g')}-${span}-01`],
    ['an empty string', ''],
    ['undefined', undefined],
  ])('is invalid: %s', (_, text) => {
    expect(readTrace(text)).toBeUndefined()
  })

  test('is not found in any other value', () => {
    const valid = `00-${trace}-${span}-01`
    const place = fc.nat({ max: valid.length - 1 })
    fc.assert(
      fc.property(fc.jsonValue(), place, fc.string({ minLength: 1 }), (value, at, other) => {
        expect(readTrace(value as string)).toBeUndefined()
        if (/^[0-9a-f-]$/.test(other)) return
        expect(readTrace(`${valid.slice(0, at)}${other}${valid.slice(at + 1)}`)).toBeUndefined()
      }),
    )
    expect(readTrace([`00-${trace}-${span}-01`] as unknown as string)).toBeUndefined()
    expect(readTrace(`00-${'a'.repeat(1_000_000)}`)).toBeUndefined()
  })
})
