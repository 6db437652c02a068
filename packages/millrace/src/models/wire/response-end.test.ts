import { expect, test } from 'vitest'
import { openaiChat } from '../openai.ts'
import { recordingFetch } from '../openai-chat/provider.test-kit.ts'
import { read, user } from '../wires.test-kit.ts'

const apiKey = 'k'

test('nothing is sent after an abort during the key lookup', async () => {
  const { fetch, requests } = recordingFetch()
  const controller = new AbortController()
  const key = Promise.withResolvers<string>()
  const model = openaiChat('m', { fetch, apiKey: () => key.promise })
  const events = Array.fromAsync(
    model.stream({ messages: [user], tools: [], settings: {} }, { signal: controller.signal }),
  )
  controller.abort()
  key.resolve('k')
  await expect(events).rejects.toMatchObject({ code: 'stream_interrupted' })
  expect(requests).toEqual([])
})

test('half a frame after the end of an answer does not matter', async () => {
  const body = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] })}\n\ndata: [DO`
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const model = openaiChat('m', { fetch, apiKey })
  const { events, error } = await read(model, { messages: [user], tools: [], settings: {} })
  expect(error).toBeUndefined()
  expect(events).toMatchObject([{ text: 'hi' }, { type: 'done', finish: 'stop' }])
})

test.each([
  ['a long error response', 400, 'x'.repeat(100_000)],
  ['a redirect', 302, 'x'],
])('the body of %s is released', async (_, status, piece) => {
  let canceled = false
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(piece)),
    cancel() {
      canceled = true
    },
  })
  const headers = { location: 'https://elsewhere.example/' }
  const model = openaiChat('m', { fetch: async () => new Response(body, { status, headers }), apiKey })
  const { error } = await read(model, { messages: [user], tools: [], settings: {} })
  expect(error).toMatchObject({ code: 'llm_error', status })
  expect(canceled).toBe(true)
})

test('a body that never ends does not delay the answer', async () => {
  const event = { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] }
  const pieces = [`data: ${JSON.stringify(event)}\n\n`, 'data: [DONE]\n\n']
  let canceled = false
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(pieces.shift() ?? ': ping\n\n')),
    cancel() {
      canceled = true
    },
  })
  const headers = { 'content-type': 'text/event-stream' }
  const model = openaiChat('m', { fetch: async () => new Response(body, { headers }), apiKey })
  expect((await read(model, { messages: [user], tools: [], settings: {} })).error).toBeUndefined()
  await new Promise((resolve) => setImmediate(resolve))
  expect(canceled).toBe(true)
})
