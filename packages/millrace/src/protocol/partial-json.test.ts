import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import type { JsonValue } from './json.ts'
import { maxJsonDepth, type PartialJson, partialJson } from './partial-json.ts'

/** The visible state of a parser as text, since the value itself keeps growing. */
function snapshot({ value, complete, problem }: PartialJson): string {
  return JSON.stringify({ value, complete, problem })
}

/**
 * The state after each prefix of a text that arrives one character at a time; the last one is after
 * `end`.
 */
function snapshotsOf(text: string): string[] {
  const parser = partialJson()
  const snapshots = [snapshot(parser)]
  for (let at = 0; at < text.length; at += 1) {
    parser.push(text.charAt(at))
    snapshots.push(snapshot(parser))
  }
  parser.end()
  return [...snapshots, snapshot(parser)]
}

function partialValue(text: string): JsonValue | undefined {
  const parser = partialJson()
  parser.push(text)
  return parser.value
}

function problemOf(text: string): string | undefined {
  const parser = partialJson()
  parser.push(text)
  return parser.problem
}

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const borders = [0, ...[...cuts].sort((a, b) => a - b), text.length]
  return borders.slice(1).map((border, at) => text.slice(borders[at], border))
}

function native(text: string): { value: JsonValue } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Deep equality that also compares -0, prototypes and the order of keys. */
function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b) && JSON.stringify(a) === JSON.stringify(b)
}

/** Expects the same result as JSON.parse, however the text is split. */
function expectLikeNative(text: string, cuts: readonly number[] = []) {
  const parser = partialJson()
  for (const piece of piecesOf(text, cuts)) parser.push(piece)
  const result = parser.end()
  const expected = native(text)
  if (expected === undefined) {
    expect(result.problem, `accepted ${JSON.stringify(text)}`).toBeTypeOf('string')
    expect(parser.complete).toBe(false)
  } else {
    expect(result, `rejected ${JSON.stringify(text)}`).not.toHaveProperty('problem')
    expect(isSame(parser.value, expected.value), JSON.stringify(text)).toBe(true)
    expect(parser.complete).toBe(true)
  }
}

const call = `{
  "path": "src/a\\u0041\\n\\"b\\".ts", "emoji": "raw 😀, escaped \\ud83d\\ude00, mixed \ud83d\\ude00, lone \\ud83d!",
  "edits": [{"line": -12, "text": "const x = \\"1\\"", "keep": true}, {}, [], [[["deep"]]], -0, 0.5, 1e3, 2E-2],
  "": null, "10": false, "2": "two", "__proto__": {"polluted": "yes"}, "twice": "first", "caf\\u00e9 \\\\": " ",
  "twice": ["second", "\\/\\b\\f\\r\\t"], "long": ${JSON.stringify('word '.repeat(20))}
}\n`

const words = String.raw`{ } [ ] , : " \ "a" "a": {"a": [1, "b"] [] {} \n \u 00e9 \ud83d - + . e E 0 1 2 1.5 -0 1e9 x true false null tr nul`
const oddities = [' ', '\n', '\u0001', '\u00a0', '\ufeff', '\ud83d', '\ude00']

/** Fragments of JSON in random order, sometimes valid. */
const randomText = fc
  .array(fc.constantFrom(...words.split(' '), ...oddities), { maxLength: 12 })
  .map((bits) => bits.join(''))

