import { expect, test } from 'vitest'
import { toolNames } from './tool-names.ts'

test('names are valid for every client and unique', () => {
  const long = 'n'.repeat(80)
  const agents = ['desk', 'night desk', 'night.desk', 'Büro', '', `${long}a`, `${long}b`]
  const names = [...toolNames(agents).values()]
  expect(names.slice(0, 5)).toEqual(['desk', 'night_desk', 'night_desk_2', 'B_ro', '_'])
  expect(new Set(names).size).toBe(agents.length)
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})
