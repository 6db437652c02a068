import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LineShape } from './rows.ts'
import { layRows, wrap } from './rows.ts'
import { painter } from './style.ts'
import { widthOf } from './width.ts'

const plain = painter(false)
const wrapped = (text: string, width: number, shape?: LineShape) =>
  wrap([{ text, style: 0 }], width, shape).map(plain)

describe('text is broken into rows', () => {
  test('between words, at newlines, and within a word only if it is longer than a row', () => {
    expect(wrapped('one two three\nfour', 8)).toEqual(['one two', 'three', 'four'])
    expect(wrapped('a verylongwordindeed b', 8)).toEqual(['a', 'verylong', 'wordinde', 'ed b'])
    expect(wrapped('\n\nx', 8)).toEqual(['', '', 'x'])
  })

  test('scripts without spaces anywhere, wide characters never over the edge', () => {
    expect(wrapped('これは長い文です', 7)).toEqual(['これは', '長い文', 'です'])
    expect(wrapped('ab これは', 5)).toEqual(['ab こ', 'れは'])
    expect(wrapped('x abc日本', 6)).toEqual(['x abc', '日本'])
  })

  test('rows after the first begin below its first word', () => {
    const shape = { first: [{ text: '• ', style: 0 }], rest: [{ text: '  ', style: 0 }] }
    expect(wrapped('one two three', 9, shape)).toEqual(['• one two', '  three'])
  })

  test('code is broken where the row is full, its white kept', () => {
    expect(wrapped('  a  bcd', 4, { anywhere: true })).toEqual(['  a', ' bcd'])
  })

  test('marks without end over one character do not make a row without end', () => {
    const rows = wrapped(`a${'\u0301'.repeat(500)}`, 20)
    expect(rows.length).toBeGreaterThan(10)
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThan(100)
  })
})

const text = fc.string({ unit: fc.constantFrom(...'ab   \té日👍\u0301\u200d️'), maxLength: 80 })
const widths = fc.integer({ min: 4, max: 20 })

test('no row is wider than it may be, and no character is lost but white', () => {
  fc.assert(
    fc.property(text, widths, fc.boolean(), (line, width, anywhere) => {
      const rows = wrapped(line, width, { anywhere })
      // An emoji selector may be one too many: rows are one column short of the window.
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(width + 1)
      expect(rows.join('').replace(/\s/g, '')).toBe(line.replace(/\s/g, ''))
    }),
  )
})

test('the pieces that a text comes in do not matter, at any moment', () => {
  fc.assert(
    fc.property(text, text, widths, (one, two, width) => {
      const pieces = layRows(() => width)
      pieces.begin()
      pieces.add(one, 0)
      expect(pieces.unfinished([{ text: two, style: 0 }])).toEqual(at(two, copyAfter(one)))
      pieces.add(two, 0)
      const whole = copyAfter(one + two)
      expect([pieces.take(), pieces.unfinished()]).toEqual([whole.take(), whole.unfinished()])

      function copyAfter(start: string) {
        const rows = layRows(() => width)
        rows.begin()
        rows.add(start, 0)
        return rows
      }
      function at(more: string, rows: ReturnType<typeof layRows>) {
        rows.take()
        rows.add(more, 0)
        return [...rows.take(), ...rows.unfinished()]
      }
    }),
  )
})
