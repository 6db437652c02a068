import { describe, expect, test } from 'vitest'
import type { ToolResultPart } from '../protocol/index.ts'
import { repeatGuard } from './repeats.ts'

const said = (text: string): ToolResultPart[] => [{ type: 'text', text }]
const guard = () => repeatGuard({ warn: 3, refuse: 6 })

describe('a model that runs in circles', () => {
  test('is told from the third time on, and refused from the sixth', () => {
    const { refusal, record } = guard()
    const notes: (string | undefined)[] = []
    for (let time = 1; time <= 5; time++) {
      expect(refusal('look', { id: 1 })).toBeUndefined()
      notes.push(record('look', { id: 1 }, said('nothing')))
    }
    const note = (time: string) =>
      `[Note: this is the same call with the same result for the ${time} time. Repeating it will not help.]`
    expect(notes).toEqual([undefined, undefined, note('3rd'), note('4th'), note('5th')])
    expect(refusal('look', { id: 1 })).toBe(
      'Not run: this exact call has given the same result 5 times. Use that result, change the arguments, or do something else.',
    )
    expect(refusal('look', { id: 1 })).toContain('5 times')
  })

  test('starts anew when the result is another', () => {
    const { refusal, record } = guard()
    for (let time = 1; time <= 5; time++) record('look', {}, said('waiting'))
    expect(refusal('look', {})).toBeDefined()
    expect(record('look', {}, said('done'))).toBeUndefined()
    expect(refusal('look', {})).toBeUndefined()
    expect(record('look', {}, said('waiting'))).toBeUndefined()
    expect(record('look', {}, said('waiting'))).toBeUndefined()
    expect(record('look', {}, said('waiting'))).toContain('3rd')
  })

  test('each tool and each input is counted by itself', () => {
    const { refusal, record } = guard()
    for (let time = 1; time <= 5; time++) {
      record('look', { id: 1 }, said('x'))
      expect(record('look', { id: time + 1 }, said('x'))).toBeUndefined()
    }
    expect(record('find', { id: 1 }, said('x'))).toBeUndefined()
    expect(refusal('look', { id: 1 })).toBeDefined()
    expect(refusal('look', { id: 2 })).toBeUndefined()
    expect(refusal('look', { id: '1' })).toBeUndefined()
    expect(refusal('find', { id: 1 })).toBeUndefined()
  })

  test('the order in which the fields were written makes no difference, that of a list does', () => {
    const { record } = guard()
    record('look', { a: 1, b: { c: [1, 2], d: null } }, said('x'))
    record('look', { b: { d: null, c: [1, 2] }, a: 1 }, said('x'))
    expect(record('look', { b: { c: [1, 2], d: null }, a: 1 }, said('x'))).toContain('3rd')
    expect(record('look', { b: { c: [2, 1], d: null }, a: 1 }, said('x'))).toBeUndefined()
  })

  test('calls that take turns are seen too', () => {
    const { record } = guard()
    for (const id of [1, 2, 1, 2]) expect(record('look', { id }, said('x'))).toBeUndefined()
    expect(record('look', { id: 1 }, said('x'))).toContain('3rd')
  })

  test('limits of one’s own hold', () => {
    const { refusal, record } = repeatGuard({ warn: 2, refuse: 2 })
    expect(refusal('look', {})).toBeUndefined()
    expect(record('look', {}, said('x'))).toBeUndefined()
    expect(refusal('look', {})).toContain('the same result 1 time')
  })

  test('the count is written as people write it', () => {
    const { record } = repeatGuard({ warn: 1, refuse: 1000 })
    const ordinals = Array.from(
      { length: 113 },
      () => record('look', {}, said('x'))?.match(/the (\w+) time/)?.[1],
    )
    const some = [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111, 112, 113].map((time) => ordinals[time - 1])
    expect(some).toEqual('1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 101st 111th 112th 113th'.split(' '))
  })
})
