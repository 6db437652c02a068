import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Message } from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import { recordingFetch } from './openai-chat/provider.test-kit.ts'
import { del, eventsFrom, openWire, read, sentBody, user, wireNames } from './wires.test-kit.ts'

describe.each(wireNames)('%s: requests', (wire) => {
  test('a strict tool with an ordinary zod schema is sent in the accepted format', async () => {
    const { inputSchema } = tool({ ...del, strict: true, input: z.object({ id: z.string() }), run: () => '' })
    const body = JSON.stringify(await sentBody(wire, { tools: [{ ...del, inputSchema, strict: true }] }))
    expect(body).toContain('"additionalProperties":false')
    expect(body).toContain('"strict":true')
  })

  test('strict is omitted if the schema cannot be enforced', async () => {
    const { inputSchema } = tool({
      ...del,
      input: z.object({ a: z.record(z.string(), z.number()) }),
      run: () => '',
    })
    const body = JSON.stringify(await sentBody(wire, { tools: [{ ...del, inputSchema, strict: true }] }))
    expect(body).not.toContain('"strict":true')
    expect(body).not.toContain('"additionalProperties":false')
  })

  test('a record in a structured answer stays a record', async () => {
    const { inputSchema: output } = tool({
      ...del,
      input: z.object({ a: z.record(z.string(), z.number()) }),
      run: () => '',
    })
    const body = JSON.stringify(await sentBody(wire, { output }))
    expect(body.replaceAll('\\', '')).toContain('"additionalProperties":{"type":"number"}')
  })

  test.each(['multi_tool_use.parallel', '', 'a'.repeat(200), 'größe'])(
    'a tool name that a model made up (%j) can be sent',
    async (name) => {
      const messages: Message[] = [
        user,
        { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', name, input: {} }] },
        {
          role: 'tool',
          callId: 'c1',
          name,
          content: [{ type: 'text', text: 'no such tool' }],
          isError: true,
        },
      ]
      const body = JSON.stringify(await sentBody(wire, { messages }))
      const names = [...body.matchAll(/"name":"([^"]*)"/g)].map(([, found]) => found)
      expect(names).toHaveLength(1)
      expect(names[0]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    },
  )

  test('lone surrogates are not sent, not even inside a result', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'cut \ud83d and 😀 and \\ud83d' },
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', name: 'del', input: {} }] },
      { role: 'tool', callId: 'c1', name: 'del', content: [{ type: 'text', text: 'a \udc00' }] },
    ]
    const body = JSON.stringify(await sentBody(wire, { messages }))
    expect(body).toContain('cut \ufffd and 😀 and \\\\ud83d')
    expect(body.replaceAll('\\\\ud83d', '')).not.toMatch(/\\ud[89a-f]/)
  })

  test('an unsupported file becomes a note in an earlier turn and is rejected in the last one', async () => {
    const video = { type: 'file', mediaType: 'video/mp4', data: 'AAAA' } as const
    const asked: Message = { role: 'user', content: [video, { type: 'text', text: 'what is it?' }] }
    const answered: Message = { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] }
    const body = JSON.stringify(await sentBody(wire, { messages: [asked, answered, user] }))
    expect(body).toContain('a file of type video/mp4 was omitted')
    const { fetch } = recordingFetch()
    const { error } = await read(openWire(wire, fetch), {
      messages: [answered, asked],
      tools: [],
      settings: {},
    })
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('video/mp4') })
  })

  test('data that cannot be serialized as JSON is reported as such', async () => {
    const { fetch } = recordingFetch()
    const settings = { extra: { big: 1n as never } }
    const { error } = await read(openWire(wire, fetch), { messages: [user], tools: [], settings })
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('settings.extra') })
  })

  test('a tool choice is sent even if only the provider has tools', async () => {
    const settings = { extra: { tools: [{ type: 'web_search', name: 'web_search' }] } }
    expect(await sentBody(wire, { toolChoice: 'required', settings })).toHaveProperty('tool_choice')
  })
})

test("a finish reason such as 'constructor' is just an unknown reason", async () => {
  for (const [wire, frames] of [
    ['Chat Completions', [{ choices: [{ index: 0, delta: {}, finish_reason: 'constructor' }] }, '[DONE]']],
    [
      'Messages',
      [{ type: 'message_delta', delta: { stop_reason: 'constructor' } }, { type: 'message_stop' }],
    ],
  ] as const)
    expect((await eventsFrom(wire, ...frames)).events).toMatchObject([{ type: 'done', finish: 'other' }])
})

test('a frame that is not JSON is not quoted', async () => {
  for (const wire of wireNames) {
    const { error } = await eventsFrom(wire, '{"key":Zq8xW2vLmN')
    expect(error).toMatchObject({ code: 'stream_error' })
    expect(String(error)).not.toContain('Zq8x')
  }
})
