import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { providerSimulator } from '@millrace/simulator'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../packages/millrace/src/agent/index.ts'
import { adapters, wires } from '../packages/millrace/src/models/every-model.test-kit.ts'
import { openai } from '../packages/millrace/src/models/openai.ts'
import { modelOf, present, recordingsOf } from '../packages/millrace/src/models/recordings.test-kit.ts'
import type { JsonObject, Message } from '../packages/millrace/src/protocol/index.ts'
import { hostedMcpApproval } from '../packages/tools/src/mcp/hosted-approval.ts'
import { shell } from '../packages/tools/src/shell/shell.ts'

// Recorded tool calls of real providers run for real, and the responses are checked against the
// provider's types.

const recorded = test.skipIf(!present)

function bytesOf(name: string): Uint8Array {
  const [recording] = recordingsOf(name)
  if (!recording) throw new Error(`no recording ${name}`)
  return recording.bytes
}

/** A provider that returns these answers in turn and records the requests. */
async function provider(...answers: (Uint8Array | string)[]) {
  const bodies: JsonObject[] = []
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(await text(request)))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(answers[bodies.length - 1])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  const inputOf = (round: number) => bodies[round]?.input as unknown as ResponseInputItem[]
  return { baseURL: `http://127.0.0.1:${port}/v1`, bodies, inputOf }
}

/** A complete Responses answer with these items. */
function responding(...items: readonly object[]): string {
  const response = { id: 'resp_1', object: 'response', model: 'm', status: 'completed', output: items }
  const events = [
    ...items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    { type: 'response.completed', response },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const said = (words: string) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
})
const saying = (words: string) => responding(said(words))

function workspace(): string {
  const made = mkdtempSync(join(realpathSync(tmpdir()), 'acting-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  writeFileSync(join(made, 'hello.txt'), 'Hello.')
  return made
}

function shellIn(folder: string) {
  const box = shell({ workspace: folder })
  onTestFinished(() => box.close())
  return box
}

const local = { extra: { tools: [{ type: 'local_shell' }] } }
const native = { extra: { tools: [{ type: 'shell', environment: { type: 'local' } }] } }

describe('a local shell call', () => {
  recorded('from a recording runs and is answered in its own form', async () => {
    const { baseURL, bodies, inputOf } = await provider(
      bytesOf('openai-responses/openai-local-shell-tool.1'),
      saying('There is one.'),
    )
    const model = modelOf('openai-responses', { baseURL })
    const run = agent({ model, settings: local, tools: [shellIn(workspace())] }).stream('List my home.')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'There is one.' })

    expect(bodies[0]?.tools).toMatchObject([{ name: 'shell_output' }, { type: 'local_shell' }])
    const [question, call, output, ...more] = inputOf(1)
    expect(question).toStrictEqual({ role: 'user', content: 'List my home.' })
    const callId = 'call_h3nm8hUG0KO9tVNuRACkL1ri'
    expect(call).toStrictEqual({
      id: 'lsh_68da7fd99b3c8194bd624b18c0c0851b0faf5df54b42d9a6',
      type: 'local_shell_call',
      status: 'completed',
      action: { type: 'exec', command: ['ls', '-a', '~'], env: {} },
      call_id: callId,
    } satisfies ResponseInputItem.LocalShellCall)
    // Without a shell, `~` is not expanded.
    expect(output).toStrictEqual({
      type: 'local_shell_call_output',
      call_id: callId,
      output: expect.any(String),
    })
    expect(JSON.parse(String(Object(output).output))).toStrictEqual({
      output: expect.stringMatching(/^ls: cannot access '?~'?: No such file or directory/),
      metadata: { exit_code: 2 },
    })
    expect(more).toStrictEqual([])
  })

  test('that succeeds reports exit code 0', async () => {
    const { baseURL, inputOf } = await provider(
      responding({
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'a',
        status: 'completed',
        action: { type: 'exec', command: ['cat', 'hello.txt'], env: {} },
      }),
      saying('Hello.'),
    )
    const model = openai('m', { baseURL, apiKey: 'sk-test' })
    await agent({ model, settings: local, tools: [shellIn(workspace())] }).run('Say it.')
    expect(JSON.parse(Object(inputOf(1)[2]).output)).toStrictEqual({
      output: 'Hello.',
      metadata: { exit_code: 0 },
    })
  })
})

