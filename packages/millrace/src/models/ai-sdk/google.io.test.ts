import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../agent/index.ts'
import { tool } from '../../tools/index.ts'
import { fromAISDK } from '../ai-sdk.ts'

// Google's own wire, written by hand from https://ai.google.dev/api/generate-content.

type Reply = readonly object[] | { readonly status: number; readonly body: object }

/**
 * Answers each request with the next list of chunks. `hang` in a list leaves the connection open
 * from there on.
 */
async function gemini(replies: readonly Reply[]) {
  const bodies: {
    contents: { role: string; parts: Record<string, unknown>[] }[]
    [field: string]: unknown
  }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    bodies.push(JSON.parse(text))
    const reply = replies[bodies.length - 1] ?? []
    if ('status' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json', connection: 'close' })
      return void response.end(JSON.stringify(reply.body))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
    for (const chunk of reply) {
      if (chunk === hang) return
      response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`)
    }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta`
  const google = createGoogleGenerativeAI({ apiKey: 'AIzaSyVerySecretKey0123456789abcdef', baseURL })
  const idle = () => new Promise((resolve) => server.close(resolve))
  return { model: google('gemini-3-pro'), google, bodies, idle }
}

const hang = {}

const chunk = (parts: readonly object[], more: object = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
  usageMetadata: {
    promptTokenCount: 10,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 3,
    totalTokenCount: 18,
    cachedContentTokenCount: 4,
  },
  modelVersion: 'gemini-3-pro',
  responseId: 'resp-1',
})

const end = { finishReason: 'STOP' }

const tools = ['look', 'find', 'count'].map((name) =>
  tool({
    name,
    description: `To ${name}`,
    input: z.object({ id: z.number() }),
    run: ({ id }) => ({ [name]: id }),
  }),
)

describe('a model of @ai-sdk/google', () => {
  test('runs two rounds and three tools, and sends signatures back in their original place', async () => {
    const { model, bodies } = await gemini([
      [
        chunk([{ text: 'I should look.', thought: true }]),
        chunk([{ text: 'Let me ' }]),
        chunk([{ text: 'see. ' }]),
        chunk([
          { functionCall: { name: 'look', args: { id: 1 } }, thoughtSignature: 'c2lnbmF0dXJlLTE=' },
          { functionCall: { name: 'find', args: { id: 2 } } },
        ]),
        chunk([{ functionCall: { name: 'count', args: { id: 3 } } }]),
        chunk([{ text: '' }], end),
      ],
      [chunk([{ text: 'All there.' }]), chunk([{ text: '', thoughtSignature: 'c2lnbmF0dXJlLTI=' }], end)],
      [chunk([{ text: 'Yes.' }], end)],
    ])
    const asked = agent({ model: fromAISDK(model), tools })
    const { text, usage, messages, outcome } = await asked.run('Go.')
    expect([text, outcome]).toEqual(['All there.', 'completed'])
    expect(usage).toEqual({
      inputTokens: 20,
      outputTokens: 16,
      reasoningTokens: 6,
      cacheReadTokens: 8,
      cacheWriteTokens: 0,
    })
    expect(messages.map(({ role }) => role).join(' ')).toBe('user assistant tool tool tool assistant')

    expect(bodies[0]?.tools).toMatchObject([
      { functionDeclarations: [{ name: 'look' }, { name: 'find' }, { name: 'count' }] },
    ])
    const [, said, results] = bodies[1]?.contents ?? []
    expect(said?.parts).toMatchObject([
      { text: 'I should look.', thought: true },
      { text: 'Let me see. ' },
      { functionCall: { name: 'look', args: { id: 1 } }, thoughtSignature: 'c2lnbmF0dXJlLTE=' },
      { functionCall: { name: 'find', args: { id: 2 } } },
      { functionCall: { name: 'count', args: { id: 3 } } },
    ])
    expect(results?.parts.map((part) => part.functionResponse)).toMatchObject([
      { name: 'look', response: { content: { look: 1 } } },
      { name: 'find', response: { content: { find: 2 } } },
      { name: 'count', response: { content: { count: 3 } } },
    ])

    await asked.run([...messages, { role: 'user', content: 'Sure?' }])
    expect(JSON.stringify(bodies[2]?.contents)).toContain('c2lnbmF0dXJlLTI=')
  })

  test('emits provider-run tools and sends them back', async () => {
    const { model, google, bodies } = await gemini([
      [
        chunk([{ executableCode: { language: 'PYTHON', code: 'print(1)' } }]),
        chunk([{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } }]),
        chunk([{ text: 'It is 1.' }], end),
      ],
      [chunk([{ text: 'Still 1.' }], end)],
    ])
    const asked = agent({
      model: fromAISDK(model, { tools: { code_execution: google.tools.codeExecution({}) } }),
    })
    const run = asked.stream('1?')
    const ran: object[] = []
    for await (const event of run) if (event.type === 'provider-tool') ran.push(event)
    expect(ran).toMatchObject([
      { name: 'code_execution', input: { code: 'print(1)' } },
      { name: 'code_execution', output: { outcome: 'OUTCOME_OK', output: '1\n' } },
    ])
    const { messages, text, finish } = await run.result
    expect([text, finish]).toEqual(['It is 1.', 'stop'])
    await asked.run([...messages, { role: 'user', content: 'And now?' }])
    expect(bodies[0]?.tools).toEqual([{ codeExecution: {} }])
    expect(bodies[1]?.contents[1]?.parts).toEqual([
      { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
      { text: 'It is 1.' },
    ])
  })

  test('sends images and files, and rejects a URL that Google does not fetch', async () => {
    const { model, bodies } = await gemini([[chunk([{ text: 'A cat.' }], end)]])
    const asked = agent({ model: fromAISDK(model) })
    const content = [
      { type: 'image', data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' },
      { type: 'file', data: 'JVBERi0=', mediaType: 'application/pdf' },
    ] as const
    await asked.run({ role: 'user', content })
    expect(bodies[0]?.contents[0]?.parts).toMatchObject([
      { inlineData: { mimeType: 'image/png', data: 'iVBORw==' } },
      { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
    ])
    const url = [{ type: 'image', url: 'ftp://a.example/cat.png' }] as const
    const { error } = await asked.stream({ role: 'user', content: url }).result
    expect(error).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('pass a download function to fromAISDK()'),
    })
  })

  test.each([
    [429, 'RESOURCE_EXHAUSTED', 'Please retry in 34.07s.', { code: 'rate_limit', retryAfterMs: 34070 }],
    [
      403,
      'PERMISSION_DENIED',
      'API key AIzaSyVerySecretKey0123456789abcdef is not allowed',
      { code: 'auth' },
    ],
    [503, 'UNAVAILABLE', 'The model is overloaded.', { code: 'overloaded', retryable: true }],
    [
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      { code: 'context_overflow', retryable: false },
    ],
  ])('status %i is reported with its message', async (status, kind, message, expected) => {
    const { model } = await gemini([{ status, body: { error: { code: status, status: kind, message } } }])
    const { error } = await agent({ model: fromAISDK(model), retry: { attempts: 1 } }).stream('Hi').result
    expect(error).toMatchObject({ ...expected, status })
    expect(JSON.stringify(error)).not.toContain('AIza')
  })

  test('a mid-stream error and an end without a reason are failures', async () => {
    const { model } = await gemini([
      [chunk([{ text: 'Half' }]), { error: { code: 503, status: 'UNAVAILABLE', message: 'Overloaded.' } }],
      [chunk([{ text: 'Half' }])],
    ])
    const asked = agent({ model: fromAISDK(model), retry: { attempts: 1 } })
    expect((await asked.stream('Hi').result).error).toMatchObject({ code: 'overloaded', retryable: true })
    expect((await asked.stream('Hi').result).error).toMatchObject({ code: 'stream_error', retryable: true })
  })

  test('canceling closes the connection', async () => {
    const { model, idle } = await gemini([[chunk([{ text: 'I could go on' }]), hang]])
    const run = agent({ model: fromAISDK(model) }).stream('Talk.')
    for await (const _ of run.text()) run.cancel()
    expect((await run.result).outcome).toBe('canceled')
    await idle()
  })
})
