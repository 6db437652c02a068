import { expect, test } from 'vitest'
import { fuzzyScore } from './fuzzy.ts'

const labels = ['New thread', 'Rename thread', 'Export thread as JSON', 'Delete thread', 'Theme: dark']

function found(typed: string): string[] {
  return labels
    .map((label) => ({ label, score: fuzzyScore(typed, label) }))
    .filter(({ score }) => score !== undefined)
    .sort((one, other) => (other.score ?? 0) - (one.score ?? 0))
    .map(({ label }) => label)
}

test.each([
  ['nt', 'New thread'],
  ['json', 'Export thread as JSON'],
  ['del', 'Delete thread'],
  ['dark', 'Theme: dark'],
  ['ren', 'Rename thread'],
  ['EXP JS', 'Export thread as JSON'],
  ['thread json', 'Export thread as JSON'],
  ['td', 'Theme: dark'],
])('%o finds %o first', (typed, first) => {
  expect(found(typed)[0]).toBe(first)
})

test('letters that do not occur in order find nothing', () => {
  expect(found('xyz')).toEqual([])
  expect(found('krad')).toEqual([])
})

test('a letter inside a word, without those before it, finds nothing', () => {
  expect(found('lyon')).toEqual([])
  expect(found('hread')).toEqual([])
  expect(fuzzyScore('lyon', 'Inspector: Open the last round in the playground')).toBeUndefined()
})

test('nothing typed finds everything', () => {
  expect(found('')).toHaveLength(labels.length)
})
