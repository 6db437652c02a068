import { createServer } from 'node:http'
import { createOpenAI } from '@ai-sdk/openai'
import { getRequestListener } from '@hono/node-server'
import { convertToModelMessages, streamText, type UIMessage } from 'ai'
import { Hono } from 'hono'
import { listen } from '../../server/serve.ts'
import type { WayConfig } from '../ways.ts'

type Consume = (input: { readonly stream: ReadableStream<string>; readonly id: string }) => Promise<void>

/** As the package's documentation shows it. Retries and telemetry are off. */
export function openAiSdk({ provider }: WayConfig, consume?: Consume): Promise<string> {
  const model = createOpenAI({ baseURL: provider, apiKey: 'none' }).chat('gpt-4.1-mini')
  const app = new Hono()
  app.post('/api/chat', async (context) => {
    const { id, messages }: { id: string; messages: UIMessage[] } = await context.req.json()
    const result = streamText({
      model,
      messages: await convertToModelMessages(messages),
      maxRetries: 0,
      telemetry: { isEnabled: false },
    })
    return result.toUIMessageStreamResponse(
      consume && { consumeSseStream: ({ stream }) => consume({ stream, id }) },
    )
  })
  return listen(createServer(getRequestListener(app.fetch)))
}

export const open = (config: WayConfig) => openAiSdk(config)
