import { expect, test } from 'vitest'
import { toolNames } from './names.ts'

test('a name gets the prefix, and what providers refuse becomes _', () => {
  expect(toolNames(undefined)('create_issue')).toBe('create_issue')
  expect(toolNames('my server')('files/read.text')).toBe('my_server_files_read_text')
  expect(toolNames(undefined)('')).toBe('_')
})

test('a long name is shortened to the same every time, and stays apart from one that begins alike', () => {
  const long = `${'a'.repeat(80)}_read`
  const [first, again, other] = [toolNames('x')(long), toolNames('x')(long), toolNames('x')(`${long}s`)]
  expect(first).toHaveLength(64)
  expect(again).toBe(first)
  expect(other).not.toBe(first)
})

test('two that fall together get a number, and keep their names when they are asked for in another order', () => {
  const nameOf = toolNames(undefined)
  expect(['a.b', 'a/b', 'a b'].map(nameOf)).toEqual(['a_b', 'a_b_2', 'a_b_3'])
  expect(['a b', 'a.b'].map(nameOf)).toEqual(['a_b_3', 'a_b'])
})

test('no tool of a server stands for the person whom a provider asks', () => {
  expect(toolNames(undefined)('mcp_approval')).toBe('mcp_approval_2')
})
