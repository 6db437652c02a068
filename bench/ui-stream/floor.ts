import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import type { UIMessage } from 'ai'
import { createParser } from 'eventsource-parser'

interface ChatChunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[]
}

const frame = (chunk: object) => `data: ${JSON.stringify(chunk)}\n\n`

/**
 * `fetch`, a parser for server-sent events and `JSON.parse`, for text alone: no tools, no errors, no
 * slow readers. What comes in one read of the socket goes out in one write.
 */
export function byHand(baseURL: string): RequestListener {
  return async (request, response) => {
    const { messages }: { messages: UIMessage[] } = JSON.parse(await text(request))
    const answer = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
      body: JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages: messages.map(chatMessage) }),
    })
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'x-vercel-ai-ui-message-stream': 'v1',
    })
    let frames =
      frame({ type: 'start' }) + frame({ type: 'start-step' }) + frame({ type: 'text-start', id: '1' })
    const parser = createParser({
      onEvent({ data }) {
        if (data === '[DONE]') return
        const { choices }: ChatChunk = JSON.parse(data)
        const delta = choices[0]?.delta.content
        if (delta) frames += frame({ type: 'text-delta', id: '1', delta })
      },
    })
    const decoder = new TextDecoder()
    for await (const bytes of answer.body ?? []) {
      parser.feed(decoder.decode(bytes, { stream: true }))
      if (frames) response.write(frames)
      frames = ''
    }
    const ends = [{ type: 'text-end', id: '1' }, { type: 'finish-step' }, { type: 'finish' }]
    response.end(`${ends.map(frame).join('')}data: [DONE]\n\n`)
  }
}

function chatMessage({ role, parts }: UIMessage) {
  return { role, content: parts.map((part) => (part.type === 'text' ? part.text : '')).join('') }
}
