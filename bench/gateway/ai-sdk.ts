import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { type LanguageModel, streamText } from 'ai'
import type { Wire } from '../contract.ts'
import type { ServerConfig } from './server.ts'

// What people write who need a gateway and have the AI SDK: `streamText`, and its text in the frames
// of the client. Text alone: no tools, no errors, only the fields that clients need.

const models: Readonly<Record<Wire, (baseURL: string, id: string) => LanguageModel>> = {
  chat: (baseURL, id) => createOpenAI({ baseURL, apiKey: 'none' }).chat(id),
  responses: (baseURL, id) => createOpenAI({ baseURL, apiKey: 'none' }).responses(id),
  messages: (baseURL, id) => createAnthropic({ baseURL, apiKey: 'none' })(id),
}

interface Framing {
  readonly start: string
  delta(text: string): string
  end(text: string): string
}

interface Body {
  readonly messages?: readonly { readonly role: 'user'; readonly content: string }[]
  readonly input?: string
}

export function byHand({ client, provider, baseURL }: ServerConfig, id: string): RequestListener {
  const model = models[provider](baseURL, id)
  return async (request, response) => {
    const { messages, input = '' }: Body = JSON.parse(await text(request))
    const { textStream } = streamText({
      model,
      messages: [...(messages ?? [{ role: 'user' as const, content: input }])],
      maxRetries: 0,
      telemetry: { isEnabled: false },
    })
    const { start, delta, end } = framings[client](id)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(start)
    let whole = ''
    for await (const piece of textStream) {
      whole += piece
      response.write(delta(piece))
    }
    response.end(end(whole))
  }
}

const named = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const framings: Readonly<Record<Wire, (model: string) => Framing>> = {
  chat(model) {
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model }
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    return {
      start: chunk({ role: 'assistant', content: '' }),
      delta: (content) => chunk({ content }),
      end: () => `${chunk({}, 'stop')}data: [DONE]\n\n`,
    }
  },
  responses(model) {
    let sequence_number = 0
    const send = (type: string, fields: object) =>
      named(type, { sequence_number: sequence_number++, ...fields })
    const response = { id: 'resp_1', object: 'response', created_at: 1, model, status: 'in_progress' }
    const item = { id: 'msg_1', type: 'message', role: 'assistant' }
    const inside = { item_id: 'msg_1', output_index: 0, content_index: 0 }
    const words = (text: string) => ({ type: 'output_text', annotations: [], text })
    return {
      start:
        send('response.created', { response: { ...response, output: [] } }) +
        send('response.output_item.added', {
          output_index: 0,
          item: { ...item, status: 'in_progress', content: [] },
        }) +
        send('response.content_part.added', { ...inside, part: words('') }),
      delta: (delta) => send('response.output_text.delta', { ...inside, delta }),
      end(text) {
        const done = { ...item, status: 'completed', content: [words(text)] }
        return (
          send('response.output_text.done', { ...inside, text }) +
          send('response.content_part.done', { ...inside, part: words(text) }) +
          send('response.output_item.done', { output_index: 0, item: done }) +
          send('response.completed', { response: { ...response, status: 'completed', output: [done] } })
        )
      },
    }
  },
  messages: (model) => ({
    start:
      named('message_start', {
        message: { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null },
      }) + named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    delta: (text) => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    end: () =>
      named('content_block_stop', { index: 0 }) +
      named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: {} }) +
      named('message_stop', {}),
  }),
}
