import { expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { recentEntries } from './recent.ts'

const entry = (seq: number, from?: number): Entry => ({
  seq,
  ...(from !== undefined && { from }),
  at: 0,
  event: { type: 'text', text: 'x' },
})
const numbers = (entries: readonly Entry[] | undefined) => entries?.map(({ seq }) => seq)

/** With deliveries of these entries, each of which has some bytes. */
function recentOf(deliveries: readonly (readonly Entry[])[], bytes = 100) {
  const recent = recentEntries()
  for (const entries of deliveries) recent.add({ entries, bytes })
  return recent
}

test('returns what came after a number', () => {
  const { after } = recentOf([[entry(5)], [entry(6), entry(7)], [entry(8)]])
  expect(numbers(after(4))).toEqual([5, 6, 7, 8])
  expect(numbers(after(5))).toEqual([6, 7, 8])
  expect(numbers(after(6))).toEqual([7, 8])
  expect(numbers(after(8))).toEqual([])
})

test('returns nothing that has a gap before it, or that the number is in the middle of', () => {
  const { after, clear } = recentOf([[entry(5)], [entry(9, 6)]])
  expect(after(3)).toBeUndefined()
  expect(numbers(after(5))).toEqual([9])
  expect(after(7)).toBeUndefined()
  expect(after(10)).toBeUndefined()
  clear()
  expect(after(9)).toBeUndefined()
})

test('keeps 16 KB', () => {
  const { add, after } = recentOf([[entry(1)], [entry(2)], [entry(3)]], 6000)
  expect(after(0)).toBeUndefined()
  expect(numbers(after(1))).toEqual([2, 3])
  add({ entries: [entry(4)], bytes: 20_000 })
  expect(after(3)).toBeUndefined()
  add({ entries: [entry(5)], bytes: 100 })
  expect(numbers(after(4))).toEqual([5])
})
