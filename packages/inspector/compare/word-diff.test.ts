import fc from 'fast-check'
import { expect, it } from 'vitest'
import { diff, wordDiff } from './word-diff.ts'

it('finds the words that were removed and added', () => {
  expect(wordDiff('The parcel arrives on Monday.', 'The big parcel arrives Tuesday.')).toEqual([
    { kind: 'same', text: 'The' },
    { kind: 'added', text: ' big' },
    { kind: 'same', text: ' parcel arrives' },
    { kind: 'removed', text: ' on Monday' },
    { kind: 'added', text: ' Tuesday' },
    { kind: 'same', text: '.' },
  ])
  expect(wordDiff('', '')).toEqual([])
  expect(wordDiff('a  b', 'a b')).toEqual([{ kind: 'same', text: 'a b' }])
})

const someWords = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 })

it('contains both lists in order, and no more steps than needed', () => {
  fc.assert(
    fc.property(someWords, someWords, (one, other) => {
      const steps = diff(one, other)
      expect(steps.flatMap(({ before }) => before ?? [])).toEqual(one)
      expect(steps.flatMap(({ after }) => after ?? [])).toEqual(other)
      for (const { before, after = before } of steps) if (before) expect(after).toBe(before)
      const shared = steps.filter(({ before, after }) => before && after).length
      expect(shared).toBe(longestShared(one, other))
    }),
  )
})

it('of two long texts without anything in common is one difference', () => {
  const long = (word: string) => Array.from({ length: 5000 }, (_, place) => `${word}${place}`).join(' ')
  expect(wordDiff(long('a'), long('b')).map(({ kind }) => kind)).toEqual(['removed', 'added'])
})

/** The length of the longest common subsequence. */
function longestShared(one: readonly string[], other: readonly string[]): number {
  let row = Array.from({ length: other.length + 1 }, () => 0)
  for (const item of one) {
    const next = [0]
    for (const [place, candidate] of other.entries())
      next.push(item === candidate ? (row[place] ?? 0) + 1 : Math.max(row[place + 1] ?? 0, next[place] ?? 0))
    row = next
  }
  return row.at(-1) ?? 0
}
