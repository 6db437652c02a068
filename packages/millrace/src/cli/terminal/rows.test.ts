import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LineShape } from './rows.ts'
import { rowBuilder, wrap } from './rows.ts'
import { painter } from './style.ts'
import { widthOf } from './width.ts'

const plain = painter(false)
const wrapped = (text: string, width: number, shape?: LineShape) =>
  wrap([{ text, style: 0 }], width, shape).map(plain)

describe('text is wrapped into rows', () => {
  test('between words, at newlines, and inside a word only if it is longer than a row', () => {
    expect(wrapped('one two three\nfour', 8)).toEqual(['one two', 'three', 'four'])
    expect(wrapped('a verylongwordindeed b', 8)).toEqual(['a', 'verylong', 'wordinde', 'ed b'])
    expect(wrapped('\n\nx', 8)).toEqual(['', '', 'x'])
  })

  test('scripts without spaces wrap anywhere, wide characters never cross the edge', () => {
    expect(wrapped('これは長い文です', 7)).toEqual(['これは', '長い文', 'です'])
    expect(wrapped('ab これは', 5)).toEqual(['ab こ', 'れは'])
    expect(wrapped('x abc日本', 6)).toEqual(['x abc', '日本'])
  })

  test('further rows start below the first word', () => {
    const shape = { first: [{ text: '• ', style: 0 }], rest: [{ text: '  ', style: 0 }] }
    expect(wrapped('one two three', 9, shape)).toEqual(['• one two', '  three'])
  })

  test('code wraps at the exact width, and its spaces are kept', () => {
    expect(wrapped('  a  bcd', 4, { anywhere: true })).toEqual(['  a', ' bcd'])
  })

  test('endless combining marks on one character do not make an endless row', () => {
    const rows = wrapped(`a${'\u0301'.repeat(500)}`, 20)
    expect(rows.length).toBeGreaterThan(10)
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThan(100)
  })
})

const text = fc.string({ unit: fc.constantFrom(...'ab   \té日👍\u0301\u200d️'), maxLength: 80 })
const widths = fc.integer({ min: 4, max: 20 })

test('no row is too wide, and only spaces are lost', () => {
  fc.assert(
    fc.property(text, widths, fc.boolean(), (line, width, anywhere) => {
      const rows = wrapped(line, width, { anywhere })
      // An emoji selector may be one too many: rows are one column short of the window.
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(width + 1)
      expect(rows.join('').replace(/\s/g, '')).toBe(line.replace(/\s/g, ''))
    }),
  )
})

test('the result does not depend on how the text is split', () => {
  fc.assert(
    fc.property(text, text, widths, (one, two, width) => {
      const pieces = rowBuilder(() => width)
      pieces.startLine()
      pieces.add(one, 0)
      expect(pieces.unfinished([{ text: two, style: 0 }])).toEqual(at(two, copyAfter(one)))
      pieces.add(two, 0)
      const whole = copyAfter(one + two)
      expect([pieces.take(), pieces.unfinished()]).toEqual([whole.take(), whole.unfinished()])

      function copyAfter(start: string) {
        const rows = rowBuilder(() => width)
        rows.startLine()
        rows.add(start, 0)
        return rows
      }
      function at(more: string, rows: ReturnType<typeof rowBuilder>) {
        rows.take()
        rows.add(more, 0)
        return [...rows.take(), ...rows.unfinished()]
      }
    }),
  )
})
