import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createParser } from 'eventsource-parser'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { listen } from '../../server/serve.ts'
import type { WayConfig } from '../ways.ts'

/** By hand, as Hono's documentation shows it: text alone, and nothing is stored. */
export function open({ provider }: WayConfig): Promise<string> {
  const app = new Hono()
  app.post('/api/chat', async (context) => {
    const { messages } = await context.req.json()
    const answer = await fetch(`${provider}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
      body: JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages }),
    })
    return streamSSE(context, async (stream) => {
      const texts: string[] = []
      const parser = createParser({
        onEvent({ data }) {
          const text = data === '[DONE]' ? undefined : JSON.parse(data).choices[0]?.delta.content
          if (text) texts.push(text)
        },
      })
      const decoder = new TextDecoder()
      for await (const bytes of answer.body ?? []) {
        parser.feed(decoder.decode(bytes, { stream: true }))
        for (const text of texts.splice(0)) await stream.writeSSE({ data: JSON.stringify({ text }) })
      }
      await stream.writeSSE({ event: 'end', data: '{}' })
    })
  })
  return listen(createServer(getRequestListener(app.fetch)))
}