describe('the value of an unfinished text', () => {
  test.each<[string, JsonValue | undefined]>([
    ['', undefined],
    [' \n', undefined],
    ['{', {}],
    ['[', []],
    ['"', ''],
    ['"ab', 'ab'],
    ['tru', undefined],
    ['true', true],
    ['null', null],
    ['12', undefined],
    ['12 ', 12],
    ['{"na', {}],
    ['{"name"', {}],
    ['{"name":', {}],
    ['{"name": "', { name: '' }],
    ['{"name": "Ad', { name: 'Ad' }],
    ['{"a":1', {}],
    ['{"a":1,', { a: 1 }],
    ['{"a":1}', { a: 1 }],
    ['{"a":fals', {}],
    ['{"a":false', { a: false }],
    ['[1, 2', [1]],
    ['[[], {"a": [', [[], { a: [] }]],
    ['["a\\', ['a']],
    ['["a\\u00e', ['a']],
    ['["a\\u00e9', ['aé']],
    ['{"a":"old","a"', { a: 'old' }],
    ['{"a":"old","a":"', { a: '' }],
    ['{"a":"old","a":1', { a: 'old' }],
  ])('of %j is %j', (text, shown) => {
    expect(partialValue(text)).toEqual(shown)
    expect(problemOf(text)).toBeUndefined()
  })

  test('every prefix of a small call has the expected value', () => {
    const seen = [...'{"a":"x\\n","b":[10,null]}'].map((_, at, all) =>
      partialValue(all.slice(0, at + 1).join('')),
    )
    const text = { a: 'x\n' }
    expect(seen).toEqual([
      ...[{}, {}, {}, {}, {}],
      ...[{ a: '' }, { a: 'x' }, { a: 'x' }, text, text],
      ...[text, text, text, text, text],
      ...[
        { ...text, b: [] },
        { ...text, b: [] },
        { ...text, b: [] },
      ],
      ...[
        { ...text, b: [10] },
        { ...text, b: [10] },
        { ...text, b: [10] },
        { ...text, b: [10] },
      ],
      ...[
        { ...text, b: [10, null] },
        { ...text, b: [10, null] },
        { ...text, b: [10, null] },
      ],
    ])
  })

  test('half of an emoji is held back until the next character arrives', () => {
    for (const high of ['\ud83d', '\\ud83d']) {
      expect(partialValue(`"a${high}`)).toBe('a')
      expect(partialValue(`"a${high}\\`)).toBe('a')
      expect(partialValue(`"a${high}\\ude0`)).toBe('a')
      expect(partialValue(`"a${high}\\ude00`)).toBe('a😀')
      expect(partialValue(`"a${high}\ude00`)).toBe('a😀')
      expect(partialValue(`"a${high}b`)).toBe('a\ud83db')
      expect(partialValue(`"a${high}\\n`)).toBe('a\ud83d\n')
      expect(partialValue(`"a${high}${high}`)).toBe('a\ud83d')
      expect(partialValue(`"a${high}"`)).toBe('a\ud83d')
      expect(partialValue(`"a${high}\u0001`)).toBe('a')
    }
    expect(partialValue('"\\ude00')).toBe('\ude00')
  })

  test('is one live tree that grows in place', () => {
    const parser = partialJson()
    parser.push('{"a":{"b":"x')
    const { value } = parser
    parser.push('y","c":[1')
    expect(parser.value).toBe(value)
    parser.push(']}}')
    expect(parser.value).toBe(value)
    expect(parser.end()).toEqual({ value: { a: { b: 'xy', c: [1] } } })
    expect(parser.value).toBe(value)
  })

  test('strings and arrays only ever grow, and nothing disappears', () => {
    function isGrown(before: unknown, after: unknown): boolean {
      if (before === undefined) return true
      if (typeof before === 'string') return typeof after === 'string' && after.startsWith(before)
      if (typeof before !== 'object' || before === null) return Object.is(before, after)
      if (typeof after !== 'object' || after === null || Array.isArray(before) !== Array.isArray(after))
        return false
      return Object.entries(before).every(
        ([key, value]) =>
          Object.hasOwn(after, key) && isGrown(value, (after as Record<string, unknown>)[key]),
      )
    }
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        const parser = partialJson()
        let before: unknown
        for (let at = 0; at < text.length; at += 1) {
          parser.push(text.charAt(at))
          expect(isGrown(before, parser.value)).toBe(true)
          before = structuredClone(parser.value)
        }
      }),
    )
  })
})

