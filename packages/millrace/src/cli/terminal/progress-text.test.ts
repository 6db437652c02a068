import { expect, test } from 'vitest'
import { progressText } from './progress-text.ts'

test.each([
  ['half way', 'half way'],
  [{ output: 'one\ntwo\n' }, 'two'],
  [{ output: '' }, ''],
  [{ progress: 3, total: 10, message: 'reading' }, '3 of 10: reading'],
  [{ progress: 3 }, '3'],
  [{ files: 2 }, '{"files":2}'],
  [[1], '[1]'],
])('%j is shown as %j', (data, text) => {
  expect(progressText(data)).toBe(text)
})
