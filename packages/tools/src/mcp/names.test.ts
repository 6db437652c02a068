import { expect, test } from 'vitest'
import { toolNames } from './names.ts'

test('a name gets the prefix, and invalid characters become _', () => {
  expect(toolNames(undefined)('create_issue')).toBe('create_issue')
  expect(toolNames('my server')('files/read.text')).toBe('my_server_files_read_text')
  expect(toolNames(undefined)('')).toBe('_')
})

test('a long name is always shortened the same way, and differs from similar ones', () => {
  const long = `${'a'.repeat(80)}_read`
  const [first, again, other] = [toolNames('x')(long), toolNames('x')(long), toolNames('x')(`${long}s`)]
  expect(first).toHaveLength(64)
  expect(again).toBe(first)
  expect(other).not.toBe(first)
})

test('colliding names get a number, and stay the same in any order', () => {
  const nameOf = toolNames(undefined)
  expect(['a.b', 'a/b', 'a b'].map(nameOf)).toEqual(['a_b', 'a_b_2', 'a_b_3'])
  expect(['a b', 'a.b'].map(nameOf)).toEqual(['a_b_3', 'a_b'])
})

test('a server cannot provide the approval tool', () => {
  expect(toolNames(undefined)('mcp_approval')).toBe('mcp_approval_2')
})
