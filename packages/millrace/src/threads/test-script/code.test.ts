import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { call, format, literal, quote } from './code.ts'

function evaluate(source: string): unknown {
  return new Function(`return ${source}`)()
}

const nasty = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '\\',
      "'",
      '"',
      '`',
      '$',
      '{',
      '</script>',
      '\u2028',
      '\ud83d',
      '\r\n',
      '\0',
      '\u202e',
    ),
  }),
)

describe('a string', () => {
  test('has the same value in the source, whatever is in it', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const source = quote(text)
        expect(evaluate(source)).toBe(text)
        expect(source).not.toMatch(/<\/script|<!--|\$\{|[\u2028\u2029\u202e\n\r\0]/i)
        expect(source.isWellFormed()).toBe(true)
      }),
    )
  })

  test('has the quotes that need fewer escapes', () => {
    expect(quote("it's")).toBe(`"it's"`)
    expect(quote(`'a' "b" "c"`)).toBe(`'\\'a\\' "b" "c"'`)
  })
})

describe('a value', () => {
  test('has the same value in the source', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const plain = JSON.parse(JSON.stringify(value))
        expect(evaluate(format(literal(plain), { indent: 0 }))).toEqual(plain)
      }),
    )
  })

  test('keeps a field named __proto__', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b c":2}')
    expect(format(literal(value), { indent: 0 })).toBe("{ ['__proto__']: { a: 1 }, 'b c': 2 }")
    expect(Object.keys(evaluate(`(${format(literal(value), { indent: 0 })})`) as object)).toEqual([
      '__proto__',
      'b c',
    ])
  })

  test('is on one line if it fits, otherwise on as many as needed', () => {
    const long = 'x'.repeat(97)
    expect(format(literal([1, { a: 'b' }]), { indent: 0 })).toBe("[1, { a: 'b' }]")
    expect(format(literal({ list: [1, 2], name: long }), { indent: 2 })).toBe(
      `{\n    list: [1, 2],\n    name: '${long}',\n  }`,
    )
    expect(format(literal({ title: `${long}${long}`, text: `${long}${long}` }), { indent: 0 })).toBe(
      `{\n  title:\n    '${long}${long}',\n  text: '${long}${long}',\n}`,
    )
    expect(format(call('f', literal('a'), literal({ a: `${long}${long}` })), { indent: 0 })).toBe(
      `f('a', {\n  a: '${long}${long}',\n})`,
    )
    expect(format(call('f', literal(`${long}${long}`), literal({ a: 1 })), { indent: 0 })).toBe(
      `f(\n  '${long}${long}',\n  { a: 1 },\n)`,
    )
  })
})
