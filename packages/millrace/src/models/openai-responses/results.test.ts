import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue, ToolMessage } from '../../protocol/index.ts'
import { resultItem } from './results.ts'

interface Given {
  readonly opaque?: { provider: string; data: JsonValue }
  readonly isError?: boolean
}

const result = (text: string, { opaque, isError }: Given = {}): ToolMessage => ({
  role: 'tool',
  callId: 'a',
  name: 'shell',
  content: [{ type: 'text', text, ...(opaque && { opaque }) }],
  ...(isError && { isError }),
})

const ran = (...data: JsonObject[]) => ({ opaque: { provider: 'shell', data } })
const exit = (stdout: string, stderr: string, exit_code: number) => ({
  stdout,
  stderr,
  outcome: { type: 'exit' as const, exit_code },
})
const late = { stdout: 'so far', stderr: '[stopped]', outcome: { type: 'timeout' as const } }

describe('the result of a shell call', () => {
  const call = (action: JsonObject = {}) => ({
    type: 'shell_call',
    call_id: 'a',
    action: { commands: ['ls'], ...action },
  })

  test('has the output and outcome of each command', () => {
    const expected: ResponseInputItem.ShellCallOutput = {
      type: 'shell_call_output',
      call_id: 'a',
      output: [exit('a.txt', '', 0), exit('', 'no such file', 2), late],
      max_output_length: 4096,
    }
    const message = result('$ ls\na.txt …', ran(exit('a.txt', '', 0), exit('', 'no such file', 2), late))
    expect(resultItem(message, 'a', call({ max_output_length: 4096 }))).toStrictEqual(expected)
  })

  test('has no limit if the call has none', () => {
    const message = result('a.txt', ran(exit('a.txt', '', 0)))
    for (const action of [{}, { max_output_length: null }])
      expect(resultItem(message, 'a', call(action))).not.toHaveProperty('max_output_length')
  })

  test('is plain text without separate outputs, or if the call did not run', () => {
    const output = (message: ToolMessage) => resultItem(message, 'a', call()).output
    expect(output(result('done'))).toStrictEqual([exit('done', '', 0)])
    expect(output(result('Not run: no.', { isError: true }))).toStrictEqual([exit('', 'Not run: no.', 1)])
    for (const data of ['done', [], ['done'], { stdout: '' }])
      expect(output(result('done', { opaque: { provider: 'shell', data } }))).toStrictEqual([
        exit('done', '', 0),
      ])
    const other = { opaque: { provider: 'openai', data: [exit('x', '', 0)] } }
    expect(output(result('done', other))).toStrictEqual([exit('done', '', 0)])
  })
})

describe('the result of a local shell call', () => {
  const call = { type: 'local_shell_call', call_id: 'a' }
  const output = (message: ToolMessage) => resultItem(message, 'a', call)

  test.each([
    [exit('a.txt', '', 0), { output: 'a.txt', metadata: { exit_code: 0 } }],
    [exit('a.txt', 'oh', 1), { output: 'a.txt\noh', metadata: { exit_code: 1 } }],
    [late, { output: 'so far\n[stopped]', metadata: { exit_code: 124 } }],
  ])('is JSON in a string: %j', (data, expected) => {
    const { output: written, ...rest } = output(result('words', ran(data)))
    expect(rest).toStrictEqual({ type: 'local_shell_call_output', call_id: 'a' })
    expect(JSON.parse(String(written))).toStrictEqual(expected)
  })

  test('is plain text without separate outputs, or if the call did not run', () => {
    for (const message of [result('words'), result('words', { isError: true })])
      expect(output(message)).toStrictEqual({
        type: 'local_shell_call_output',
        call_id: 'a',
        output: 'words',
      })
  })
})

describe('the response to an MCP approval request', () => {
  const request: ResponseInputItem.McpApprovalRequest = {
    id: 'mcpr_1',
    type: 'mcp_approval_request',
    name: 'shorten',
    server_label: 'links',
    arguments: '{ "url": "https://example.com/" }',
  }
  const answer = (message: ToolMessage) => resultItem(message, 'mcpr_1', { ...request })
  const approved = (data: JsonObject) => result('Approved.', { opaque: { provider: 'mcp_approval', data } })
  const asked = { server: 'links', tool: 'shorten', arguments: { url: 'https://example.com/' } }
  const yes: ResponseInputItem.McpApprovalResponse = {
    type: 'mcp_approval_response',
    approval_request_id: 'mcpr_1',
    approve: true,
  }

  test('approves if the call succeeded', () => {
    expect(answer(result('Approved.'))).toStrictEqual(yes)
    expect(answer(approved(asked))).toStrictEqual(yes)
  })

  test('denies with the reason if the call was denied or has no approver', () => {
    const no: ResponseInputItem.McpApprovalResponse = {
      ...yes,
      approve: false,
      reason: 'Denied: not mine.',
    }
    expect(answer(result('Denied: not mine.', { isError: true }))).toStrictEqual(no)
  })

  test('denies if other arguments were approved, since the provider would run the original ones', () => {
    const changed = approved({ ...asked, arguments: { url: 'https://example.org/' } })
    expect(answer(changed)).toStrictEqual({
      ...yes,
      approve: false,
      reason: 'Approved only with other arguments: call shorten of links with {"url":"https://example.org/"}',
    })
  })
})
