import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../../millrace/src/tools/schema.ts'
import { shellSchema } from './shell-input.ts'

const schema = compileSchema(shellSchema({ timeoutMs: 10_000, maxTimeoutMs: 600_000 }), {
  op: 'test',
  what: 'input',
})
const check = (input: unknown) => schema.check(input)

describe('the input of the shell', () => {
  test('is shown to models only in its simple form', () => {
    expect(schema.jsonSchema).toMatchObject({
      properties: { command: { type: 'string' }, timeout_ms: { maximum: 600_000 } },
      required: ['command'],
    })
  })

  test.each([
    [
      { command: 'ls -a' },
      { form: 'line', line: 'ls -a', background: false, cwd: undefined, timeoutMs: 10_000 },
    ],
    [
      { command: 'ls', cwd: 'src', timeout_ms: 5, background: true },
      { form: 'line', line: 'ls', background: true, cwd: 'src', timeoutMs: 5 },
    ],
    [
      { command: ['ls', '-a', '~'], env: {}, timeout_ms: null, user: null, working_directory: null },
      { form: 'argv', argv: ['ls', '-a', '~'], env: {}, cwd: undefined, timeoutMs: 10_000 },
    ],
    [
      { command: ['ls', ''], env: { A: 'b' }, working_directory: 'src' },
      { form: 'argv', argv: ['ls', ''], env: { A: 'b' }, cwd: 'src', timeoutMs: 10_000 },
    ],
    [
      { commands: ['ls', 'pwd'], timeout_ms: 1e9, max_output_length: null },
      { form: 'lines', lines: ['ls', 'pwd'], maxOutputLength: 30_000, cwd: undefined, timeoutMs: 600_000 },
    ],
  ])('%j is accepted', (input, value) => {
    expect(check(input)).toEqual({ value })
  })

  test.each([
    [{}, 'command: is missing: pass the command to run'],
    [{ command: '' }, 'command: must not be empty'],
    [{ command: 3 }, 'command: must be a string, not a number'],
    [{ command: 'a\0b' }, 'command: must not contain a zero byte'],
    [{ command: 'ls', timeout: 3 }, "timeout: does not exist: did you mean 'timeout_ms'?"],
    [
      { command: 'ls', xyzzy: 3 },
      'xyzzy: does not exist: known fields: command, cwd, timeout_ms, background',
    ],
    [{ command: 'ls', timeout_ms: 0 }, 'timeout_ms: must be a whole number of milliseconds, at least 1'],
    [{ command: 'ls', background: 'yes' }, 'background: must be true or false, not a string'],
    [{ command: [] }, 'command: must be a non-empty array of strings'],
    [{ command: [''] }, 'command: must start with a program'],
    [{ command: ['ls', 3] }, 'command: must contain only strings'],
    [
      { command: ['ls'], user: 'root' },
      'user: is not supported: commands run as the user who runs the agent',
    ],
    [{ command: ['ls'], env: { 'A B': 'c' } }, 'env: must map variable names to strings'],
    [{ command: ['ls'], cwd: '.' }, /^cwd: does not exist: known fields: command, env, working_directory/],
    [{ commands: [] }, 'commands: must be a non-empty array of strings'],
    [{ commands: ['ls', ' '] }, 'commands: must not be empty'],
    [{ commands: ['ls'], max_output_length: 0 }, 'max_output_length: must be a whole number above 0'],
    [[], 'must be an object, not an array'],
  ])('%j is rejected with the problem', (input, issue) => {
    expect(check(input)).toEqual({
      issues: [typeof issue === 'string' ? issue : expect.stringMatching(issue)],
    })
  })
})
