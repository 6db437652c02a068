import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ToolResultPart } from '../protocol/index.ts'
import { toolContent } from '../protocol/index.ts'
import { cutParts, toParts } from './content.ts'

const text = (text: string): ToolResultPart => ({ type: 'text', text })
const textsOf = (parts: readonly ToolResultPart[]) =>
  parts.map((part) => (part.type === 'text' ? part.text : part.type))

/** What a truncated text keeps of both ends, and what its note says. */
function readCut(cut: string) {
  const [, head, left, whole, tail] =
    cut.match(/^([\s\S]*?)\n\[… (\d+) of (\d+) characters left out here …\]\n([\s\S]*)$/) ?? []
  if (head === undefined || tail === undefined)
    throw new Error(`nothing was cut out of ${JSON.stringify(cut)}`)
  return { head, tail, left: Number(left), whole: Number(whole) }
}

describe('converting a tool result to parts', () => {
  test.each<[string, unknown, ToolResultPart[]]>([
    ['text is text', 'done', [text('done')]],
    ['an empty string gets a placeholder: some providers reject it', '', [text('(no output)')]],
    ['undefined gets a placeholder', undefined, [text('(no output)')]],
    ['null is JSON', null, [{ type: 'json', value: null }]],
    ['a number is JSON', 0, [{ type: 'json', value: 0 }]],
    ['false is JSON', false, [{ type: 'json', value: false }]],
    ['a list is JSON', [1, 'a'], [{ type: 'json', value: [1, 'a'] }]],
    ['an object is JSON', { a: { b: 1 } }, [{ type: 'json', value: { a: { b: 1 } } }]],
    ['fields that JSON leaves out are left out', { a: undefined, b: 1 }, [{ type: 'json', value: { b: 1 } }]],
    ['a date is written like JSON does', new Date(0), [{ type: 'json', value: '1970-01-01T00:00:00.000Z' }]],
    [
      'parts that were not created with toolContent are JSON',
      [{ type: 'text', text: 'a' }],
      [{ type: 'json', value: [{ type: 'text', text: 'a' }] }],
    ],
  ])('%s', (_, value, parts) => {
    expect(toParts(value)).toStrictEqual(parts)
  })

  test('a result is a copy: the tool may mutate its own', () => {
    const value = { list: [1] }
    const parts = toParts(value)
    value.list.push(2)
    expect(parts).toStrictEqual([{ type: 'json', value: { list: [1] } }])
  })

  test('content has its parts checked, and bytes become base64', () => {
    const content = toolContent([
      { type: 'text', text: 'look' },
      { type: 'json', value: { ok: true } },
      { type: 'image', url: 'https://example.org/a.png' },
      { type: 'image', data: new TextEncoder().encode('hello'), mediaType: 'image/png' },
      { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
    ])
    expect(toParts(content)).toStrictEqual([
      { type: 'text', text: 'look' },
      { type: 'json', value: { ok: true } },
      { type: 'image', url: 'https://example.org/a.png' },
      { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
      { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
    ])
    expect(toParts(toolContent([]))).toStrictEqual([])
  })

  test('content of another copy of the package is accepted', () => {
    const theirs = { [Symbol.for('millrace.content')]: [{ type: 'text', text: 'a' }] }
    expect(toParts(theirs)).toStrictEqual([text('a')])
  })

  test('invalid content is rejected, naming the part', () => {
    expect(() => toParts(toolContent([{ type: 'video' } as never]))).toThrow(
      'content[0].type must be one of text, json, image',
    )
    expect(() => toParts(toolContent([{ type: 'image', data: '!', mediaType: 'a/b' }]))).toThrow(
      'content[0].data',
    )
    expect(() => toParts(toolContent('text' as never))).not.toThrow()
    expect(() => toParts(toolContent(7 as never))).toThrow('must be a string or an array of parts')
  })

  test('values that are not JSON are rejected', () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(() => toParts(10n)).toThrow('cannot be serialized as JSON')
    expect(() => toParts(cycle)).toThrow('cannot be serialized as JSON')
  })
})

describe('truncating parts for a model', () => {
  test('parts that fit are returned unchanged', () => {
    const parts = [text('12345'), { type: 'json', value: 123 } as const, text('67')]
    expect(cutParts(parts, 10)).toBe(parts)
    expect(cutParts(parts, 9)).not.toBe(parts)
  })

  test('a long text keeps both ends, and the note says how much was left out', () => {
    const long = `${'a'.repeat(500)}${'b'.repeat(500)}`
    expect(textsOf(cutParts([text(long)], 100))).toEqual([
      `${'a'.repeat(50)}\n[… 900 of 1000 characters left out here …]\n${'b'.repeat(50)}`,
    ])
  })

  test('JSON is truncated as text', () => {
    const value = { list: Array.from({ length: 100 }, (_, at) => at) }
    const written = JSON.stringify(value)
    const [cut] = textsOf(cutParts([{ type: 'json', value }], 40))
    expect(readCut(cut ?? '')).toEqual({
      head: written.slice(0, 20),
      tail: written.slice(-20),
      left: written.length - 40,
      whole: written.length,
    })
  })

  test('opaque provider data stays with a truncated text', () => {
    const opaque = { provider: 'shell', data: ['a'.repeat(50)] }
    const [cut] = cutParts([{ type: 'text', text: 'b'.repeat(100), opaque }], 10)
    expect(cut).toMatchObject({ text: expect.stringContaining('left out'), opaque })
  })

  test('images are never truncated and do not count', () => {
    const image = { type: 'image', data: 'A'.repeat(1000), mediaType: 'image/png' } as const
    const small = [image, text('fits')]
    expect(cutParts(small, 10)).toBe(small)
    const [first, second] = cutParts([image, text('x'.repeat(100))], 10)
    expect(first).toBe(image)
    expect(textsOf(second ? [second] : [])[0]).toContain('[… 90 of 100 characters')
  })

  test('several parts share the limit, and a short one stays whole', () => {
    const cut = textsOf(cutParts([text('short'), text('x'.repeat(100)), text('y'.repeat(100))], 60))
    expect(cut[0]).toBe('short')
    expect(cut[1]).toBe(`${'x'.repeat(13)}\n[… 74 of 100 characters left out here …]\n${'x'.repeat(13)}`)
    expect(cut[2]).toBe(`${'y'.repeat(13)}\n[… 74 of 100 characters left out here …]\n${'y'.repeat(13)}`)
  })

  test('a limit smaller than the number of parts leaves only the notes', () => {
    expect(textsOf(cutParts([text('aaa'), text('bbb')], 1))).toEqual([
      '\n[… 3 of 3 characters left out here …]\n',
      '\n[… 3 of 3 characters left out here …]\n',
    ])
  })

  test('a surrogate pair is never split', () => {
    for (let limit = 1; limit <= 12; limit++) {
      const cut = textsOf(cutParts([text(`a${'😀'.repeat(20)}`)], limit)).join()
      expect(cut.isWellFormed()).toBe(true)
    }
  })

  test('for any text and limit, the kept text and the count of the note add up', () => {
    const long = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(long, fc.integer({ min: 1, max: 100 }), (whole, limit) => {
        const [cut = ''] = textsOf(cutParts([text(whole)], limit))
        if (whole.length <= limit) {
          expect(cut).toBe(whole)
          return
        }
        const parts = readCut(cut)
        expect(parts.whole).toBe(whole.length)
        expect(parts.head.length + parts.left + parts.tail.length).toBe(whole.length)
        expect(parts.head.length + parts.tail.length).toBeLessThanOrEqual(limit)
        expect(whole.startsWith(parts.head) && whole.endsWith(parts.tail)).toBe(true)
      }),
    )
  })
})
