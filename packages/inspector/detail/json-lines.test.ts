import type { Entry } from 'millrace/client'
import { expect, it } from 'vitest'
import { jsonLines } from './json-lines.ts'

it('entries are written one per line, without blocking the page', async () => {
  const entries = Array.from(
    { length: 2500 },
    (_, index): Entry => ({ seq: index + 1, at: index, event: { type: 'text', text: `line\n${index}` } }),
  )
  let didYield = false
  setTimeout(() => {
    didYield = true
  })
  const pieces = await jsonLines(entries)
  expect(didYield).toBe(true)
  const lines = pieces.join('').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(entries)
  expect(await jsonLines([])).toEqual([])
})
