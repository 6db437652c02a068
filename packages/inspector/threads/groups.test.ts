import type { ThreadInfo } from 'millrace/client'
import { expect, test } from 'vitest'
import { changedAt, groupOf, groupThreads } from './groups.ts'

const now = new Date(2026, 10, 18, 9, 30).getTime()
const at = (...when: [number, number, number, number?, number?]) => new Date(...when).getTime()

test.each([
  [at(2026, 10, 18, 9, 30), 'Today'],
  [at(2026, 10, 18, 0, 0), 'Today'],
  [at(2026, 10, 17, 23, 59), 'Yesterday'],
  [at(2026, 10, 17, 0, 0), 'Yesterday'],
  [at(2026, 10, 16, 23, 59), 'Last 7 days'],
  [at(2026, 10, 11, 0, 0), 'Last 7 days'],
  [at(2026, 10, 10, 23, 59), 'November'],
  [at(2026, 2, 1), 'March'],
  [at(2025, 11, 31), 'December 2025'],
])('what changed at %d is under %s', (when, heading) => {
  expect(groupOf(when, now)).toBe(heading)
})

test('a heading comes before each group', () => {
  const threads = [at(2026, 10, 18, 8), at(2026, 10, 18, 7), at(2026, 10, 1)]
  expect(linesOf(threads)).toEqual(['Today', 't0', 't1', 'November', 't2'])
})

test('a heading occurs once, whatever the clocks of the servers say', () => {
  const threads = [at(2026, 10, 18, 8), at(2026, 10, 17, 23), at(2026, 10, 18, 7)]
  expect(linesOf(threads)).toEqual(['Today', 't0', 'Yesterday', 't1', 't2'])
})

test('a fork or an import is as recent as itself, not as its entries', () => {
  expect(changedAt({ createdAt: 5, updatedAt: 3 } as ThreadInfo)).toBe(5)
  expect(changedAt({ createdAt: 5, updatedAt: 8 } as ThreadInfo)).toBe(8)
})

function linesOf(times: readonly number[]) {
  const threads = times.map(
    (time, number) => ({ id: `t${number}`, createdAt: time, updatedAt: time }) as ThreadInfo,
  )
  return groupThreads(threads, now).map((line) => (line.kind === 'heading' ? line.text : line.thread.id))
}
