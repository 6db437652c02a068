import { describe, expect, test } from 'vitest'
import type { ToolResultPart } from '../protocol/index.ts'
import { repeatDetector } from './repeats.ts'

const textResult = (text: string): ToolResultPart[] => [{ type: 'text', text }]
const detector = () => repeatDetector({ warn: 3, block: 6 })

describe('a repeated call', () => {
  test('gets a warning from the third time on, and is blocked from the sixth', () => {
    const { blockReason, record } = detector()
    const notes: (string | undefined)[] = []
    for (let time = 1; time <= 5; time++) {
      expect(blockReason('look', { id: 1 })).toBeUndefined()
      notes.push(record('look', { id: 1 }, textResult('nothing')))
    }
    const note = (time: string) =>
      `[Note: this is the same call with the same result for the ${time} time. Repeating it will not help.]`
    expect(notes).toEqual([undefined, undefined, note('3rd'), note('4th'), note('5th')])
    expect(blockReason('look', { id: 1 })).toBe(
      'Not run: this exact call has returned the same result 5 times. Use that result, change the arguments, or do something else.',
    )
    expect(blockReason('look', { id: 1 })).toContain('5 times')
  })

  test('starts over when the result changes', () => {
    const { blockReason, record } = detector()
    for (let time = 1; time <= 5; time++) record('look', {}, textResult('waiting'))
    expect(blockReason('look', {})).toBeDefined()
    expect(record('look', {}, textResult('done'))).toBeUndefined()
    expect(blockReason('look', {})).toBeUndefined()
    expect(record('look', {}, textResult('waiting'))).toBeUndefined()
    expect(record('look', {}, textResult('waiting'))).toBeUndefined()
    expect(record('look', {}, textResult('waiting'))).toContain('3rd')
  })

  test('each tool and each input is counted separately', () => {
    const { blockReason, record } = detector()
    for (let time = 1; time <= 5; time++) {
      record('look', { id: 1 }, textResult('x'))
      expect(record('look', { id: time + 1 }, textResult('x'))).toBeUndefined()
    }
    expect(record('find', { id: 1 }, textResult('x'))).toBeUndefined()
    expect(blockReason('look', { id: 1 })).toBeDefined()
    expect(blockReason('look', { id: 2 })).toBeUndefined()
    expect(blockReason('look', { id: '1' })).toBeUndefined()
    expect(blockReason('find', { id: 1 })).toBeUndefined()
  })

  test('the order of fields makes no difference, that of a list does', () => {
    const { record } = detector()
    record('look', { a: 1, b: { c: [1, 2], d: null } }, textResult('x'))
    record('look', { b: { d: null, c: [1, 2] }, a: 1 }, textResult('x'))
    expect(record('look', { b: { c: [1, 2], d: null }, a: 1 }, textResult('x'))).toContain('3rd')
    expect(record('look', { b: { c: [2, 1], d: null }, a: 1 }, textResult('x'))).toBeUndefined()
  })

  test('alternating calls are counted too', () => {
    const { record } = detector()
    for (const id of [1, 2, 1, 2]) expect(record('look', { id }, textResult('x'))).toBeUndefined()
    expect(record('look', { id: 1 }, textResult('x'))).toContain('3rd')
  })

  test('custom limits apply', () => {
    const { blockReason, record } = repeatDetector({ warn: 2, block: 2 })
    expect(blockReason('look', {})).toBeUndefined()
    expect(record('look', {}, textResult('x'))).toBeUndefined()
    expect(blockReason('look', {})).toContain('the same result 1 time')
  })

  test('the count is written as an ordinal', () => {
    const { record } = repeatDetector({ warn: 1, block: 1000 })
    const ordinals = Array.from(
      { length: 113 },
      () => record('look', {}, textResult('x'))?.match(/the (\w+) time/)?.[1],
    )
    const some = [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111, 112, 113].map((time) => ordinals[time - 1])
    expect(some).toEqual('1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 101st 111th 112th 113th'.split(' '))
  })
})
