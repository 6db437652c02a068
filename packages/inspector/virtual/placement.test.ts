import { expect, test } from 'vitest'
import { createPlacement } from './placement.ts'

function rowsOf(keys: readonly string[]) {
  const asked: number[] = []
  const keyOf = (index: number) => {
    asked.push(index)
    return keys[index] ?? ''
  }
  return { asked, rows: { count: keys.length, keyOf, estimate: () => 10 } }
}

const many = (count: number) => Array.from({ length: count }, (_, index) => `row ${index}`)

test('appending rows looks only at the new rows', () => {
  const places = createPlacement()
  places.update(rowsOf(many(10_000)).rows, [])
  places.drawn = [{ index: 9999, key: 'row 9999' }]
  const { rows, asked } = rowsOf(many(10_002))
  places.update(rows, [{ index: 9999, key: 'row 9999' }])
  expect(new Set(asked)).toEqual(new Set([9999, 10_000, 10_001]))
  expect(places.heights.total).toBe(100_020)
})

test('rows keep their heights and are found after others are inserted before them', () => {
  const places = createPlacement()
  places.update(rowsOf(['a', 'b', 'c']).rows, [])
  places.drawn = [{ index: 1, key: 'b' }]
  places.measured('b', 1, 50)
  const found = places.update(rowsOf(['x', 'y', 'a', 'b', 'c']).rows, [
    { index: 1, key: 'b' },
    { index: 2, key: 'c' },
  ])
  expect(found).toEqual([3, 4])
  expect(places.heights.before(3)).toBe(30)
  expect(places.heights.before(4)).toBe(80)
})

test('removed rows are not found', () => {
  const places = createPlacement()
  places.update(rowsOf(['a', 'b', 'c']).rows, [])
  places.drawn = [{ index: 0, key: 'a' }]
  expect(places.update(rowsOf(['a']).rows, [{ index: 2, key: 'c' }])).toEqual([undefined])
  expect(places.heights.total).toBe(10)
  expect(places.update(rowsOf([]).rows, [{ index: 0, key: 'a' }])).toEqual([undefined])
  expect(places.heights.total).toBe(0)
})

test('rows that are joined at the end cost only the rows from there on', () => {
  const places = createPlacement()
  places.update(rowsOf(many(10_000)).rows, [])
  places.drawn = [9996, 9997, 9998, 9999].map((index) => ({ index, key: `row ${index}` }))
  const { rows, asked } = rowsOf([...many(9998), 'row 9999'])
  const found = places.update(rows, [
    { index: 9997, key: 'row 9997' },
    { index: 9999, key: 'row 9999' },
  ])
  expect(found).toEqual([9997, 9998])
  expect(Math.min(...asked)).toBe(9996)
  expect(places.heights.total).toBe(99_990)
})
