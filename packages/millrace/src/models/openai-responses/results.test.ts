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

  test('has what each command has printed and how it ended', () => {
    const expected: ResponseInputItem.ShellCallOutput = {
      type: 'shell_call_output',
      call_id: 'a',
      output: [exit('a.txt', '', 0), exit('', 'no such file', 2), late],
      max_output_length: 4096,
    }
    const message = result('$ ls\na.txt …', ran(exit('a.txt', '', 0), exit('', 'no such file', 2), late))
    expect(resultItem(message, 'a', call({ max_output_length: 4096 }))).toStrictEqual(expected)
  })

  test('has no limit where the call has none', () => {
    const message = result('a.txt', ran(exit('a.txt', '', 0)))
    for (const action of [{}, { max_output_length: null }])
      expect(resultItem(message, 'a', call(action))).not.toHaveProperty('max_output_length')
  })

  test('is its words where there is no more, or where it was not run', () => {
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

  test('is its words where there is no more, or where it was not run', () => {
    for (const message of [result('words'), result('words', { isError: true })])
      expect(output(message)).toStrictEqual({
        type: 'local_shell_call_output',
        call_id: 'a',
        output: 'words',
      })
  })
})

describe('the answer to what a server of MCP asks', () => {
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

  test('is yes if the call went well', () => {
    expect(answer(result('Approved.'))).toStrictEqual(yes)
    expect(answer(approved(asked))).toStrictEqual(yes)
  })

  test('is no with the reason if it was declined, or there is nobody to ask', () => {
    const no: ResponseInputItem.McpApprovalResponse = {
      ...yes,
      approve: false,
      reason: 'Declined: not mine.',
    }
    expect(answer(result('Declined: not mine.', { isError: true }))).toStrictEqual(no)
  })

  test('is no if something else was approved, since it would run what it has asked for', () => {
    const changed = approved({ ...asked, arguments: { url: 'https://example.org/' } })
    expect(answer(changed)).toStrictEqual({
      ...yes,
      approve: false,
      reason: 'Approved only with other arguments: call shorten of links with {"url":"https://example.org/"}',
    })
  })
})
