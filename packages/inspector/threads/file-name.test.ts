import { expect, test } from 'vitest'
import { fileName } from './file-name.ts'

test.each([
  [{ id: 't1', title: 'Where is ORD-42?' }, 'where-is-ord-42'],
  [{ id: 't1', title: '../../etc/passwd' }, 'etc-passwd'],
  [{ id: 't1', title: 'Wo ist Größe 44, bitte?' }, 'wo-ist-größe-44-bitte'],
  [{ id: 't1', title: '…!?' }, 't1'],
  [{ id: 't1' }, 't1'],
])('the file name of %o is %s', (thread, name) => {
  expect(fileName(thread)).toBe(name)
})

test('a long title is cut between characters', () => {
  expect(fileName({ id: 't1', title: '𝒜'.repeat(100) })).toBe('𝒜'.repeat(48))
  expect(fileName({ id: 't1', title: 'word '.repeat(100) })).toMatch(/^(word-){9}wor$/)
})