describe('a shell call', () => {
  const shellCall = (action: JsonObject) =>
    ({
      type: 'shell_call',
      id: 'sh_1',
      call_id: 'a',
      status: 'completed',
      action,
      environment: { type: 'local' },
    }) as const

  /** The response to a tool call with this action. */
  async function answered(action: JsonObject, { allowed = true } = {}) {
    const call = shellCall(action)
    const { baseURL, bodies, inputOf } = await provider(responding(call), saying('Done.'))
    const model = openai('m', { baseURL, apiKey: 'sk-test' })
    const beforeCall = () => (allowed ? undefined : { block: 'not today' })
    const tools = [shellIn(workspace())]
    const { outcome } = await agent({ model, settings: native, tools, beforeCall }).run('Do it.')
    expect(outcome).toBe('completed')
    expect(bodies[0]?.tools).toMatchObject([
      { type: 'function', name: 'shell_output' },
      { type: 'shell', environment: { type: 'local' } },
    ])
    const [, sent, output, ...more] = inputOf(1)
    expect(sent).toStrictEqual(call)
    expect(more).toStrictEqual([])
    return output
  }

  test('with several commands has an output for each', async () => {
    const commands = ['cat hello.txt', 'echo oops >&2; exit 3', 'pwd | wc -l']
    expect(await answered({ commands, timeout_ms: null, max_output_length: 4096 })).toStrictEqual({
      type: 'shell_call_output',
      call_id: 'a',
      output: [
        { stdout: 'Hello.', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
        { stdout: '', stderr: 'oops', outcome: { type: 'exit', exit_code: 3 } },
        { stdout: expect.stringMatching(/^\s*1$/), stderr: '', outcome: { type: 'exit', exit_code: 0 } },
      ],
      max_output_length: 4096,
    } satisfies ResponseInputItem.ShellCallOutput)
  })

  test('that times out is answered with the partial output', async () => {
    const output = await answered({ commands: ['echo begun; sleep 1000'], timeout_ms: 400 })
    expect(output).toMatchObject({
      type: 'shell_call_output',
      output: [{ stdout: 'begun', stderr: expect.stringContaining('stopped'), outcome: { type: 'timeout' } }],
    })
  })

  test('that is not allowed is answered in the same form', async () => {
    expect(await answered({ commands: ['ls'] }, { allowed: false })).toStrictEqual({
      type: 'shell_call_output',
      call_id: 'a',
      output: [{ stdout: '', stderr: 'Not run: not today', outcome: { type: 'exit', exit_code: 1 } }],
    } satisfies ResponseInputItem.ShellCallOutput)
  })

  test('with invalid input is answered in the same form', async () => {
    expect(await answered({ commands: [] })).toMatchObject({
      type: 'shell_call_output',
      output: [{ stdout: '', stderr: expect.stringContaining('commands'), outcome: { exit_code: 1 } }],
    })
  })

  test.each(Object.entries({ ...wires, ...adapters }))(
    'that ran for OpenAI is sent to other providers as text: %s',
    async (name, open) => {
      const call = shellCall({ commands: ['cat hello.txt'] })
      const { baseURL } = await provider(responding(call), saying('Done.'))
      const model = openai('m', { baseURL, apiKey: 'sk-test' })
      const tools = [shellIn(workspace())]
      const { messages } = await agent({ model, settings: native, tools }).run('Do it.')
      expect(JSON.stringify(messages)).toContain('"provider":"shell"')

      const sim = await providerSimulator(['And again.'])
      onTestFinished(() => sim.close())
      const history: Message[] = [...messages, { role: 'user', content: 'Again?' }]
      expect(await agent({ model: open(sim), tools }).run(history)).toMatchObject({ text: 'And again.' })
      const sent = JSON.stringify(sim.requests[0]?.body)
      expect(sent, name).toContain('cat hello.txt')
      expect(sent).toContain('[exit code 0')
      expect(sent).not.toContain('outcome')
    },
  )
})

describe('a tool of an MCP server that OpenAI calls', () => {
  const mcp = {
    type: 'mcp',
    server_label: 'zip1',
    server_url: 'https://zip1.io/mcp',
    require_approval: 'always',
  }
  const id = 'mcpr_04a97b4fce127879006949a83ac9308195a7f7b69ea82e91fe'
  const mcpCall = {
    id: 'mcp_1',
    type: 'mcp_call',
    approval_request_id: id,
    name: 'create_short_url',
    server_label: 'zip1',
    arguments: '{}',
    output: 'https://zip1.io/a',
    error: null,
  }

  /** The recording, and then the provider's answers after the decision. */
  async function asked(...after: string[]) {
    const { baseURL, bodies, inputOf } = await provider(
      bytesOf('openai-responses/openai-mcp-tool-approval.1'),
      ...after,
    )
    const model = modelOf('openai-responses', { baseURL })
    return { bodies, inputOf, options: { model, settings: { extra: { tools: [mcp] } } } }
  }

  /** The request must be sent back before its answer. */
  function expectRequest(items: readonly ResponseInputItem[]) {
    const [question, listed, request] = items
    expect(question).toStrictEqual({ role: 'user', content: 'Shorten it.' })
    expect(listed).toMatchObject({ type: 'mcp_list_tools', server_label: 'zip1' })
    expect(request).toStrictEqual({
      id,
      type: 'mcp_approval_request',
      arguments: expect.stringContaining('"url":"https://ai-sdk.dev/"') as unknown as string,
      name: 'create_short_url',
      server_label: 'zip1',
    } satisfies ResponseInputItem.McpApprovalRequest)
  }

  recorded('runs if a person approves', async () => {
    const { bodies, inputOf, options } = await asked(
      responding(mcpCall, said('It is short now.')),
      saying('Still short.'),
    )
    const shortener = agent({ ...options, tools: [hostedMcpApproval()] })
    const first = shortener.stream('Shorten it.')
    const { outcome, approvals } = await first.result
    expect(outcome).toBe('suspended')
    expect(approvals).toMatchObject([
      {
        callId: id,
        name: 'mcp_approval',
        input: { server: 'zip1', tool: 'create_short_url', arguments: { url: 'https://ai-sdk.dev/' } },
        reason: expect.stringContaining('create_short_url of the MCP server zip1'),
      },
    ])
    // The server asks for it; the model gets no such tool.
    expect(bodies[0]?.tools).toStrictEqual([mcp])

    const second = first.resume([{ callId: id, approved: true }])
    const { messages, text: answer } = await second.result
    expect(answer).toBe('It is short now.')
    expectRequest(inputOf(1))
    expect(inputOf(1).slice(3)).toStrictEqual([
      {
        type: 'mcp_approval_response',
        approval_request_id: id,
        approve: true,
      } satisfies ResponseInputItem.McpApprovalResponse,
    ])

    // The next message is sent with the same items.
    await shortener.run([...messages, { role: 'user', content: 'And now?' }])
    expect(inputOf(2).map((item) => Object(item).type ?? Object(item).role)).toStrictEqual([
      'user',
      'mcp_list_tools',
      'mcp_approval_request',
      'mcp_approval_response',
      'mcp_call',
      'assistant',
      'user',
    ])
  })

  recorded('does not run if a person denies', async () => {
    const { inputOf, options } = await asked(saying('Then not.'))
    const first = agent({ ...options, tools: [hostedMcpApproval()] }).stream('Shorten it.')
    await first.result
    const second = first.resume([{ callId: id, approved: false, reason: 'zip1 is not ours' }])
    expect(await second.result).toMatchObject({ outcome: 'completed', text: 'Then not.' })
    expectRequest(inputOf(1))
    expect(inputOf(1).slice(3)).toStrictEqual([
      {
        type: 'mcp_approval_response',
        approval_request_id: id,
        approve: false,
        reason: expect.stringContaining('zip1 is not ours') as unknown as string,
      } satisfies ResponseInputItem.McpApprovalResponse,
    ])
  })

  recorded('does not run if a person approves other input', async () => {
    const { inputOf, options } = await asked(saying('With that, then.'))
    const first = agent({ ...options, tools: [hostedMcpApproval()] }).stream('Shorten it.')
    await first.result
    const input = { server: 'zip1', tool: 'create_short_url', arguments: { url: 'https://example.com/' } }
    await first.resume([{ callId: id, approved: true, input }]).result
    expect(inputOf(1)[3]).toMatchObject({
      approve: false,
      reason: expect.stringContaining('{"url":"https://example.com/"}'),
    })
  })

  recorded('does not run if no one can be asked, and the run continues', async () => {
    const { inputOf, options } = await asked(saying('Then not.'))
    expect(await agent(options).run('Shorten it.')).toMatchObject({ outcome: 'completed', text: 'Then not.' })
    expectRequest(inputOf(1))
    expect(inputOf(1)[3]).toMatchObject({ type: 'mcp_approval_response', approve: false })
  })
})

recorded('a tool call of an MCP server that Anthropic calls is emitted and sent back unchanged', async () => {
  const answer = bytesOf('anthropic/anthropic-mcp.1')
  const { baseURL, bodies } = await provider(answer, answer)
  const echo = agent({ model: modelOf('anthropic', { baseURL: baseURL.replace('/v1', '') }) })
  const { outcome, messages } = await echo.run('Say hello world.')
  expect(outcome).toBe('completed')
  await echo.run([...messages, { role: 'user', content: 'Again.' }])
  const sent = Object(bodies[1]).messages[1].content
  expect(sent).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ type: 'mcp_tool_use', name: 'echo', input: { message: 'hello world' } }),
      expect.objectContaining({ type: 'mcp_tool_result', is_error: false }),
    ]),
  )
})
