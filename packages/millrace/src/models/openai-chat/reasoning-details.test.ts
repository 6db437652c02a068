import { expect, test } from 'vitest'
import { mergeDetails } from './reasoning-details.ts'

/** Merges the pieces one after the other, as chunks do. */
function merged(...pieces: readonly unknown[]) {
  const details: Record<string, unknown>[] = []
  for (const piece of pieces) mergeDetails(details, [piece])
  return details
}

test('texts, summaries and data of one index and type are appended', () => {
  for (const key of ['text', 'summary', 'data'])
    expect(merged({ type: 'x', index: 0, [key]: 'a' }, { type: 'x', index: 0, [key]: 'b' })).toEqual([
      { type: 'x', index: 0, [key]: 'ab' },
    ])
})

test('another index or type is another detail', () => {
  const details = [
    { type: 'reasoning.text', index: 0, text: 'a' },
    { type: 'reasoning.text', index: 1, text: 'b' },
    { type: 'reasoning.encrypted', index: 0, data: 'c' },
    { type: 'reasoning.text', text: 'd' },
    { type: 'reasoning.text', text: 'e' },
  ]
  expect(merged(...details)).toEqual(details)
})

test('null does not overwrite a value, and values that are not objects are ignored', () => {
  const first = { type: 'reasoning.text', index: 0, signature: 's', id: 'r1' }
  expect(merged(first, { type: 'reasoning.text', index: 0, signature: null, id: 'r2' }, null, 'x')).toEqual([
    { ...first, id: 'r2' },
  ])
})
