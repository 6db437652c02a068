import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { createOpenAI } from '@ai-sdk/openai'
import { convertToModelMessages, streamText, type UIMessage } from 'ai'

/** As the package's documentation shows it. Retries and telemetry are off. */
function answers(baseURL: string) {
  const model = createOpenAI({ baseURL, apiKey: 'none' }).chat('gpt-4.1-mini')
  return async (body: unknown, abortSignal?: AbortSignal) => {
    const { messages } = body as { messages: UIMessage[] }
    return streamText({
      model,
      messages: await convertToModelMessages(messages),
      maxRetries: 0,
      telemetry: { isEnabled: false },
      ...(abortSignal && { abortSignal }),
    })
  }
}

export function respond(baseURL: string): (request: Request) => Promise<Response> {
  const answer = answers(baseURL)
  return async (request) => (await answer(await request.json(), request.signal)).toUIMessageStreamResponse()
}

export function pipe(baseURL: string): RequestListener {
  const answer = answers(baseURL)
  return async (request, response) =>
    (await answer(JSON.parse(await text(request)))).pipeUIMessageStreamToResponse(response)
}