describe('however the text is split', () => {
  test('random splits of the same arguments give the same partial values and the same result', () => {
    const snapshots = snapshotsOf(call)
    const expected: JsonValue = JSON.parse(call)
    expect(snapshots.at(-1)).toBe(JSON.stringify({ value: expected, complete: true }))
    fc.assert(
      fc.property(fc.array(fc.nat(call.length), { maxLength: 24 }), (cuts) => {
        const parser = partialJson()
        let at = 0
        for (const piece of piecesOf(call, cuts)) {
          parser.push(piece)
          at += piece.length
          if (snapshot(parser) !== snapshots[at]) expect(snapshot(parser)).toBe(snapshots[at])
        }
        parser.end()
        if (!isSame(parser.value, expected)) expect(parser.value).toEqual(expected)
      }),
      { numRuns: sized(2000) },
    )
  })

  test('every split into two pieces gives the same values', () => {
    const snapshots = snapshotsOf(call)
    for (let at = 0; at <= call.length; at += 1) {
      const parser = partialJson()
      parser.push(call.slice(0, at))
      expect(snapshot(parser)).toBe(snapshots[at])
      parser.push(call.slice(at))
      expect(snapshot(parser)).toBe(snapshots[call.length])
    }
  })

  test('any document gives the same result as JSON.parse', () => {
    const documents = fc.oneof(
      fc.json({ stringUnit: 'binary' }),
      fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.stringify(value, undefined, 2)),
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(`${text}\ud83d`)),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map((number) => JSON.stringify([number, 1 / number])),
    )
    fc.assert(
      fc.property(documents, fc.array(fc.nat(200), { maxLength: 8 }), (text, cuts) => {
        expectLikeNative(
          text,
          cuts.filter((cut) => cut <= text.length),
        )
      }),
      { numRuns: sized(1000) },
    )
  })

  test('invalid text gives the same value and the same problem', () => {
    fc.assert(
      fc.property(randomText, fc.array(fc.nat(60), { maxLength: 6 }), (text, cuts) => {
        const snapshots = snapshotsOf(text)
        const parser = partialJson()
        let at = 0
        for (const piece of piecesOf(
          text,
          cuts.filter((cut) => cut <= text.length),
        )) {
          parser.push(piece)
          at += piece.length
          expect(snapshot(parser)).toBe(snapshots[at])
        }
        parser.end()
        expect(snapshot(parser)).toBe(snapshots.at(-1))
      }),
      { numRuns: sized(1000) },
    )
  })
})

