import { expect, it } from 'vitest'
import { partsOf } from './parts.ts'

const numbered = (length: number) => Array.from({ length }, (_, index) => `key_${index}`)

it('up to 100 keys are listed individually', () => {
  expect(partsOf([])).toEqual([])
  expect(partsOf(['id', ''])).toEqual([['id'], ['']])
  expect(partsOf(numbered(100))).toHaveLength(100)
})

it('there are at most 100 parts, and every key is reachable in a few steps', () => {
  const keys = numbered(123_456)
  const found: string[] = []
  let deepest = 0
  const open = (some: readonly string[], depth: number) => {
    const parts = partsOf(some)
    expect(parts.length).toBeLessThanOrEqual(100)
    deepest = Math.max(deepest, depth)
    for (const part of parts) {
      if (part.length === 1) found.push(...part)
      else open(part, depth + 1)
    }
  }
  open(keys, 1)
  expect(found).toEqual(keys)
  expect(deepest).toBe(3)
})
