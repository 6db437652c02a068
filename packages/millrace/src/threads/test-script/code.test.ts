import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { call, layOut, literal, quote } from './code.ts'

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

describe('a text', () => {
  test('is the same in the source, whatever is in it', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const source = quote(text)
        expect(evaluate(source)).toBe(text)
        expect(source).not.toMatch(/<\/script|<!--|\$\{|[\u2028\u2029\u202e\n\r\0]/i)
        expect(source.isWellFormed()).toBe(true)
      }),
    )
  })

  test('has the marks that need fewer escapes', () => {
    expect(quote("it's")).toBe(`"it's"`)
    expect(quote(`'a' "b" "c"`)).toBe(`'\\'a\\' "b" "c"'`)
  })
})

describe('a value', () => {
  test('is the same in the source', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const plain = JSON.parse(JSON.stringify(value))
        expect(evaluate(layOut(literal(plain), { indent: 0 }))).toEqual(plain)
      }),
    )
  })

  test('keeps a field that is called __proto__', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b c":2}')
    expect(layOut(literal(value), { indent: 0 })).toBe("{ ['__proto__']: { a: 1 }, 'b c': 2 }")
    expect(Object.keys(evaluate(`(${layOut(literal(value), { indent: 0 })})`) as object)).toEqual([
      '__proto__',
      'b c',
    ])
  })

  test('stands in a line if it fits, and otherwise in as many as it needs', () => {
    const long = 'x'.repeat(97)
    expect(layOut(literal([1, { a: 'b' }]), { indent: 0 })).toBe("[1, { a: 'b' }]")
    expect(layOut(literal({ list: [1, 2], name: long }), { indent: 2 })).toBe(
      `{\n    list: [1, 2],\n    name: '${long}',\n  }`,
    )
    expect(layOut(literal({ title: `${long}${long}`, text: `${long}${long}` }), { indent: 0 })).toBe(
      `{\n  title:\n    '${long}${long}',\n  text: '${long}${long}',\n}`,
    )
    expect(layOut(call('f', literal('a'), literal({ a: `${long}${long}` })), { indent: 0 })).toBe(
      `f('a', {\n  a: '${long}${long}',\n})`,
    )
    expect(layOut(call('f', literal(`${long}${long}`), literal({ a: 1 })), { indent: 0 })).toBe(
      `f(\n  '${long}${long}',\n  { a: 1 },\n)`,
    )
  })
})