describe('valid and invalid JSON', () => {
  test('a document with small edits is accepted or rejected as by JSON.parse', () => {
    const edit = fc.record({
      at: fc.nat(),
      remove: fc.nat(1),
      insert: fc.constantFrom(
        '',
        ...'{}[]:,"\\ \n\t\r\u000b\u0000\u00a0\ufeff\u2028-+.eE0123789abftnru/x\'\ud83d\ude00'.split(''),
      ),
    })
    const documents = fc.oneof(
      fc.json(),
      fc.constantFrom(
        call,
        '{"a":[1.5e-3,true,null],"b":"\\u00e9\\n"}',
        '[-0.1E+5]',
        '"\\ud83d\\ude00"',
        'false',
      ),
    )
    fc.assert(
      fc.property(
        documents,
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        fc.nat(),
        (document, edits, cut) => {
          let text = document
          for (const { at, remove, insert } of edits) {
            const start = at % (text.length + 1)
            text = text.slice(0, start) + insert + text.slice(start + remove)
          }
          expectLikeNative(text, [cut % (text.length + 1)])
        },
      ),
      { numRuns: sized(2000) },
    )
  })

  test('random fragments of JSON are accepted or rejected as by JSON.parse', () => {
    fc.assert(
      fc.property(randomText, (text) => expectLikeNative(text)),
      { numRuns: sized(2000) },
    )
  })

  test('a problem never changes the value, and nothing after it is read', () => {
    fc.assert(
      fc.property(randomText, (text) => {
        const parser = partialJson()
        let before = JSON.stringify(parser.value)
        for (let at = 0; at < text.length; at += 1) {
          const { problem } = parser
          parser.push(text.charAt(at))
          if (parser.problem !== undefined) expect(JSON.stringify(parser.value)).toBe(before)
          if (problem !== undefined) expect(parser.problem).toBe(problem)
          before = JSON.stringify(parser.value)
        }
      }),
      { numRuns: sized(1000) },
    )
  })

  test.each([
    ['01', 'unexpected "1" at position 1'],
    ['-x', 'unexpected "x" at position 1'],
    ['--', 'unexpected "-" at position 1'],
    ['+', 'unexpected "+" at position 0'],
    ['.', 'unexpected "." at position 0'],
    ['1.e', 'unexpected "e" at position 2'],
    ['1e+-', 'unexpected "-" at position 3'],
    ['[1}', 'unexpected "}" at position 2'],
    ['1,', 'unexpected "," at position 1'],
    ['trx', 'unexpected "x" at position 2'],
    ['truee', 'unexpected "e" at position 4'],
    ['tf', 'unexpected "f" at position 1'],
    ['[,', 'unexpected "," at position 1'],
    ['[1,]', 'unexpected "]" at position 3'],
    ['[1 2', 'unexpected "2" at position 3'],
    ['[}', 'unexpected "}" at position 1'],
    ['{,', 'unexpected "," at position 1'],
    ['{a', 'unexpected "a" at position 1'],
    ["{'", 'unexpected "\'" at position 1'],
    ['{"a",', 'unexpected "," at position 4'],
    ['{"a":}', 'unexpected "}" at position 5'],
    ['{"a":1,}', 'unexpected "}" at position 7'],
    ['"\\x', 'unexpected "x" at position 2'],
    ['"\\u12g', 'unexpected "g" at position 5'],
    ['"a\n', 'unexpected "\\n" at position 2'],
    ['{} x', 'unexpected "x" at position 3'],
    ['\ufeff', 'unexpected "\ufeff" at position 0'],
  ])('%j is rejected at once: %s', (text, problem) => {
    expect(problemOf(text.slice(0, -1))).toBeUndefined()
    expect(problemOf(text)).toBe(problem)
  })

  test.each(['', ' ', '{', '[1', '[1,', '"a', '"\\', '"\\u12', '{"a"', '{"a":', 'tru', '-', '1.', '1e'])(
    'a text that stops at %j is incomplete',
    (text) => {
      const parser = partialJson()
      parser.push(text)
      const before = JSON.stringify(parser.value)
      expect(parser.problem).toBeUndefined()
      expect(parser.end()).toEqual({ problem: `unexpected end of text at position ${text.length}` })
      expect(JSON.stringify(parser.value)).toBe(before)
      expect(parser.complete).toBe(false)
    },
  )

  test('the text is complete when its value ends, and no longer if something follows', () => {
    const parser = partialJson()
    parser.push('{"a":[]')
    expect(parser.complete).toBe(false)
    parser.push('}')
    expect(parser.complete).toBe(true)
    parser.push(' \n')
    expect(parser.complete).toBe(true)
    parser.push('{')
    expect(parser.complete).toBe(false)
  })

  test('a top-level number is complete only at whitespace or the end', () => {
    const parser = partialJson()
    parser.push('-12.5')
    expect(parser.complete).toBe(false)
    expect(parser.end()).toEqual({ value: -12.5 })
    expect(parser.complete).toBe(true)
    const spaced = partialJson()
    spaced.push('7 ')
    expect(spaced.complete).toBe(true)
  })

  test('end may be called twice, and later pushes are ignored', () => {
    const parser = partialJson()
    parser.push('[1]')
    const result = parser.end()
    parser.push('x')
    expect(parser.end()).toEqual(result)
    const broken = partialJson()
    broken.push('[1')
    const problem = broken.end()
    broken.push(']')
    expect(broken.end()).toEqual(problem)
  })
})

