import { expect, it } from 'vitest'
import { preview } from './preview.ts'

it('values are shortened to one line', () => {
  expect(preview({ id: 'ORD-42', lines: [1, 2, 3], to: { city: 'Ulm' } })).toBe(
    '{id: "ORD-42", lines: [3], to: {…}}',
  )
  expect(preview([1, 'two', null, true, 5, 6])).toBe('[1, "two", null, true, 2 more]')
  expect(preview({ a: 1, b: 2, c: 3, d: 4, e: 5 })).toBe('{a: 1, b: 2, c: 3, d: 4, 1 more}')
  expect(preview({})).toBe('{}')
  expect(preview([])).toBe('[]')
  expect(preview({ text: 'x\u001b'.repeat(100) }).length).toBeLessThan(140)
})