describe('tricky keys and values', () => {
  test.each([
    '{"a":1,"b":2,"a":3}',
    '{"a":{"x":1},"b":"y","a":"z"}',
    '{"b":1,"10":2,"9":3,"a":4,"-1":5,"01":6,"4294967295":7}',
    '{"":1,"\\u0000":2," ":3}',
    '{"__proto__":{"isAdmin":true}}',
    '{"__proto__":"text","__proto__":null,"a":{"__proto__":[1]}}',
    '{"constructor":1,"toString":"x","hasOwnProperty":{"valueOf":2},"__defineGetter__":"y"}',
    '{"\\u005f_proto__":1}',
    '"\\ud83d \\ude00 \\ude00\\ud83d"',
    '{"\\ud83d":"\\ud83d","\\ud83d\\ude00":"\\ud83d"}',
    '[-0,0,-0.0,0e5,1e999,-1e999,1e-999,5e-324,1.7976931348623157e308,0.1,123456789012345678901234567890]',
    '"\u2028\u2029\u007f"',
    '\t\r\n [ ] ',
  ])('%s gives the same result as JSON.parse', (text) => {
    expectLikeNative(text)
    expectLikeNative(text, [...Array(text.length).keys()])
  })

  test('a `__proto__` key is an own property, also while it grows, and changes no prototype', () => {
    const parser = partialJson()
    for (const char of '{"__proto__":"abc","b":{"__proto__":{"polluted":1') parser.push(char)
    expect(Object.entries(parser.value as object)[0]).toEqual(['__proto__', 'abc'])
    expect(Object.getPrototypeOf(parser.value)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
  })

  test('a number with a million digits gives the same result as JSON.parse', () => {
    expectLikeNative(`[${'9'.repeat(1_000_000)}, 0.${'3'.repeat(1_000_000)}]`, [10, 500_000, 1_500_000])
  })
})

describe('nesting', () => {
  test('the maximum depth is accepted, one level more is a problem', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expectLikeNative(nested(maxJsonDepth))
    expect(problemOf(nested(maxJsonDepth + 1))).toBe('nested deeper than 256 levels at position 256')
    const flat = partialJson({ maxDepth: 1 })
    flat.push('{"a":[')
    expect(flat.problem).toBe('nested deeper than 1 levels at position 5')
    expect(flat.value).toEqual({})
  })

  test('closed containers do not count', () => {
    expectLikeNative(`[${Array(10_000).fill('[{}]').join(',')}]`)
  })

  test.each(['[', '{"a":', '[{"":'])(
    'a million times %j is a problem, and builds no more than the maximum depth',
    (open) => {
      const parser = partialJson()
      const bomb = open.repeat(1_000_000)
      for (let at = 0; at < bomb.length; at += 65_536) parser.push(bomb.slice(at, at + 65_536))
      expect(parser.problem).toContain('nested deeper than 256 levels')
      let levels = 0
      for (let value: unknown = parser.value; value !== undefined; levels += 1)
        value = Object.values(value as object)[0]
      expect(levels).toBe(maxJsonDepth)
      expect(parser.end()).toEqual({ problem: parser.problem })
    },
  )
})

describe('cost', () => {
  /**
   * Counts the characters that string methods access during `run`. They throw for a string longer
   * than `maxLength`: accessing a rope copies it as a whole.
   */
  function countAccesses(maxLength: number, run: () => void): number {
    const own = String.prototype as unknown as Record<string, (...args: unknown[]) => unknown>
    const names = ['charCodeAt', 'charAt', 'codePointAt', 'at', 'slice', 'indexOf', 'startsWith']
    const originals = names.map((name) => [name, own[name]] as const)
    let accessed = 0
    for (const [name, original] of originals) {
      if (original === undefined) continue
      own[name] = function (this: string, ...args) {
        if (this.length > maxLength) throw new Error(`${name} on a string of ${this.length} characters`)
        const result = original.apply(this, args)
        accessed += typeof result === 'string' ? result.length : 1
        return result
      }
    }
    try {
      run()
    } finally {
      for (const [name, original] of originals) if (original !== undefined) own[name] = original
    }
    return accessed
  }

  const million = sized(1_000_000)
  const texts = {
    'one string': JSON.stringify({ path: 'a.ts', content: 'x'.repeat(million) }),
    'one key': JSON.stringify({ ['k'.repeat(million)]: 1 }),
    'one number': `[${'7'.repeat(million)}]`,
    'lines of code': JSON.stringify({ code: 'const x = "1" // 😀\n'.repeat(million / 20) }),
    'small records': JSON.stringify(Array(million / 20).fill({ id: 1, on: 'yes' })),
  }

  test.each(Object.keys(texts))(
    'a long text, %s, costs the same per character however it is split',
    (name) => {
      const text = texts[name as keyof typeof texts]
      for (const size of [1, 16, 65_536]) {
        const pieces: string[] = []
        for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
        const parser = partialJson()
        let withValue = 0
        // Only the new piece is accessed, or an escape or a literal, never the text before it.
        const accessed = countAccesses(Math.max(size, 'false'.length), () => {
          for (const piece of pieces) {
            parser.push(piece)
            if (parser.value !== undefined) withValue += 1
          }
        })
        expect(withValue).toBe(pieces.length)
        expect(accessed).toBeLessThanOrEqual(3 * text.length)
        expect(parser.end()).toEqual({ value: JSON.parse(text) })
      }
    },
  )
})
